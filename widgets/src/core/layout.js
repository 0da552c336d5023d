// Boxes in boxes: every open block is laid out by itself, and edges cross its border at ports.
import { layered } from "./layered.js";
import { addTo } from "./maps.js";

const HEADER = 20;

// compound({items, roots, edges}) ->
//   {width, height, boxes: [{x, y, w, h, depth}] by item, pieces: [{points, edges, ends}]}
//   items   [{w, h, children}]: children are numbers of items; undefined for what is closed. Sizes of open
//           items follow from their children.
//   edges   [{from, to, up, key, weight}]: numbers of closed items. `up`: drawn from the lower box to the upper one, as
//           gradients flow.
// A piece is an edge's part within one block; `edges` are the numbers of the edges that share it, `ends`
// says at which ends of `points` an arrow stands: 1 at the last point, 2 at the first.
export function compound({ items, roots, edges }) {
  const parent = new Int32Array(items.length).fill(-1), depth = new Int32Array(items.length);
  const down = [...roots];
  for (let at = 0; at < down.length; at++)
    for (const child of items[down[at]].children ?? []) {
      parent[child] = down[at];
      depth[child] = depth[down[at]] + 1;
      down.push(child);
    }
  // The edges of each level: between which of its children, upper one first.
  const levels = new Map();
  const level = (block) => {
    if (!levels.has(block)) levels.set(block, { edges: [], ports: new Map(), top: [], bottom: [] });
    return levels.get(block);
  };
  const crossing = new Map();
  edges.forEach((edge, number) => {
    const { from, to, up = false } = edge;
    if (from === to) return;
    let a = from, b = to;
    while (depth[a] > depth[b]) a = parent[a];
    while (depth[b] > depth[a]) b = parent[b];
    if (a === b) return; // one of them is inside of the other
    while (parent[a] !== parent[b]) (a = parent[a]), (b = parent[b]);
    const block = parent[a];
    addTo(crossing, block, up ? { upper: b, lower: a, number, flipped: true } : { upper: a, lower: b, number, flipped: false });
  });
  for (const [block, list] of crossing) {
    acyclic(block < 0 ? roots : items[block].children, list);
    for (const { upper, lower, number, flipped } of list) {
      const edge = edges[number], top = flipped ? edge.to : edge.from, bottom = flipped ? edge.from : edge.to;
      const key = `${edge.from}/${edge.key ?? ""}/${flipped ? 1 : 0}`;
      // From the upper end down to the border of its outermost block, across, and down again.
      const outer = climb(top, upper, "bottom", key, number, flipped);
      const inner = climb(bottom, lower, "top", key, number, flipped);
      join(level(block), { from: upper, to: lower, fromPort: outer, toPort: inner, key }, number, ends(outer === null, inner === null, flipped));
    }
  }
  function climb(item, until, side, key, number, flipped) {
    let port = null;
    while (item !== until) {
      const block = parent[item], here = level(block);
      const name = `${side}/${key}`;
      if (!here.ports.has(name)) {
        here.ports.set(name, here.ports.size);
        here[side].push(here.ports.get(name));
      }
      const own = here.ports.get(name), arrow = port === null;
      const piece = side === "bottom" ? { from: item, to: ~own, fromPort: port, toPort: null, key } : { from: ~own, to: item, fromPort: null, toPort: port, key };
      join(here, piece, number, side === "bottom" ? ends(arrow, false, flipped) : ends(false, arrow, flipped));
      port = own;
      item = block;
    }
    return port;
  }
  // Inner blocks first: their sizes and the places of their ports are what the outer level needs.
  const drawings = new Map(), size = items.map(({ w, h }) => ({ w, h }));
  for (const block of [...down].reverse()) if (items[block].children) place(block, items[block].children);
  const whole = place(-1, roots);
  function place(block, children) {
    const here = level(block), index = new Map();
    const boxes = children.map((child, i) => (index.set(child, i), size[child]));
    const first = boxes.length;
    for (let i = 0; i < here.ports.size; i++) boxes.push({ w: 2, h: 0 });
    const at = (item) => (item < 0 ? first + ~item : index.get(item));
    const local = here.edges.map(({ from, to, fromPort, toPort, key, numbers }) => ({
      from: at(from), to: at(to), key, weight: edges[numbers[0]].weight,
      fx: fromPort === null ? undefined : drawings.get(from).portX[fromPort],
      tx: toPort === null ? undefined : drawings.get(to).portX[toPort],
    }));
    const drawing = layered({
      boxes, edges: local, header: block < 0 ? 0 : HEADER,
      top: here.top.map((i) => first + i), bottom: here.bottom.map((i) => first + i),
    });
    const portX = [];
    for (let i = 0; i < here.ports.size; i++) portX.push(drawing.x[first + i] + 1);
    drawings.set(block, { drawing, children, here, portX });
    const least = items[block]?.w ?? 0; // a title is to be read
    if (block >= 0) size[block] = { w: Math.max(drawing.width, least), h: drawing.height };
    return drawing;
  }
  const boxes = items.map(() => null), pieces = [];
  const stack = [[-1, 0, 0]];
  while (stack.length) {
    const [block, x, y] = stack.pop();
    const { drawing, children, here } = drawings.get(block);
    children.forEach((child, i) => {
      boxes[child] = { x: x + drawing.x[i], y: y + drawing.y[i], ...size[child], depth: depth[child] };
      if (items[child].children) stack.push([child, boxes[child].x, boxes[child].y]);
    });
    here.edges.forEach((piece, i) => {
      const points = drawing.paths[i];
      for (let k = 0; k < points.length; k += 2) (points[k] += x), (points[k + 1] += y);
      pieces.push({ points, edges: piece.numbers, ends: piece.ends });
    });
  }
  return { width: whole.width, height: whole.height, boxes, pieces };
}

const ends = (upper, lower, flipped) => (flipped ? (upper ? 2 : 0) : lower ? 1 : 0);

function join(here, piece, number, arrows) {
  here.known ??= new Map();
  const name = `${piece.from}/${piece.to}/${piece.fromPort}/${piece.toPort}/${piece.key}`;
  const known = here.known.get(name);
  if (known) known.numbers.push(number);
  else {
    const joined = { ...piece, numbers: [number], ends: arrows };
    here.known.set(name, joined);
    here.edges.push(joined);
  }
}

// Turns edges of a level round until there is no cycle.
function acyclic(children, list) {
  const out = new Map(children.map((child) => [child, []]));
  for (const edge of list) out.get(edge.upper).push(edge);
  const state = new Map(); // 1: on the stack, 2: done
  for (const root of children) {
    if (state.has(root)) continue;
    const stack = [[root, 0]];
    state.set(root, 1);
    while (stack.length) {
      const top = stack[stack.length - 1], edges = out.get(top[0]);
      if (top[1] === edges.length) {
        state.set(top[0], 2);
        stack.pop();
        continue;
      }
      const edge = edges[top[1]++], next = edge.lower;
      if (state.get(next) === 1) {
        [edge.upper, edge.lower] = [edge.lower, edge.upper];
        edge.flipped = !edge.flipped;
      } else if (!state.has(next)) {
        state.set(next, 1);
        stack.push([next, 0]);
      }
    }
  }
}
