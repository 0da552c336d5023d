// Where lanes and bars lie, and which bars of a line are worth drawing at a zoom.
import { endOf, startOf } from "./graph.js";

export const BAR = 18, SEAT = 5, HEAD = 16, TITLE = 20, AXIS = 22;

// Per run: its heading's y, and per lane {y, name, rows: [...]}: the lines of bars, each with the numbers of its
// operations in order of time. `wait` lines hold them while they are queued or wait for a thread.
export function layout(runs) {
  let y = AXIS;
  const placed = runs.map((run) => {
    const heading = y;
    y += TITLE;
    const lanes = run.lanes.map((lane) => {
      const at = y;
      const bars = Array.from({ length: lane.depth }, (_, d) => ({ y: at + HEAD + d * BAR, items: [] }));
      const waits = Array.from({ length: lane.seats }, (_, s) => ({ y: at + HEAD + lane.depth * BAR + 2 + s * SEAT, items: [] }));
      y += HEAD + lane.depth * BAR + lane.seats * SEAT + 6;
      return { y: at, name: lane.name, kind: lane.kind, bars, waits, height: y - at };
    });
    const { ops } = run;
    for (let i = 0; i < ops.lane.length; i++) {
      const lane = lanes[ops.lane[i]];
      lane.bars[ops.depth[i]].items.push(i);
      if (ops.seat[i] >= 0) lane.waits[ops.seat[i]].items.push(i);
    }
    for (const lane of lanes) {
      for (const line of lane.bars) {
        line.items.sort((a, b) => startOf(ops, a) - startOf(ops, b));
        line.begins = Float64Array.from(line.items, (i) => startOf(ops, i));
        line.ends = Float64Array.from(line.items, (i) => endOf(ops, i));
      }
      for (const line of lane.waits) {
        line.begins = Float64Array.from(line.items, (i) => ops.pushed[i]);
        line.ends = Float64Array.from(line.items, (i) => startOf(ops, i));
      }
    }
    y += 6;
    return { y: heading, lanes };
  });
  return { runs: placed, height: y };
}

// The first of the ascending `ends` that is after t.
export function firstAfter(ends, t, low = 0) {
  let high = ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] > t) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The same from `low` on, quick if it is near.
function nextAfter(ends, t, low) {
  let reach = 1;
  while (low + reach < ends.length && ends[low + reach] <= t) reach *= 2;
  let high = Math.min(low + reach, ends.length);
  low += reach >> 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] > t) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Calls bar(x0, x1, i, joined) for the bars of a line between times t0 and t1, on a screen where a pixel is
// 1 / k long and t0 at x = 0. Bars narrower than two pixels that stand side by side become one: `joined` says so.
export function visible({ items, begins, ends }, t0, t1, k, bar) {
  let from = 0, to = 0, first = -1; // the joined bar
  for (let n = firstAfter(ends, t0); n < items.length && begins[n] <= t1; ) {
    const x0 = (begins[n] - t0) * k, x1 = (Math.min(ends[n], t1) - t0) * k;
    if (x1 - x0 >= 2) {
      if (first >= 0) bar(from, to, first, true);
      first = -1;
      bar(x0, x1, items[n], false);
      n++;
      continue;
    }
    if (first >= 0 && x0 - to <= 1) to = Math.max(to, x1);
    else {
      if (first >= 0) bar(from, to, first, true);
      from = x0;
      to = Math.max(x1, x0 + 1);
      first = items[n];
    }
    n = Math.max(n + 1, nextAfter(ends, t0 + to / k, n)); // what ends within this pixel is covered
  }
  if (first >= 0) bar(from, to, first, true);
}
