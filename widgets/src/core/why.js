// Why: a button for each question that the payload answers about a thing; it opens the answer.
import { h } from "./dom.js";

// why(payload, key, of): elements, none where nothing is answered; `of` is said where several stand together.
export function why(payload, key, name = "") {
  const entries = Object.values(payload?.why ?? {}).filter((entry) => entry.of[key]);
  return entries.map(({ ask, of }) => {
    const [text, ...more] = of[key];
    return h("details", { class: "mx-why" }, h("summary", null, name ? `${ask} ${name}` : ask), h("p", null, text), more.length ? h("ul", null, more.map((each) => h("li", null, each))) : null);
  });
}
