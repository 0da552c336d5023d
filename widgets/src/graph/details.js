// What is known of a node or a block, beside the picture.
import { button, code, factsOf, h, link } from "../core/dom.js";
import { bytes, count, seconds } from "../core/format.js";
import { BACKWARD, CHANGES, PARAMETER, PARTS, colours, isOutput } from "./model.js";

export function details(g, item, go, toggle, open, overlay) {
  if (item === undefined || item === null) return overview(g, go, overlay);
  return item < 0 ? ofBlock(g, ~item, go, toggle, open) : ofNode(g, item, go);
}

const linkTo = (g, item, go) => link(item < 0 ? g.paths[~item] : g.names[item], () => go(item));

function links(g, title, items, go) {
  if (!items.length) return [];
  const most = 12, unique = [...new Set(items)];
  return [h("h3", null, title), h("div", { class: "mx-links" }, unique.slice(0, most).map((item) => linkTo(g, item, go)), unique.length > most ? `and ${unique.length - most} more` : null)];
}

function ofNode(g, i, go) {
  const { nodes, strings, facts, sources, error } = g.p, op = g.op(i);
  const attributes = strings[nodes.attributes[i]].split("\n").filter(Boolean).map((line) => line.split(/=(.*)/s).slice(0, 2));
  const source = nodes.source[i] < 0 ? null : sources[nodes.source[i]];
  const outs = g.specs[i].map(([extents, dtype, size]) => `${extents.join("×") || "scalar"} ${dtype}, ${bytes(size)}`);
  const change = facts.change?.[i];
  return [
    h("h2", null, g.names[i]),
    error?.node === i ? h("p", { class: "mx-error" }, `✗ ${error.text}`) : null,
    factsOf([
      ["in the program", g.p.labels?.[i]],
      ["operator", op ?? PARTS[g.part[i]]],
      ["part", [op && PARTS[g.part[i]], isOutput(g, i) && "an output of the graph"].filter(Boolean).join(", ")],
      ["block", nodes.block[i] < 0 ? null : linkTo(g, ~nodes.block[i], go)],
      [outs.length > 1 ? "outputs" : "output", outs.length ? outs.map((text) => h("div", null, text)) : "unknown"],
      ["bytes", g.specs[i].length > 1 ? bytes(g.bytes[i]) : null],
      ["FLOPs", nodes.flops[i] ? count(nodes.flops[i]) : null],
      ["time", facts.time?.[i] ? seconds(facts.time[i]) : null],
      ["device", strings[nodes.device[i]]],
      ["storage", facts.storage?.[i]],
      ["XLA group", facts.group?.[i]],
      ["change", change ? `${CHANGES[change]}${facts.told?.[i] ? `: ${facts.told[i]}` : ""}` : null],
      ["line", source && h("div", null, `${strings[source[0]].split(/[\\/]/).pop()}:${source[1]}`, h("br"), code(strings[source[2]]))],
    ]),
    attributes.length ? h("h3", null, "attributes") : null,
    attributes.length ? factsOf(attributes) : null,
    links(g, "reads", g.inputs[i], go),
    links(g, "read by", g.outputs[i], go),
  ];
}

function ofBlock(g, b, go, toggle, open) {
  const all = g.whole(b), { nodes, facts, strings, blocks } = g.p;
  const sum = (value) => all.reduce((total, i) => total + (value(i) ?? 0), 0);
  const weights = all.filter((i) => g.part[i] === PARAMETER), operations = all.filter((i) => nodes.op[i] >= 0);
  const tally = new Map();
  for (const i of operations) tally.set(g.op(i), (tally.get(g.op(i)) ?? 0) + 1);
  const kinds = [...tally].sort((a, b) => b[1] - a[1]).slice(0, 8).map(([op, times]) => h("div", null, times > 1 ? `${times} × ${op}` : op));
  return [
    h("h2", null, g.paths[b]),
    button(open.has(b) ? "Close" : "Open", open.has(b) ? "close this block" : "open this block", () => toggle(b)),
    factsOf([
      ["class", strings[blocks.kind[b]]],
      ["repeated", blocks.repeat[b] ? `${blocks.repeat[b]} identical blocks` : null],
      ["operations", operations.length],
      ["of these", kinds],
      ["parameters", weights.length ? `${weights.length}, ${bytes(weights.reduce((total, i) => total + g.bytes[i], 0))}` : null],
      ["FLOPs", sum((i) => nodes.flops[i]) ? count(sum((i) => nodes.flops[i])) : null],
      ["time", facts.time ? seconds(sum((i) => facts.time[i])) : null],
    ]),
    links(g, "holds", [...g.inside[b].map((each) => ~each), ...g.nodes[b].filter((i) => nodes.op[i] >= 0)], go),
  ];
}

// What colours, edges and marks stand for, as far as they occur.
function legend(g, overlay) {
  const line = (colour, dash) => h("span", { style: `border-top:2px ${dash} var(--mx-${colour})` });
  const edges = [["line", "solid", "values"], ["k1", "solid", "gradients"], ["k3", "dashed", "values saved for backward"]].slice(0, g.part.includes(BACKWARD) ? 3 : 1);
  return [
    h("h3", null, "Colours and marks"),
    h("ul", { class: "mx-key" },
      colours(g, overlay).map(([k, text]) => h("li", null, h("i", { style: `background:var(--mx-c${k})` }), ` ${text}`)),
      edges.map(([colour, dash, text]) => h("li", null, line(colour, dash), ` ${text}`)),
      h("li", null, line("fg", "double"), " below a box: an output")),
  ];
}

function overview(g, go, overlay) {
  const { title, notes, error, direction } = g.p, operations = g.p.nodes.op.filter((i) => i >= 0).length;
  return [
    h("h2", null, title),
    error ? [h("p", { class: "mx-error" }, `✗ Shapes do not match. ${error.text}`), error.node === null ? null : linkTo(g, error.node, go)] : null,
    factsOf([["operations", operations], ["direction", direction], ["parameters", g.part.filter((part) => part === PARAMETER).length]]),
    notes.map((note) => h("p", null, note)),
    h("p", null, "Click a box for details; double-click a block or press Enter to open it."),
    ...legend(g, overlay),
  ];
}
