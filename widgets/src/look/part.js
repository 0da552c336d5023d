// A view inside of another one: the same script over a model whose state belongs to the outer view.
import { plainModel } from "../core/model.js";

// part(view, el, payload, state, chose): chose(before, after) is called when the reader chooses something in it.
export function part(view, el, payload, state, chose) {
  const data = { payload, state };
  let reported = state;
  const model = {
    ...plainModel(data),
    save_changes() {
      const before = reported;
      reported = data.state;
      chose(before, reported);
    },
  };
  const close = view.render({ model, el, isStatic: true });
  return {
    close,
    get state() {
      return data.state;
    },
    // Other data of the same things: what the reader has opened stays.
    renew(payload) {
      if (JSON.stringify(payload) !== JSON.stringify(data.payload)) model.set("payload", payload);
    },
    // From outside: nobody is asked.
    follow(patch) {
      const changed = Object.keys(patch).some((key) => JSON.stringify(patch[key]) !== JSON.stringify(data.state[key]));
      if (!changed) return;
      reported = { ...data.state, ...patch };
      model.set("state", reported);
    },
  };
}
