// Runs the program of a page: JAX's primitives on typed arrays. A value is {shape, dtype, data}.
// float32 is computed in float32; everything else in float64, whole numbers and truth values too.

export const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);
const isFloat32 = (dtype) => dtype === "float32" || dtype === "float16" || dtype === "bfloat16";
const room = (dtype, size) => (isFloat32(dtype) ? new Float32Array(size) : new Float64Array(size));
const value = (shape, dtype, data) => ({ shape, dtype, data: data ?? room(dtype, sizeOf(shape)) });

export function stridesOf(shape) {
  const strides = new Array(shape.length);
  for (let axis = shape.length - 1, step = 1; axis >= 0; axis--) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

// Calls visit(place in the result, place in the operand) for all elements of a view.
function walk(shape, strides, offset, visit) {
  const size = sizeOf(shape), rank = shape.length;
  if (!size) return;
  const at = new Array(rank).fill(0);
  for (let out = 0, place = offset; out < size; out++) {
    visit(out, place);
    for (let axis = rank - 1; axis >= 0; axis--) {
      place += strides[axis];
      if (++at[axis] < shape[axis]) break;
      place -= strides[axis] * shape[axis];
      at[axis] = 0;
    }
  }
}

function view(x, shape, strides, offset = 0) {
  const out = value(shape, x.dtype), from = x.data, to = out.data;
  walk(shape, strides, offset, (i, j) => { to[i] = from[j]; });
  return out;
}

function transposed(x, order) {
  if (order.every((axis, i) => axis === i)) return x;
  const strides = stridesOf(x.shape);
  return view(x, order.map((axis) => x.shape[axis]), order.map((axis) => strides[axis]));
}

function inverse(order) {
  const back = new Array(order.length);
  order.forEach((axis, i) => { back[axis] = i; });
  return back;
}

// ---- one element after the other ----------------------------------------------------------------

// The error function: its series about 0, and the continued fraction of what is left of 1 further out.
function erf(x) {
  const a = Math.abs(x);
  if (a > 6) return Math.sign(x);
  if (a < 2.5) {
    let term = x, sum = x;
    for (let n = 1; n < 60 && Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
      term *= (-x * x) / n;
      sum += term / (2 * n + 1);
    }
    return (2 / Math.sqrt(Math.PI)) * sum;
  }
  let fraction = 0; // the continued fraction of erfc
  for (let n = 40; n > 0; n--) fraction = n / 2 / (a + fraction);
  return Math.sign(x) * (1 - Math.exp(-a * a) / (Math.sqrt(Math.PI) * (a + fraction)));
}

function roundHalfEven(x) {
  const down = Math.floor(x), rest = x - down;
  if (rest !== 0.5) return Math.round(x);
  return down % 2 === 0 ? down : down + 1;
}

const UNARY = {
  abs: Math.abs, acos: Math.acos, acosh: Math.acosh, asin: Math.asin, asinh: Math.asinh, atan: Math.atan,
  atanh: Math.atanh, cbrt: Math.cbrt, ceil: Math.ceil, copy: (x) => x, copy_p: (x) => x, cos: Math.cos,
  cosh: Math.cosh, erf, erfc: (x) => 1 - erf(x), exp: Math.exp, exp2: (x) => 2 ** x, expm1: Math.expm1,
  floor: Math.floor, is_finite: (x) => +Number.isFinite(x), log: Math.log, log1p: Math.log1p,
  logistic: (x) => 1 / (1 + Math.exp(-x)), neg: (x) => -x, optimization_barrier: (x) => x,
  reduce_precision: (x) => x, rsqrt: (x) => 1 / Math.sqrt(x), sign: (x) => (x > 0) - (x < 0), sin: Math.sin,
  sinh: Math.sinh, sqrt: Math.sqrt, square: (x) => x * x, stop_gradient: (x) => x, tan: Math.tan,
  tanh: Math.tanh,
};
const BINARY = {
  add: (a, b) => a + b, add_any: (a, b) => a + b, sub: (a, b) => a - b, mul: (a, b) => a * b,
  max: (a, b) => (a > b || a !== a ? a : b), min: (a, b) => (a < b || a !== a ? a : b),
  pow: (a, b) => a ** b, atan2: Math.atan2, rem: (a, b) => a % b, eq: (a, b) => +(a === b),
  ne: (a, b) => +(a !== b), lt: (a, b) => +(a < b), le: (a, b) => +(a <= b), gt: (a, b) => +(a > b),
  ge: (a, b) => +(a >= b), and: (a, b) => +(a && b), or: (a, b) => +(a || b), xor: (a, b) => +(a !== b),
};
const isWhole = (dtype) => /^u?int/.test(dtype);

// Repeats an operand along axes where its extent is one.
function spread(x, shape) {
  const strides = stridesOf(x.shape);
  return view(x, shape, strides.map((stride, axis) => (x.shape[axis] === 1 ? 0 : stride)));
}

// A scalar goes with any shape.
function elementwise(out, inputs, compute) {
  const size = out.data.length;
  const arrays = inputs.map((x) => (x.data.length === 1 || x.data.length === size ? x : spread(x, out.shape)).data);
  const steps = arrays.map((each) => (each.length === 1 && size !== 1 ? 0 : 1));
  if (arrays.length === 1) {
    const [a] = arrays;
    for (let i = 0; i < size; i++) out.data[i] = compute(a[i]);
  } else if (arrays.length === 2) {
    const [a, b] = arrays, [p, q] = steps;
    for (let i = 0; i < size; i++) out.data[i] = compute(a[i * p], b[i * q]);
  } else {
    for (let i = 0; i < size; i++) out.data[i] = compute(...arrays.map((each, n) => each[i * steps[n]]));
  }
}

function power(x, n) {
  let result = 1;
  for (let i = 0; i < Math.abs(n); i++) result *= x;
  return n < 0 ? 1 / result : result;
}

function converted(x, out) {
  const whole = isWhole(out.dtype) && !isWhole(x.dtype);
  for (let i = 0; i < x.data.length; i++) {
    const each = x.data[i];
    out.data[i] = out.dtype === "bool" ? +(each !== 0) : whole ? Math.trunc(each) : each;
  }
}

// ---- along axes ---------------------------------------------------------------------------------

function reduced(x, axes, out, start, step) {
  const left = x.shape.map((_, axis) => axis).filter((axis) => !axes.includes(axis));
  const rows = transposed(x, [...left, ...axes]).data;
  const length = sizeOf(axes.map((axis) => x.shape[axis]));
  for (let i = 0; i < out.data.length; i++) {
    let total = start;
    for (let j = i * length; j < (i + 1) * length; j++) total = step(total, rows[j]);
    out.data[i] = total;
  }
}

function argument(x, axes, out, better) {
  const [axis] = axes, length = x.shape[axis];
  const left = x.shape.map((_, each) => each).filter((each) => each !== axis);
  const rows = transposed(x, [...left, axis]).data;
  for (let i = 0; i < out.data.length; i++) {
    let best = 0;
    for (let j = 1; j < length; j++) {
      if (better(rows[i * length + j], rows[i * length + best])) best = j;
    }
    out.data[i] = best;
  }
}

function cumulated(x, { axis, reverse }, out, step) {
  const stride = stridesOf(x.shape)[axis], length = x.shape[axis];
  for (let i = 0; i < x.data.length; i++) {
    if (Math.floor(i / stride) % length) continue;
    let total;
    for (let n = 0; n < length; n++) {
      const place = i + (reverse ? length - 1 - n : n) * stride;
      total = n ? step(total, x.data[place]) : x.data[place];
      out.data[place] = total;
    }
  }
}

// One axis after the other: sums, greatest and least elements of boxes are those of rows of rows.
function windows(x, params, out, start, step) {
  let now = x;
  params.window.forEach((window, axis) => {
    const { strides, padding, dilation } = params, before = now;
    if (window === 1 && strides[axis] === 1 && padding[axis][0] === 0 && padding[axis][1] === 0) return;
    const shape = [...before.shape];
    shape[axis] = out.shape[axis];
    now = value(shape, x.dtype);
    const inner = sizeOf(shape.slice(axis + 1)), extent = before.shape[axis];
    const outer = sizeOf(shape.slice(0, axis));
    for (let o = 0; o < outer; o++) {
      for (let j = 0; j < shape[axis]; j++) {
        for (let i = 0; i < inner; i++) {
          let total = start;
          for (let w = 0; w < window; w++) {
            const at = j * strides[axis] + w * dilation[axis] - padding[axis][0];
            if (at >= 0 && at < extent) total = step(total, before.data[(o * extent + at) * inner + i]);
          }
          now.data[(o * shape[axis] + j) * inner + i] = total;
        }
      }
    }
  });
  out.data = now.data;
}

// ---- products -----------------------------------------------------------------------------------

function product(a, b, { contract, batch }, out) {
  const free = (x, side) => x.shape.map((_, i) => i).filter((i) => !contract[side].includes(i) && !batch[side].includes(i));
  const left = transposed(a, [...batch[0], ...free(a, 0), ...contract[0]]).data;
  const right = transposed(b, [...batch[1], ...free(b, 1), ...contract[1]]).data;
  const count = (x, axes) => sizeOf(axes.map((axis) => x.shape[axis]));
  const batches = count(a, batch[0]), m = count(a, free(a, 0)), n = count(b, free(b, 1)), k = count(a, contract[0]);
  for (let each = 0, place = 0; each < batches; each++) {
    for (let i = 0; i < m; i++) {
      const row = (each * m + i) * k;
      for (let j = 0; j < n; j++, place++) {
        const column = (each * n + j) * k;
        let total = 0;
        for (let l = 0; l < k; l++) total += left[row + l] * right[column + l];
        out.data[place] = total;
      }
    }
  }
}

function convolution(lhs, rhs, params, out) {
  let x = transposed(lhs, params.lhs), w = transposed(rhs, params.rhs);
  if (x.shape.length === 3) { // one spatial axis: a row of a picture
    x = { ...x, shape: [x.shape[0], x.shape[1], 1, x.shape[2]] };
    w = { ...w, shape: [w.shape[0], w.shape[1], 1, w.shape[2]] };
  }
  const two = (pair, one) => (pair.length === 1 ? [one, ...pair] : pair);
  const apart = two(params.lhs_dilation, 1);
  if (apart.some((each) => each !== 1)) {
    x = padded(x, 0, [[0, 0, 0], [0, 0, 0], ...apart.map((each) => [0, 0, each - 1])]);
  }
  const [sy, sx] = two(params.strides, 1), [dy, dx] = two(params.rhs_dilation, 1);
  const [[top], [left]] = two(params.padding, [0, 0]);
  const [batch, channels, height, width] = x.shape, [filters, depth, kh, kw] = w.shape;
  const shape = params.out.map((axis) => out.shape[axis]);
  const [oh, ow] = shape.length === 3 ? [1, shape[2]] : shape.slice(2);
  const result = new Float64Array(oh * ow), made = value(shape, out.dtype), perGroup = filters / params.groups;
  const pixels = x.data, weights = w.data;
  for (let n = 0; n < batch; n++) {
    for (let f = 0; f < filters; f++) {
      result.fill(0);
      const group = Math.floor(f / perGroup) * depth;
      for (let c = 0; c < depth; c++) {
        const plane = (n * channels + group + c) * height * width;
        for (let ky = 0; ky < kh; ky++) {
          for (let kx = 0; kx < kw; kx++) {
            const weight = weights[((f * depth + c) * kh + ky) * kw + kx];
            if (weight === 0) continue;
            const shift = kx * dx - left; // the columns whose pixel lies in the picture
            const first = Math.max(0, Math.ceil(-shift / sx)), end = Math.min(ow, Math.floor((width - 1 - shift) / sx) + 1);
            for (let y = 0; y < oh; y++) {
              const iy = y * sy + ky * dy - top;
              if (iy < 0 || iy >= height) continue;
              const from = plane + iy * width + shift, to = y * ow;
              for (let i = first; i < end; i++) result[to + i] += weight * pixels[from + i * sx];
            }
          }
        }
      }
      made.data.set(result, (n * filters + f) * oh * ow);
    }
  }
  out.data = transposed(made, inverse(params.out)).data;
}

// ---- places -------------------------------------------------------------------------------------

function padded(x, fill, padding) {
  const shape = x.shape.map((extent, axis) => {
    const [low, high, inner] = padding[axis];
    return low + high + extent + Math.max(extent - 1, 0) * inner;
  });
  const out = value(shape, x.dtype);
  out.data.fill(fill);
  const strides = stridesOf(shape), at = new Array(shape.length).fill(0);
  for (let i = 0; i < x.data.length; i++) {
    let place = 0, inside = true;
    for (let axis = 0; axis < at.length; axis++) {
      const [low, , inner] = padding[axis], where = low + at[axis] * (inner + 1);
      inside = inside && where >= 0 && where < shape[axis];
      place += where * strides[axis];
    }
    if (inside) out.data[place] = x.data[i];
    for (let axis = at.length - 1; axis >= 0 && ++at[axis] === x.shape[axis]; axis--) at[axis] = 0;
  }
  return out;
}

function gathered(x, indices, params, out) {
  const { offset, collapsed, map, operandBatch, indexBatch, sizes, clip, fill } = params;
  const rank = indices.shape.length - 1, depth = indices.shape[rank];
  const batch = out.shape.map((_, axis) => axis).filter((axis) => !offset.includes(axis));
  const inside = x.shape.map((_, axis) => axis).filter((axis) => !collapsed.includes(axis) && !operandBatch.includes(axis));
  const strides = stridesOf(x.shape), indexStrides = stridesOf(indices.shape), outStrides = stridesOf(out.shape);
  for (let i = 0; i < out.data.length; i++) {
    const at = out.shape.map((extent, axis) => Math.floor(i / outStrides[axis]) % extent);
    const row = batch.reduce((sum, axis, n) => sum + at[axis] * indexStrides[n], 0);
    let place = 0, fits = true;
    for (let n = 0; n < depth; n++) {
      const axis = map[n], most = x.shape[axis] - sizes[axis];
      let start = indices.data[row + n * indexStrides[rank]];
      if (start < 0 || start > most) {
        fits = clip;
        start = Math.min(Math.max(start, 0), most);
      }
      place += start * strides[axis];
    }
    operandBatch.forEach((axis, n) => { place += at[batch[indexBatch[n]]] * strides[axis]; });
    inside.forEach((axis, n) => { place += at[offset[n]] * strides[axis]; });
    out.data[i] = fits ? x.data[place] : fill;
  }
}

function sliced(x, starts, sizes) {
  const strides = stridesOf(x.shape);
  const offset = sizes.reduce((sum, size, axis) => {
    const start = Math.min(Math.max(starts[axis], 0), x.shape[axis] - size);
    return sum + start * strides[axis];
  }, 0);
  return view(x, sizes, strides, offset);
}

// ---- all primitives -----------------------------------------------------------------------------

const sum = (a, b) => a + b;
const copyOf = (compute) => (inputs, params, outs) => { outs[0].data = compute(inputs, params, outs[0]).data; };

// (values, parameters, results to fill)
export const PRIMITIVES = {
  integer_pow: ([x], { y }, [out]) => elementwise(out, [x], (each) => power(each, y)),
  div: ([a, b], _, [out]) => elementwise(out, [a, b], isWhole(out.dtype) ? (p, q) => Math.trunc(p / q) : (p, q) => p / q),
  not: ([x], _, [out]) => elementwise(out, [x], out.dtype === "bool" ? (each) => +!each : (each) => ~each),
  round: ([x], { even }, [out]) => elementwise(out, [x], even ? roundHalfEven : (each) => Math.sign(each) * Math.floor(Math.abs(each) + 0.5)),
  convert_element_type: ([x], _, [out]) => converted(x, out),
  select_n: ([which, ...cases], _, [out]) => elementwise(out, [which, ...cases], (n, ...values) => values[n]),
  clamp: ([low, x, high], _, [out]) => elementwise(out, [low, x, high], (a, b, c) => Math.min(Math.max(b, a), c)),
  reshape: copyOf(([x]) => x),
  transpose: copyOf(([x], { order }) => transposed(x, order)),
  broadcast_in_dim: copyOf(([x], { axes }, out) => {
    const strides = stridesOf(x.shape), steps = out.shape.map(() => 0);
    axes.forEach((axis, i) => { if (x.shape[i] !== 1) steps[axis] = strides[i]; });
    return view(x, out.shape, steps);
  }),
  concatenate: (inputs, { axis }, [out]) => {
    const outer = sizeOf(out.shape.slice(0, axis));
    let place = 0;
    for (let o = 0; o < outer; o++) {
      for (const x of inputs) {
        const length = x.data.length / outer;
        out.data.set(x.data.subarray(o * length, (o + 1) * length), place);
        place += length;
      }
    }
  },
  split: ([x], { axis, sizes }, outs) => {
    let start = 0;
    sizes.forEach((size, i) => {
      outs[i].data = view(x, outs[i].shape, stridesOf(x.shape), start * stridesOf(x.shape)[axis]).data;
      start += size;
    });
  },
  slice: copyOf(([x], { start, steps }, out) => {
    const strides = stridesOf(x.shape);
    const offset = start.reduce((total, each, axis) => total + each * strides[axis], 0);
    return view(x, out.shape, strides.map((stride, axis) => stride * steps[axis]), offset);
  }),
  rev: copyOf(([x], { axes }) => {
    const strides = stridesOf(x.shape);
    const offset = axes.reduce((total, axis) => total + (x.shape[axis] - 1) * strides[axis], 0);
    return view(x, x.shape, strides.map((stride, axis) => (axes.includes(axis) ? -stride : stride)), offset);
  }),
  pad: copyOf(([x, fill], { padding }) => padded(x, fill.data[0], padding)),
  reduce_sum: ([x], { axes }, [out]) => reduced(x, axes, out, 0, sum),
  reduce_prod: ([x], { axes }, [out]) => reduced(x, axes, out, 1, BINARY.mul),
  reduce_max: ([x], { axes }, [out]) => reduced(x, axes, out, -Infinity, BINARY.max),
  reduce_min: ([x], { axes }, [out]) => reduced(x, axes, out, Infinity, BINARY.min),
  reduce_and: ([x], { axes }, [out]) => reduced(x, axes, out, 1, BINARY.and),
  reduce_or: ([x], { axes }, [out]) => reduced(x, axes, out, 0, BINARY.or),
  argmax: ([x], { axes }, [out]) => argument(x, axes, out, (a, b) => a > b),
  argmin: ([x], { axes }, [out]) => argument(x, axes, out, (a, b) => a < b),
  cumsum: ([x], params, [out]) => cumulated(x, params, out, sum),
  cumprod: ([x], params, [out]) => cumulated(x, params, out, BINARY.mul),
  cummax: ([x], params, [out]) => cumulated(x, params, out, BINARY.max),
  cummin: ([x], params, [out]) => cumulated(x, params, out, BINARY.min),
  reduce_window_sum: ([x], params, [out]) => windows(x, params, out, 0, sum),
  reduce_window_max: ([x], params, [out]) => windows(x, params, out, -Infinity, BINARY.max),
  reduce_window_min: ([x], params, [out]) => windows(x, params, out, Infinity, BINARY.min),
  dot_general: ([a, b], params, [out]) => product(a, b, params, out),
  conv_general_dilated: ([x, w], params, [out]) => convolution(x, w, params, out),
  gather: ([x, indices], params, [out]) => gathered(x, indices, params, out),
  dynamic_slice: copyOf(([x, ...starts], { sizes }) => sliced(x, starts.map((each) => each.data[0]), sizes)),
  scan: (inputs, { constants, carried, length, reverse, body }, outs) => {
    const fixed = inputs.slice(0, constants), stacked = inputs.slice(constants + carried);
    let carry = inputs.slice(constants, constants + carried);
    for (let turn = 0; turn < length; turn++) {
      const at = reverse ? length - 1 - turn : turn;
      const rows = stacked.map((x) => {
        const size = x.data.length / length;
        return { shape: x.shape.slice(1), dtype: x.dtype, data: x.data.subarray(at * size, (at + 1) * size) };
      });
      const results = runBody(body, [...fixed, ...carry, ...rows]);
      carry = results.slice(0, carried);
      results.slice(carried).forEach((row, i) => outs[carried + i].data.set(row.data, at * row.data.length));
    }
    carry.forEach((each, i) => { outs[i].data = each.data; });
  },
};
for (const [name, compute] of Object.entries(UNARY)) {
  PRIMITIVES[name] = ([x], _, [out]) => elementwise(out, [x], compute);
}
for (const [name, compute] of Object.entries(BINARY)) {
  PRIMITIVES[name] = ([a, b], _, [out]) => elementwise(out, [a, b], compute);
}

// ---- programs -----------------------------------------------------------------------------------

function step(values, [name, inputs, outputs, params], specs) {
  const outs = outputs.map((id) => value(specs[id][1], specs[id][0]));
  PRIMITIVES[name](inputs.map((id) => values.get(id)), params, outs);
  outputs.forEach((id, i) => values.set(id, outs[i]));
}

function runBody(body, inputs) {
  const values = new Map(body.outer);
  body.inputs.forEach((id, i) => values.set(id, inputs[i]));
  for (const equation of body.steps) step(values, equation, body.specs);
  return body.outputs.map((id) => values.get(id));
}

// Numbers of the program's constants, from base64.
export function constantsOf(program, text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Map(program.constants.map(([id, offset]) => {
    const [dtype, shape] = program.specs[id], size = sizeOf(shape);
    const kind = isFloat32(dtype) ? Float32Array : Float64Array;
    return [id, value(shape, dtype, new kind(bytes.buffer, offset, size))];
  }));
}

function bind(steps, program, constants) {
  for (const [, , , params] of steps) {
    if (!params?.body) continue;
    params.body.specs = program.specs;
    params.body.outer = constants;
    bind(params.body.steps, program, constants);
  }
}

// A function from the numbers of the input to the values of all layers.
export function engineOf(program, text) {
  const constants = constantsOf(program, text);
  for (const layer of program.layers) bind(layer.steps, program, constants);
  return (numbers) => {
    const values = new Map(constants), [dtype, shape] = program.specs[program.input];
    values.set(program.input, value(shape, dtype, room(dtype, sizeOf(shape))));
    values.get(program.input).data.set(numbers);
    for (const layer of program.layers) {
      for (const equation of layer.steps) step(values, equation, program.specs);
    }
    return {
      layers: program.layers.map((layer) => values.get(layer.output)),
      outputs: program.outputs.map((id) => values.get(id)),
    };
  };
}
