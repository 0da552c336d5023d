// "First sight": one sentence on what to look at first. Its words open their meaning, and the glossary where there is one.
import { h, link } from "./dom.js";

// firstSight({text, words}): text with [words] in brackets, words {word: meaning}; null without one.
export function firstSight(sight) {
  if (!sight) return null;
  const meaning = h("span", { class: "mx-meaning", "aria-live": "polite" });
  // Text, a word, and the letters that follow it: the link of "[step]s" is "steps".
  const pieces = sight.text.split(/\[([^\]]+)\](\w*)/), parts = [];
  for (let i = 0; i < pieces.length; i += 3) parts.push(pieces[i], i + 1 < pieces.length ? word(pieces[i + 1], pieces[i + 2], sight.words[pieces[i + 1]] ?? "", meaning) : "");
  return h("p", { class: "mx-sight" }, h("b", null, "First sight: "), parts, meaning);
}

function word(text, ending, means, place) {
  const open = () => {
    const same = place.dataset.word === text;
    place.dataset.word = same ? "" : text;
    place.replaceChildren(...(same ? [] : [h("b", null, text), `: ${means} `, glossary()]));
  };
  return link(text + ending, open, { title: means });
}

// The documentation's own pages know where the glossary lies; elsewhere its place in the project is named.
function glossary() {
  const root = document.documentElement.dataset.content_root;
  return root === undefined ? "(docs/concepts/glossary.md)" : h("a", { href: `${root}concepts/glossary.html` }, "(glossary)");
}
