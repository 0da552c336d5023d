// A payload mixnet.graph/1, read; and what of it is in sight when some blocks are open.
import { bytes, columns, count, howMany, seconds, short, shorterName } from "../core/format.js";
import { compound } from "../core/layout.js";
import { addTo } from "../core/maps.js";

export const PARTS = ["input", "forward", "backward", "parameter"];
export const FORWARD = 1, BACKWARD = 2, PARAMETER = 3; // places in PARTS

export function read(p) {
  const n = p.names.length, inputs = [], ports = [];
  let at = 0;
  for (let i = 0; i < n; i++) {
    const end = at + p.edges.count[i], mine = [], from = [];
    for (; at < end; at++) {
      mine.push(i - p.edges.back[at]);
      from.push(p.edges.port[at]);
    }
    inputs.push(mine);
    ports.push(from);
  }
  const outputs = Array.from({ length: n }, () => []);
  inputs.forEach((list, i) => list.forEach((j) => outputs[j].push(i)));
  const specs = p.nodes.outputs.map((k) => p.outs[k].map((s) => p.specs[s]));
  const parents = p.blocks.parent, paths = [];
  const inside = Object.fromEntries([-1, ...parents.keys()].map((b) => [b, []])), nodes = structuredClone(inside);
  p.nodes.block.forEach((block, i) => nodes[block].push(i));
  parents.forEach((parent, b) => {
    inside[parent].push(b);
    const repeat = p.blocks.repeat[b];
    paths.push((parent < 0 ? "" : `${paths[parent]}/`) + p.blocks.label[b] + (repeat ? ` ×${repeat}` : ""));
  });
  const whole = (block) => [...nodes[block], ...inside[block].flatMap(whole)];
  const g = {
    p, n, names: p.names, inputs, ports, outputs, specs, parents, inside, nodes, paths,
    op: (i) => (p.nodes.op[i] < 0 ? null : p.strings[p.nodes.op[i]]),
    part: p.nodes.part,
    bytes: specs.map((outs) => outs.reduce((sum, each) => sum + each[2], 0)),
    whole: (block) => (g.cache[block] ??= whole(block)),
    cache: [],
    byName: new Map(p.names.map((name, i) => [name, i])),
    byPath: new Map(paths.map((path, b) => [path, b])),
    heads: new Set(p.heads), // and the blocks around them
  };
  for (const i of p.heads) for (let b = p.nodes.block[i]; b >= 0; b = parents[b]) g.heads.add(~b);
  return g;
}

export const shapeOf = (g, i) => (g.specs[i].length ? g.specs[i][0][0].join("×") || "scalar" : "");

// Where a node stands in the program (out of self.out), or its name without what its block's names begin with.
export function label(g, i) {
  if (g.p.labels?.[i]) return g.p.labels[i];
  const block = g.p.nodes.block[i], name = g.names[i];
  const prefixes = [block < 0 ? "" : g.p.strings[g.p.blocks.prefix[block]], g.p.prefix];
  const own = name.replace(/_fwd$/, ""); // what a block computes alone is called as the block is
  const beginning = prefixes.find((prefix) => prefix && own.startsWith(prefix) && own.length > prefix.length) ?? "";
  return own.slice(beginning.length).replace(/^.*\/|^_+(?=.)/g, "") || name;
}

// Blocks that are open: the reader's, at first those of the payload.
export function openBlocks(g, state) {
  return new Set((state.open ?? g.p.open).filter((b) => b < g.parents.length));
}

// Blocks around a node, or around the block ~item, innermost first.
export function above(g, item) {
  const blocks = [];
  for (let b = item < 0 ? g.parents[~item] : g.p.nodes.block[item]; b >= 0; b = g.parents[b]) blocks.push(b);
  return blocks;
}

