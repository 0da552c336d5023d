// One plan of a payload made ready for drawing and asking: boxes, storages, who is alive, who shares with whom.
import { digits } from "../core/format.js";

// prepare(payload, plan): columns of the boxes (one for each array that has a place), and of the storages.
// With `byEvent` the unit of time is one array made or freed, so that pauses take no room.
export function prepare(payload, plan, byEvent = false) {
  const graph = payload.graphs[plan.graph];
  const { arrays } = graph;
  const axis = byEvent ? eventAxis(arrays, graph) : { place: (t) => t, timeOf: (t) => t, start: graph.start ?? 0, length: graph.length };
  const count = plan.size.length, total = plan.storage.length;
  const born = Float64Array.from(arrays.begin, axis.place), dies = Float64Array.from(arrays.end, axis.place);
  const first = new Float64Array(count).fill(Infinity), last = new Float64Array(count);
  const members = Array.from({ length: count }, () => []);
  plan.storage.forEach((storage, number) => {
    if (storage < 0) return;
    first[storage] = Math.min(first[storage], born[number]);
    last[storage] = Math.max(last[storage], dies[number]);
    members[storage].push(number);
  });
  const end = Float64Array.from(dies);
  const low = new Float64Array(total), high = new Float64Array(total);
  const previous = new Int32Array(total).fill(-1), next = new Int32Array(total).fill(-1);
  members.forEach((numbers, storage) => {
    numbers.sort((a, b) => born[a] - born[b]);
    numbers.forEach((number, i) => {
      low[number] = plan.offset[storage];
      high[number] = low[number] + arrays.bytes[number];
      const after = numbers[i + 1];
      if (after === undefined) return;
      end[number] = Math.min(end[number], Math.max(born[after], born[number])); // overwritten in place
      next[number] = after;
      previous[after] = number;
    });
  });
  const placed = [];
  plan.storage.forEach((storage, number) => storage >= 0 && placed.push(number));
  const area = (n) => (end[n] - born[n]) * (high[n] - low[n]);
  const order = Uint32Array.from(placed.sort((a, b) => area(b) - area(a)));
  const { start, length, timeOf } = axis;
  const points = curve(plan, first, last);
  return {
    name: payload.name, plan, graph, begin: born, dies, end, low, high, first, last, members, previous, next, order,
    start, length, timeOf, peakAt: axis.place(plan.peak.at), curve: points, line: timesAndLevels(points),
  };
}

function eventAxis(arrays, graph) {
  const times = [...new Set([...arrays.begin, ...arrays.end])].sort((a, b) => a - b);
  const number = new Map(times.map((t, i) => [t, i]));
  return { place: (t) => number.get(t) ?? 0, timeOf: (i) => times[Math.min(Math.max(Math.floor(i), 0), times.length - 1)] ?? graph.length, start: 0, length: Math.max(times.length - 1, 1) };
}

// Bytes of the storages that are needed, as steps: [[time, bytes from then on], ...].
export function curve(plan, first, last) {
  const change = new Map();
  plan.size.forEach((size, s) => {
    change.set(first[s], (change.get(first[s]) ?? 0) + size);
    change.set(last[s], (change.get(last[s]) ?? 0) - size);
  });
  let level = 0;
  return [...change].sort((a, b) => a[0] - b[0]).map(([at, by]) => [at, (level += by)]);
}

// A curve as two typed arrays: a hundred thousand points are walked in each frame.
export function timesAndLevels(points) {
  return { times: Float64Array.from(points, ([t]) => t), levels: Float64Array.from(points, ([, level]) => level) };
}

