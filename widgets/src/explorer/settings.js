// Which sliders an operator has, and how far they go: as _settings and limits in mixnet/widgets/explorer.py.
import { FILTERS, filterOf } from "./compute.js";

export function limits(payload, state) {
  if (payload.operator === "attention") {
    return { queries: [1, payload.queries.length], keys: [1, payload.keys.length], head: [0, state.heads - 1], length: [1, state.keys] };
  }
  const extent = Math.min(payload.input[0].length, payload.input[0][0].length);
  const fixed = payload.weight ? payload.weight[0][0].length : 0;
  const ranges = { kernel: fixed ? [fixed, fixed] : [1, Math.min(7, extent)], stride: [1, 4], pad: [0, 3] };
  if (payload.operator === "pooling") return { ...ranges, pad: [0, Math.min(3, state.kernel - 1)] };
  const room = extent + 2 * state.pad - 1;
  ranges.dilate = [1, Math.max(1, Math.min(3, Math.floor(room / Math.max(state.kernel - 1, 1))))];
  ranges.channels = [1, fixed ? Math.min(payload.input.length, payload.weight[0].length) : payload.input.length];
  return ranges;
}

// A state that holds: each slider within its limits, heads a divisor of the size.
export function settle(payload, state) {
  let next = { ...state };
  for (let round = 0; round < 2; round += 1) {
    for (const [name, [least, most]] of Object.entries(limits(payload, next))) next[name] = Math.min(Math.max(next[name], least), most);
  }
  return next;
}

export function divisors(number) {
  return Array.from({ length: number }, (_, i) => i + 1).filter((n) => number % n === 0);
}

// The weights of the chosen filter: channels × kernel × kernel.
export function weightsOf(payload, state) {
  if (payload.weight) return payload.weight[state.filter].slice(0, state.channels);
  const filter = filterOf(FILTERS[state.filter], state.kernel);
  return Array.from({ length: state.channels }, () => filter);
}

export function filterNames(payload) {
  return payload.weight ? payload.weight.map((_, i) => `filter ${i}`) : FILTERS;
}

// The line of Python that gives the same.
export function callOf(payload, s) {
  const pair = (n) => `(${n}, ${n})`;
  if (payload.operator === "convolution") {
    return `nd.Convolution(x, w, kernel=${pair(s.kernel)}, stride=${pair(s.stride)}, pad=${pair(s.pad)}, dilate=${pair(s.dilate)}, num_filter=1, no_bias=True)`;
  }
  if (payload.operator === "pooling") {
    const counted = s.type === "avg" ? `, count_include_pad=${s.include_pad ? "True" : "False"}` : "";
    return `nd.Pooling(x, kernel=${pair(s.kernel)}, stride=${pair(s.stride)}, pad=${pair(s.pad)}, pool_type="${s.type}", pooling_convention="${s.convention}"${counted})`;
  }
  const mask = s.mask === "none" ? "" : " + mask";
  return `nd.dot(nd.softmax(nd.dot(Q, K, transpose_b=True) / ${payload.queries[0].length / s.heads} ** 0.5${mask}), V)`;
}