// Items in sight: nodes as their numbers, blocks as ~number.
export function visible(g, open, parameters) {
  const list = [], at = new Map(), children = [];
  const isShown = (i) => parameters || g.part[i] !== PARAMETER;
  const add = (item, parent) => {
    at.set(item, list.length);
    if (parent !== null) children[at.get(parent)].push(list.length);
    list.push(item);
    children.push(null);
    if (item < 0 && open.has(~item)) {
      children[list.length - 1] = [];
      for (const each of sorted(g, ~item, isShown)) add(each, item);
    }
  };
  const roots = [];
  for (const each of sorted(g, -1, isShown)) {
    roots.push(list.length);
    add(each, null);
  }
  // The item that stands for each node: itself, or the outermost closed block around it.
  const stands = new Int32Array(g.n).fill(-1);
  for (let i = 0; i < g.n; i++) {
    let item = isShown(i) ? i : null;
    for (let b = g.p.nodes.block[i]; b >= 0; b = g.parents[b]) if (!open.has(b)) item = ~b;
    if (item !== null && at.has(item)) stands[i] = at.get(item);
  }
  const edges = [], known = new Map();
  for (let i = 0; i < g.n; i++) {
    const to = stands[i];
    if (to < 0) continue;
    g.inputs[i].forEach((j, slot) => {
      const from = stands[j];
      if (from < 0 || from === to || !isShown(j)) return;
      // An operation that reads the same twice has two edges: x * x.
      const again = g.inputs[i].slice(0, slot).filter((other, k) => other === j && g.ports[i][k] === g.ports[i][slot]).length;
      const kind = kindOf(g, j, i), twice = list[from] === j && list[to] === i && again && kind !== "kept" ? again : "", name = `${from}/${to}/${kind}${twice}`;
      if (known.has(name)) known.get(name).pairs.push([j, i]);
      else {
        const edge = { from, to, up: kind === "gradient", key: `${kind}${twice}`, kind, weight: kind === "kept" || kind === "weight" ? 0.05 : 1, pairs: [[j, i]], port: g.ports[i][slot] };
        known.set(name, edge);
        edges.push(edge);
      }
    });
  }
  return { list, at, children, roots, stands, edges };
}

function sorted(g, block, isShown) {
  const first = (item) => (item < 0 ? (g.firsts ??= [])[~item] ??= Math.min(...g.whole(~item)) : item);
  return [...g.nodes[block].filter(isShown), ...g.inside[block].map((b) => ~b)].sort((a, b) => first(a) - first(b));
}

// forward; gradient: between gradients, it flows up; kept: what a gradient reads of forward; weight.
export function kindOf(g, from, to) {
  if (g.part[to] === BACKWARD) return g.part[from] === BACKWARD ? "gradient" : "kept";
  return g.part[from] === PARAMETER ? "weight" : "forward";
}

