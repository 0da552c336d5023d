// Where lanes and bars lie, and which bars of a line are worth drawing at a zoom.
import { endOf, startOf } from "./graph.js";

export const BAR = 18, SEAT = 5, HEAD = 16, TITLE = 20, AXIS = 22;

// Per run: its heading's y, and per lane {y, name, rows: [...]}: the lines of bars, each with the numbers of its
// operations in order of time. `wait` lines hold them while they are queued or wait for a thread.
export function layout(runs) {
  let y = AXIS;
  const laid = runs.map((run) => {
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
        line.ends = Float64Array.from(line.items, (i) => endOf(ops, i));
      }
      for (const line of lane.waits) line.ends = Float64Array.from(line.items, (i) => startOf(ops, i));
    }
    y += 6;
    return { y: heading, lanes };
  });
  return { runs: laid, height: y };
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

// Calls bar(x0, x1, i, joined) for the bars of a line between times t0 and t1. Bars narrower than a pixel that
// stand side by side become one: `joined` says so. begin(i) and end(i) give times, px(t) the place on the screen.
export function visible(line, begin, end, t0, t1, px, bar) {
  const { items, ends } = line;
  let held = null;
  for (let k = firstAfter(ends, t0); k < items.length; ) {
    const i = items[k];
    if (begin(i) > t1) break;
    const x0 = px(begin(i)), x1 = px(end(i));
    if (x1 - x0 >= 2) {
      if (held) bar(held[0], held[1], held[2], true);
      held = null;
      bar(x0, x1, i, false);
      k++;
      continue;
    }
    if (held && x0 - held[1] <= 1) held[1] = Math.max(held[1], x1);
    else {
      if (held) bar(held[0], held[1], held[2], true);
      held = [x0, Math.max(x1, x0 + 1), i];
    }
    // The next bar that shows: all that end within this pixel are covered.
    k = Math.max(k + 1, firstAfter(ends, t0 + (t1 - t0) * ((held[1] - px(t0)) / Math.max(px(t1) - px(t0), 1e-9)), k));
  }
  if (held) bar(held[0], held[1], held[2], true);
}

// Round times between t0 and t1, at most `most` of them.
export function ticks(t0, t1, most = 8) {
  const span = Math.max(t1 - t0, 1e-9);
  let step = 10 ** Math.floor(Math.log10(span / most));
  for (let k = 0; span / step > most; k++) step *= k % 3 === 1 ? 2.5 : 2;
  const found = [];
  for (let t = Math.ceil(t0 / step) * step; t <= t1; t += step) found.push(t);
  return found;
}
