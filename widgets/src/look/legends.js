// What colours, letters and lines mean in the panes, where their views leave no room for a legend of their own.
import { h } from "../core/dom.js";
import { LINES } from "../graph/paint.js";
import { KINDS } from "../memory/plan.js";
import { LETTERS, WORDS } from "../timeline.js";

const chip = (colour, letter, text) => h("span", null, h("i", { style: `background:var(--mx-c${colour})` }, letter), ` ${text}`);
const line = (kind, text) => {
  const { colour, dash } = LINES[kind];
  return h("span", null, h("i", { class: "mx-stroke", style: `border-top:2px ${dash.length ? "dashed" : "solid"} var(--mx-${colour})` }), ` ${text}`);
};

// By pane: of a payload, the entries.
export const LEGENDS = {
  graph: ({ graph }) => (graph.direction === "forward" ? [] : [line("forward", "values"), line("gradient", "gradients"), line("kept", "saved for backward")]),
  memory: ({ memory }) => (memory ? Object.entries(KINDS).filter(([kind]) => memory.graphs[0].arrays.kind.includes(kind)).map(([kind, [colour, text]]) => chip(colour, kind, text)) : []),
  engine: ({ engine }) => (engine ? [...[...new Set(engine.runs[0].ops.kind)].map((kind) => chip(kind, LETTERS[kind], WORDS[kind])), h("span", null, "┄ queued"), h("span", null, "▬ waiting for a thread")] : []),
};