// What stands in a box: two lines, a kind for its colour, marks.
export function face(g, item, overlay) {
  if (item < 0) {
    const b = ~item, repeat = g.p.blocks.repeat[b], all = g.whole(b);
    const operations = all.filter((i) => g.p.nodes.op[i] >= 0 && g.part[i] === FORWARD).length || all.length;
    const second = overlay === "none" || !overlay ? howMany(operations, "operation") : overlayText(g, item, overlay) || (overlay === "values" ? howMany(operations, "operation") : "");
    const name = g.p.blocks.label[b];
    return { title: repeat ? `${shorterName(name, 22)} ×${repeat}` : shorterName(name, 26), second, repeat, backward: all.some((i) => g.part[i] === BACKWARD), error: all.includes(g.p.error?.node) };
  }
  const op = g.op(item), part = g.part[item], scalar = /^scalars?=([^(].*)$/m.exec(g.p.strings[g.p.nodes.attributes[item]]);
  let second = op ? (scalar ? `${op} ${scalar[1]}` : op) : PARTS[part];
  if (overlay && overlay !== "none") second = overlayText(g, item, overlay) || second;
  else if (op === null && g.specs[item].length) second = shapeOf(g, item);
  return { title: shorterName(label(g, item), 26), second: short(second, 30), op, backward: part === BACKWARD, error: g.p.error?.node === item };
}

const OVERLAYS = [
  ["none", "operators"], ["bytes", "bytes"], ["flops", "FLOPs"], ["time", "time"], ["dtype", "dtype"],
  ["device", "device"], ["storage", "storage"], ["values", "values"], ["group", "XLA group"], ["change", "change"],
];
const NUMBERS = { bytes, flops: count, time: seconds };

// Which overlays there is data for.
export function overlays(g) {
  const { nodes, facts } = g.p, sized = g.bytes.some(Boolean);
  const has = { none: 1, bytes: sized, dtype: sized, flops: nodes.flops.some(Boolean), device: nodes.device.some(Boolean), ...facts };
  return OVERLAYS.filter(([key]) => has[key]);
}

export function overlayValue(g, node, overlay) {
  const { nodes, strings, facts } = g.p;
  if (overlay === "bytes") return g.bytes[node];
  if (overlay === "flops") return nodes.flops[node];
  if (overlay === "dtype") return [...new Set(g.specs[node].slice(0, 1).map((each) => each[1]))].join(", ");
  if (overlay === "device") return strings[nodes.device[node]];
  if (overlay === "change") return facts.change?.[node] ? CHANGES[facts.change[node]] : "";
  return facts[overlay]?.[node] ?? null;
}

// The shape that an edge carries, if all that it stands for have the same.
export function edgeShape(g, edge) {
  const shapes = new Set(edge.pairs.map(([j]) => g.specs[j][edge.port]?.[0].join("×") ?? shapeOf(g, j)));
  return shapes.size === 1 ? [...shapes][0] : howMany(shapes.size, "shape");
}

// Whether a box is an output, or holds one.
export const isOutput = (g, item) => g.heads.has(item);

// What the colours of operators stand for, in the order of their numbers.
export const FAMILIES = ["products", "activations", "pooling", "normalization", "losses", "sequences", "arithmetic", "others"];

export const CHANGES = ["", "+ added", "− removed", "~ changed", "→ other inputs", "⊃ expanded", "= merged"];
export const CHANGE_COLOURS = { "+": 2, "−": 4, "~": 1, "→": 0, "⊃": 5, "=": 3 };

// Numbers of the colours that boxes have under an overlay, and what they stand for; none where a colour only
// says how much, or which of many.
export function colours(g, overlay) {
  const { categories, facts } = g.p;
  if (overlay === "change") return CHANGES.flatMap((text, k) => (k && facts.change.includes(k) ? [[CHANGE_COLOURS[text[0]], text]] : []));
  return !overlay || overlay === "none" || overlay === "values" ? [...new Set(Object.values(categories))].sort().map((k) => [k, FAMILIES[k]]) : [];
}

// The same for a box: sums of numbers, or the one name that all inside have.
export function boxValue(g, item, overlay) {
  if (item >= 0) return overlayValue(g, item, overlay);
  const all = g.whole(~item);
  if (overlay in NUMBERS) return all.reduce((sum, i) => sum + (overlayValue(g, i, overlay) ?? 0), 0);
  if (overlay === "change") {
    const tally = new Map();
    for (const i of all) if (g.p.facts.change[i]) tally.set(CHANGES[g.p.facts.change[i]][0], (tally.get(CHANGES[g.p.facts.change[i]][0]) ?? 0) + 1);
    return [...tally].map(([mark, times]) => `${mark}${times}`).join(" ");
  }
  if (overlay === "values") return all.some((i) => overlayValue(g, i, overlay)?.startsWith("✗")) ? "✗ not finite" : "";
  const names = new Set(all.filter((i) => g.p.nodes.op[i] >= 0).map((i) => overlayValue(g, i, overlay)).filter((v) => v !== null && v !== ""));
  return names.size === 1 ? [...names][0] : names.size ? `${names.size} different` : "";
}

export function overlayText(g, item, overlay) {
  const value = boxValue(g, item, overlay);
  if (value === null || value === "") return "";
  return overlay in NUMBERS ? NUMBERS[overlay](value) : String(value);
}

// Places of all that is in sight.
export function arrange(g, open, parameters, overlay) {
  const sight = visible(g, open, parameters);
  const faces = sight.list.map((item) => face(g, item, overlay));
  const items = sight.list.map((item, i) => {
    const { title, second } = faces[i];
    if (sight.children[i]) return { w: columns(title) * 7 + 56, h: 0, children: sight.children[i] };
    if (item >= 0 && g.op(item) === null && g.part[item] === PARAMETER) return { w: Math.max(60, columns(title) * 6 + 16), h: 20 };
    return { w: Math.max(84, 7.7 * columns(title) + 18, 6.4 * (columns(second) + (faces[i].backward ? 4 : 0)) + (item >= 0 && g.op(item) === null ? 32 : 20)), h: 36 };
  });
  const drawing = compound({ items, roots: sight.roots, edges: sight.edges });
  return { ...sight, ...drawing, faces };
}

// Nodes that match all words: in name, operator, attributes or line; a block matches by its label.
export function search(g, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const numbers = [];
  for (let i = 0; i < g.n; i++) {
    const lines = g.p.strings[g.p.nodes.attributes[i]];
    const hay = `${g.names[i]} ${g.p.labels?.[i] ?? ""} ${g.op(i) ?? PARTS[g.part[i]]} ${lines} ${shapeOf(g, i)}`.toLowerCase();
    if (words.every((word) => hay.includes(word))) numbers.push(i);
  }
  return numbers;
}

// Edges on the way from inputs to an item and from there to outputs, along edges of its own kind.
export function onPath(sight, g, item) {
  const start = sight.at.get(item), edges = new Set();
  const backward = item >= 0 && g.part[item] === BACKWARD;
  const follows = (edge) => (backward ? edge.kind === "gradient" : edge.kind === "forward" || edge.kind === "weight");
  const ins = new Map(), outs = new Map();
  sight.edges.forEach((edge, e) => {
    addTo(ins, edge.to, e);
    addTo(outs, edge.from, e);
  });
  for (const [map, end] of [[ins, "from"], [outs, "to"]]) {
    const stack = [start], visited = new Set(stack);
    while (stack.length) {
      const at = stack.pop();
      for (const e of map.get(at) ?? []) {
        const edge = sight.edges[e];
        if (at === start ? false : !follows(edge)) continue;
        edges.add(e);
        if (!visited.has(edge[end]) && follows(edge)) {
          visited.add(edge[end]);
          stack.push(edge[end]);
        }
      }
    }
  }
  return edges;
}
