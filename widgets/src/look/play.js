// The bar of a playground: steps, learning rate, layers, poison; the curve of the loss. On a page it tells the last state.
import { button, h, s, select } from "../core/dom.js";
import { digits, howMany } from "../core/format.js";

const number = (loss) => (loss === null ? "not finite" : digits(loss));
const WIDE = 160, HIGH = 30;

export function playground(ctx) {
  const element = h("div", { class: "mx-play", role: "toolbar", "aria-label": "playground" });
  let layer = null;
  const send = (content) => {
    ctx.say("working …");
    ctx.send(content);
  };

  function controls(p) {
    if (!p.layers.includes(layer)) layer = p.layers[0];
    const off = p.changes[layer] === "off", act = p.activations.includes(layer);
    const rate = h("input", { type: "number", class: "mx-number", min: 0, step: "any", value: String(p.rate), "aria-label": "learning rate", onchange: () => send({ do: "rate", rate: Number(rate.value) }) });
    return [
      ...[1, 10, 100].map((n) => button(howMany(n, "step"), `${howMany(n, "step")}: train`, () => send({ do: "step", n }))),
      h("label", { class: "mx-field" }, h("span", null, "learning rate"), rate),
      select("layer", p.layers.map((name) => [name, p.changes[name] ? `${name} (${p.changes[name]})` : name]), layer, (value) => {
        layer = value;
        update();
      }),
      button(off ? "on" : "off", off ? "on: put the layer back" : "off: the layer returns its input", () => send({ do: off ? "on" : "off", layer })),
      act && select("activation", ["", ...p.choices].map((name) => [name, name || "as it was"]), off ? "" : (p.changes[layer] ?? ""), (name) => send(name ? { do: "activate", layer, name } : { do: "on", layer })),
      button("poison", "poison: set one number of the input to NaN and see where it spreads", () => send({ do: "poison" })),
      button("restore", "restore: undo all changes of layers", () => send({ do: "restore" })),
    ];
  }

  function update() {
    const p = ctx.payload.play;
    element.hidden = !p;
    if (!p) return;
    const changed = Object.entries(p.changes).map(([name, change]) => `${name} is ${change}`);
    const summary = [howMany(p.steps, "step"), p.losses.length && `loss ${number(p.losses.at(-1))}`, ...changed, p.said].filter(Boolean).join(" · ");
    element.replaceChildren(
      ...(ctx.isStatic ? [h("span", null, `learning rate ${digits(p.rate)}`)] : controls(p)).filter(Boolean),
      p.losses.length > 1 ? h("span", { class: "mx-loss" }, "loss ", curve(p.losses)) : "", h("output", null, summary), p.first ? h("b", { class: "mx-error" }, `✗ not finite, first in ${p.first}`) : "",
    );
  }
  return { element, update };
}

function curve(losses) {
  const finite = losses.filter(Number.isFinite);
  if (finite.length < 2) return "";
  const low = Math.min(...finite), high = Math.max(...finite), text = `loss of ${howMany(losses.length, "step")}, from ${number(losses[0])} to ${number(losses.at(-1))}`;
  const points = losses.flatMap((loss, i) => (Number.isFinite(loss) ? [`${((WIDE * i) / (losses.length - 1)).toFixed(1)},${(HIGH - 2 - ((HIGH - 4) * (loss - low)) / (high - low || 1)).toFixed(1)}`] : []));
  return s("svg", { width: WIDE, height: HIGH, role: "img", "aria-label": text }, s("title", null, text), s("polyline", { points: points.join(" ") }));
}
