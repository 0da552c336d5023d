// The arithmetic of small charts: groups of curves, extents, places, the nearest point.
import { addTo } from "../core/maps.js";

// Curves that are drawn together, in the order in which they came: [group, [curve, ...]].
export function grouped(series) {
  const groups = new Map();
  for (const each of series) addTo(groups, each.group, each);
  return [...groups];
}

// What is drawn of a curve: all of it with its extremes, or the newest values alone.
export function shown(curve, recent) {
  return recent && curve.recent ? { name: curve.name, low: [], high: [], ...curve.recent, recent: curve.recent } : curve;
}

const known = (value) => value !== null && value !== undefined;

// Extent of curves: {first, last, low, high}; null where there is no finite value. On a logarithmic axis
// only what is positive counts. `fromZero`: the axis begins at zero.
export function extent(curves, log = false, fromZero = false) {
  let first = Infinity, last = -Infinity, low = Infinity, high = -Infinity;
  for (const curve of curves) {
    for (const step of curve.step) {
      first = Math.min(first, step);
      last = Math.max(last, step);
    }
    for (const values of [curve.value, curve.low ?? [], curve.high ?? []]) {
      for (const value of values) {
        if (!known(value) || (log && value <= 0)) continue;
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
  }
  return low > high ? null : { first, last, low: fromZero ? Math.min(low, 0) : low, high };
}

// Ticks of a logarithmic axis: powers of ten, or the ends where there is less than one between them.
export function decades(low, high) {
  const powers = [];
  for (let k = Math.ceil(Math.log10(low) - 1e-9); k <= Math.log10(high) + 1e-9; k += 1) powers.push(10 ** k);
  return powers.length > 1 ? powers : low === high ? [low] : [low, high];
}

// Functions from step and value to pixels of a box.
export function scales({ first, last, low, high }, { x, y, width, height }, log = false) {
  const by = log ? Math.log : (v) => v;
  const from = by(low), over = by(high) - from || 1;
  return {
    px: (step) => x + ((step - first) / (last - first || 1)) * width,
    py: (value) => y + height - ((by(value) - from) / over) * height,
    step: (px) => first + ((px - x) / width) * (last - first),
  };
}

// Runs of points without a gap, as [[px, py], ...] each: null and, on a logarithmic axis, what is not positive, breaks.
export function pieces(curve, values, { px, py }, log = false) {
  const runs = [];
  let piece = null;
  values.forEach((value, k) => {
    if (!known(value) || (log && value <= 0)) piece = null;
    else {
      if (!piece) runs.push((piece = []));
      piece.push([px(curve.step[k]), py(value)]);
    }
  });
  return runs;
}

// The number of the point whose step is nearest to `step`; -1 if there is none. Steps ascend.
export function nearest(steps, step) {
  if (!steps.length) return -1;
  let low = 0, high = steps.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] < step) low = middle + 1;
    else high = middle;
  }
  return low > 0 && step - steps[low - 1] <= steps[low] - step ? low - 1 : low;
}

// A slider is linear; a learning rate goes by factors: 0 to 100 is 1e-6 to 10.
export const rateOf = (place) => Number((10 ** (-6 + (7 * place) / 100)).toPrecision(2));
export const placeOf = (rate) => Math.min(Math.max(((Math.log10(rate) + 6) / 7) * 100, 0), 100);