// The corners of a curve between two times; what changes within a `pixel` is its lowest and highest level.
export function stairs({ times, levels }, from, to, pixel) {
  const corners = [], count = times.length;
  let level = 0, i = 0;
  while (i < count && times[i] < from) level = levels[i++];
  corners.push([from, level]);
  while (i < count && times[i] <= to) {
    const t = times[i];
    const before = level;
    let low = level, high = level;
    do {
      level = levels[i];
      if (level < low) low = level;
      if (level > high) high = level;
      i += 1;
    } while (i < count && times[i] < t + pixel);
    corners.push([t, before]);
    if (low < before && low < level) corners.push([t, low]);
    if (high > before && high > level) corners.push([t, high]);
    corners.push([t, level]);
  }
  corners.push([Math.min(to, count ? times[count - 1] : to), level]);
  return corners;
}

// What is needed at a time.
export function levelAt(points, at) {
  let current = 0;
  for (const [time, level] of points) {
    if (time > at) break;
    current = level;
  }
  return current;
}

// The array in each storage that is needed at a time, the largest storage first.
export function aliveAt(p, at) {
  const pairs = [];
  p.members.forEach((numbers, storage) => {
    if (!(p.first[storage] <= at && at < p.last[storage])) return;
    const there = numbers.filter((n) => p.begin[n] <= at);
    pairs.push([storage, there[there.length - 1]]);
  });
  const size = p.plan.size;
  return pairs.sort((a, b) => size[b[0]] - size[a[0]] || a[0] - b[0]).map(([, number]) => number);
}

// The storages whose memory a storage is given next (`before`), or that are given its own (after it).
export function coShared(p, storage, before) {
  const { offset, size } = p.plan;
  const from = offset[storage], to = from + size[storage];
  const neighbours = [];
  size.forEach((bytes, other) => {
    const isAdjacent = before ? p.last[other] <= p.first[storage] : p.first[other] >= p.last[storage];
    if (other !== storage && isAdjacent && bytes && offset[other] < to && from < offset[other] + bytes) neighbours.push(other);
  });
  neighbours.sort((a, b) => (before ? p.last[b] - p.last[a] : p.first[a] - p.first[b]));
  let open = [[from, to]]; // addresses whose neighbour in time is not found yet
  return neighbours.filter((other) => {
    const a = offset[other], b = a + size[other];
    const left = open.flatMap(([x, y]) => (b <= x || y <= a ? [[x, y]] : [[x, a], [b, y]].filter(([u, v]) => u < v)));
    const covers = left.length !== open.length || left.some(([x, y], i) => x !== open[i][0] || y !== open[i][1]);
    open = left;
    return covers;
  });
}

export function nameOf(graph, number) {
  const index = graph.arrays.index[number];
  const name = graph.steps.name[graph.arrays.step[number]];
  return index < 0 ? name : `${name}[${index}]`;
}

// The line of a program that an array comes from: [file, line, text, function], or null.
export function sourceOf(payload, graph, number) {
  const source = graph.steps.source[graph.arrays.step[number]];
  return source < 0 ? null : payload.sources[source];
}

// The array of the same name in another graph; null if it has none there.
export function samePlace(from, to, number) {
  if (from === to || number === null || number === undefined) return number ?? null;
  const name = nameOf(from, number);
  const index = to.arrays.step.findIndex((_, other) => nameOf(to, other) === name);
  return index < 0 ? null : index;
}

// Boxes in sight, the largest first, no more than `most`; `count` says how many there are in sight.
export function visible(p, from, to, low, high, most) {
  const shown = [];
  let count = 0;
  for (const n of p.order) {
    if (p.begin[n] >= to || (p.end[n] <= from && p.begin[n] < from) || p.low[n] > high || p.high[n] < low) continue;
    if (count < most) shown.push(n);
    count += 1;
  }
  return { shown, count };
}

// Bytes as memory_plan (and the log of live memory) prints them.
// How a size compares with that of no sharing.
export function than(none, size) {
  if (size === none) return "the same";
  return size > none ? `${digits(size / Math.max(none, 1))} times more` : `${digits(none / Math.max(size, 1))} times less`;
}

export const KINDS = {
  A: [0, "saved for backward"],
  F: [5, "forward only"],
  B: [1, "made by backward"],
  R: [3, "recomputed"],
  O: [2, "output"],
  L: [0, "array"],
  E: [7, "existed before"],
};
