// Convolution, pooling and attention with the numbers that mixnet's operators give: arrays as nested lists.
import { rounded } from "../core/format.js";


// How many places a window has along an axis; "full" keeps a last place that lies partly outside.
export function outputSize(extent, { kernel, stride, pad, dilate = 1, convention = "valid" }) {
  const free = extent + 2 * pad - dilate * (kernel - 1) - 1;
  if (free < 0) return 0;
  return (convention === "full" ? Math.ceil(free / stride) : Math.floor(free / stride)) + 1;
}

// The same as text, with the numbers in.
export function sizeText(extent, { kernel, stride, pad, dilate = 1, convention = "valid" }) {
  const inner = `(${extent} + 2·${pad} − ${dilate > 1 ? `${dilate}·(${kernel} − 1) − 1` : kernel}) / ${stride}`;
  const round = convention === "full" ? ["⌈", "⌉"] : ["⌊", "⌋"];
  return `${round[0]}${inner}${round[1]} + 1 = ${outputSize(extent, { kernel, stride, pad, dilate, convention })}`;
}

// The cells of the input that an output cell looks at: {y, x, i, j}, where i, j is the place in the kernel.
// Cells in the padding have inside: false; those that only a last partial window adds have beyond: true.
export function windowOf(height, width, row, column, { kernel, stride, pad, dilate = 1 }) {
  const cells = [];
  for (let i = 0; i < kernel; i += 1) {
    for (let j = 0; j < kernel; j += 1) {
      const y = row * stride - pad + i * dilate, x = column * stride - pad + j * dilate;
      cells.push({
        y, x, i, j,
        inside: y >= 0 && x >= 0 && y < height && x < width,
        beyond: y >= height + pad || x >= width + pad,
      });
    }
  }
  return cells;
}

// The products of one output cell: [{channel, y, x, i, j, inside, value, weight, product}].
export function convolutionTerms(input, weights, row, column, options) {
  return input.flatMap((plane, channel) =>
    windowOf(plane.length, plane[0].length, row, column, options).map((cell) => {
      const value = cell.inside ? plane[cell.y][cell.x] : 0, weight = weights[channel][cell.i][cell.j];
      return { ...cell, channel, value, weight, product: value * weight };
    }),
  );
}

// One filter over all channels: (channels, height, width) with (channels, kernel, kernel).
export function convolution(input, weights, options) {
  const rows = outputSize(input[0].length, options), columns = outputSize(input[0][0].length, options);
  return grid(rows, columns, (row, column) => sum(convolutionTerms(input, weights, row, column, options).map((term) => term.product)));
}

// What one place of a pooling window sees, and what it gives: {cells, value, count, best}.
export function poolingCell(plane, row, column, options) {
  const cells = windowOf(plane.length, plane[0].length, row, column, options).map((cell) => ({ ...cell, value: cell.inside ? plane[cell.y][cell.x] : 0 }));
  const inside = cells.filter((cell) => cell.inside);
  if (options.type === "max") {
    const best = inside.reduce((a, b) => (a && a.value >= b.value ? a : b), null);
    return { cells, best, count: inside.length, value: best ? best.value : -3.4028234663852886e38 };
  }
  const count = options.includePad ? cells.filter((cell) => !cell.beyond).length : inside.length;
  return { cells, best: null, count, value: sum(inside.map((cell) => cell.value)) / Math.max(count, 1) };
}

export function pooling(plane, options) {
  const rows = outputSize(plane.length, options), columns = outputSize(plane[0].length, options);
  return grid(rows, columns, (row, column) => poolingCell(plane, row, column, options).value);
}

// One head: queries (queries, size), keys and values (keys, size); mask "none", "causal" or "length".
// Gives {scores, weights, out}; scores that are masked are -Infinity, their weights 0.
export function attention(queries, keys, values, { mask = "none", length = keys.length } = {}) {
  const scale = 1 / Math.sqrt(queries[0].length);
  const hidden = (q, k) => (mask === "causal" ? k > q : mask === "length" ? k >= length : false);
  const scores = queries.map((query, q) => keys.map((key, k) => (hidden(q, k) ? -Infinity : scale * sum(query.map((number, d) => number * key[d])))));
  const weights = scores.map(softmax);
  const out = weights.map((row) => values[0].map((_, d) => sum(row.map((weight, k) => weight * values[k][d]))));
  return { scores, weights, out };
}

export function softmax(row) {
  const top = Math.max(...row);
  const powers = row.map((number) => Math.exp(number - top)), total = sum(powers);
  return powers.map((number) => number / total);
}

// The part of each row that a head sees.
export function headOf(rows, head, heads) {
  const size = rows[0].length / heads;
  return rows.map((row) => row.slice(head * size, (head + 1) * size));
}

// Filters that show something, for any kernel; `size` × `size`, as filter_of in explorer.py.
export const FILTERS = ["vertical edges", "horizontal edges", "blur", "sharpen"];
export function filterOf(name, size) {
  const middle = (size - 1) / 2, area = size * size;
  const cell = (i, j) => {
    if (name === "vertical edges") return size === 1 ? 1 : (j - middle) / size;
    if (name === "horizontal edges") return size === 1 ? 1 : (i - middle) / size;
    if (name === "blur") return 1 / area;
    return (i === Math.floor(middle) && j === Math.floor(middle) ? 2 : 0) - 1 / area;
  };
  return grid(size, size, cell);
}

export function grid(rows, columns, value) {
  return Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => value(i, j)));
}

// What rounding alone leaves of terms that cancel is 0, not 1.11e-16.
export function sum(numbers) {
  return rounded(numbers.reduce((a, b) => a + b, 0), numbers.reduce((size, each) => size + Math.abs(each), 0));
}
