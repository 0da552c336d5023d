// What lies where: grids of cells in world coordinates, what is lit by the chosen cell, and its sum in words.
import { digits, howMany } from "../core/format.js";

// A number in the five characters that a cell has room for.
export function brief(value) {
  for (const many of [3, 2, 1]) {
    const text = digits(Number(value.toPrecision(many)));
    if (text.length <= 5) return text;
  }
  return value.toExponential(0).replace("e+", "e");
}
import { attention, convolution, convolutionTerms, headOf, outputSize, pooling, poolingCell, sizeText, windowOf } from "./compute.js";
import { weightsOf } from "./settings.js";

export const CELL = 30;
const GAP = 46;

// {panes: [{name, title, x, y, rows, columns, value(i, j), lit(i, j), pad, labels}], chosen: {...}, size: [text]}
export function sceneOf(payload, state) {
  return payload.operator === "attention" ? attentionScene(payload, state) : windowScene(payload, state);
}

function windowScene(payload, state) {
  const convolved = payload.operator === "convolution";
  const input = convolved ? payload.input.slice(0, state.channels) : payload.input.slice(0, 1);
  const weights = convolved ? weightsOf(payload, state) : null;
  const options = { kernel: state.kernel, stride: state.stride, pad: state.pad, dilate: state.dilate ?? 1, convention: state.convention ?? "valid", type: state.type, includePad: state.include_pad };
  const height = input[0].length, width = input[0][0].length, pad = state.pad;
  const out = convolved ? convolution(input, weights, options) : pooling(input[0], options);
  const [row, column] = within(state.at, out);
  const lit = out.length ? windowOf(height, width, row, column, options) : [];
  const key = (y, x) => `${y},${x}`;
  const inWindow = new Set(lit.map((cell) => key(cell.y, cell.x)));
  const cell = !convolved && out.length ? poolingCell(input[0], row, column, options) : null;
  // A partial last window looks beyond the padding: those cells are drawn too.
  const beyond = Math.max(0, (outputSize(height, options) - 1) * state.stride + (state.kernel - 1) * options.dilate + 1 - height - 2 * pad);
  const beside = Math.max(0, (outputSize(width, options) - 1) * state.stride + (state.kernel - 1) * options.dilate + 1 - width - 2 * pad);
  const rows = height + 2 * pad + beyond, columns = width + 2 * pad + beside;
  const panes = input.map((plane, c) => ({
    name: `input${c}`, title: input.length > 1 ? `input, channel ${c}` : "input", x: 0, y: c * (rows * CELL + GAP), rows, columns,
    value: (i, j) => plane[i - pad]?.[j - pad] ?? null,
    lit: (i, j) => inWindow.has(key(i - pad, j - pad)),
    best: (i, j) => cell?.best && cell.best.y === i - pad && cell.best.x === j - pad,
    note: (i, j) => (plane[i - pad]?.[j - pad] === undefined ? (i - pad >= height + pad || j - pad >= width + pad ? "beyond the padding" : "padding") : `input[${c}, ${i - pad}, ${j - pad}]`),
  }));
  let x = columns * CELL + GAP;
  if (convolved) {
    weights.forEach((plane, c) => panes.push({ name: `kernel${c}`, title: weights.length > 1 ? `kernel, channel ${c}` : "kernel", x, y: c * (rows * CELL + GAP), rows: state.kernel, columns: state.kernel, value: (i, j) => plane[i][j], lit: () => true, note: (i, j) => `w[${c}, ${i}, ${j}]` }));
    x += Math.max(state.kernel * CELL, 70) + GAP;
  }
  panes.push({ name: "out", title: `result ${out.length}×${out[0]?.length ?? 0}`, x, y: 0, rows: out.length, columns: out[0]?.length ?? 0, value: (i, j) => out[i][j], lit: (i, j) => i === row && j === column, note: (i, j) => `result[${i}, ${j}]`, picks: true });
  return {
    panes, out, row, column,
    size: [`rows: ${sizeText(height, options)}`, `columns: ${sizeText(width, options)}`],
    ...(out.length ? (convolved ? convolutionWords(input, weights, row, column, options, out) : poolingWords(cell, row, column, options)) : { head: "The kernel is larger than the input.", rows: [], total: "" }),
  };
}

function within(at, out) {
  const [row, column] = at ?? [0, 0];
  return [Math.min(row, Math.max(out.length - 1, 0)), Math.min(column, Math.max((out[0]?.length ?? 0) - 1, 0))];
}

function convolutionWords(input, weights, row, column, options, out) {
  const terms = convolutionTerms(input, weights, row, column, options);
  return {
    head: `result[${row}, ${column}] is the sum of ${howMany(terms.length, "product")}`,
    header: ["input", "value", "× kernel", "="],
    rows: terms.map((term) => [term.inside ? `[${term.channel}, ${term.y}, ${term.x}]` : "padding", digits(term.value), digits(term.weight), digits(term.product)]),
    total: `sum = ${digits(out[row][column])}`,
  };
}

function poolingWords(cell, row, column, options) {
  const rows = cell.cells.map((each) => [each.inside ? `[${each.y}, ${each.x}]` : each.beyond ? "beyond the padding" : "padding", each.inside ? digits(each.value) : options.type === "avg" && options.includePad && !each.beyond ? "0" : "not counted", each === cell.best ? "largest" : ""]);
  const total = cell.cells.reduce((a, each) => a + (each.inside ? each.value : 0), 0);
  const text = options.type === "max" ? (cell.best ? `largest = ${digits(cell.value)}` : "nothing but padding") : cell.count ? `${digits(total)} / ${cell.count} = ${digits(cell.value)}` : "nothing counts: 0";
  return { head: `result[${row}, ${column}] is the ${options.type === "max" ? "largest" : "mean"} of its window`, header: ["input", "value", "which"], rows, total: text };
}

function attentionScene(payload, state) {
  const queries = headOf(payload.queries.slice(0, state.queries), state.head, state.heads);
  const keys = headOf(payload.keys.slice(0, state.keys), state.head, state.heads), values = headOf(payload.values.slice(0, state.keys), state.head, state.heads);
  const { scores, weights, out } = attention(queries, keys, values, { mask: state.mask, length: state.length });
  const inScores = state.pane === "scores";
  const [row, column] = within(state.at, inScores ? weights : out);
  const size = keys[0].length, words = payload.words;
  const wide = (columns) => columns * CELL + GAP + 26;
  const pane = (name, title, x, y, matrix, lit, labels, more = {}) => ({ name, title, x, y, rows: matrix.length, columns: matrix[0].length, value: (i, j) => matrix[i][j], lit, labels, note: (i, j) => `${name}[${i}, ${j}]`, ...more });
  const below = Math.max(queries.length, keys.length) * CELL + GAP + 10;
  const top = [
    pane("Q", "queries", 0, 0, queries, (i) => i === row, words),
    pane("K", "keys", wide(size), 0, keys, (i) => inScores && i === column, words),
    pane("scores", "scores Q·Kᵀ / √size", 2 * wide(size), 0, scores, (i, j) => i === row && (!inScores || j === column), words, { picks: true, across: words }),
  ];
  const under = [
    pane("weights", "softmax of each row", 0, below, weights, (i, j) => i === row && (!inScores || j === column), words, { picks: true, across: words, to: "scores" }),
    pane("V", "values", wide(keys.length), below, values, (i, j) => !inScores && j === column, words),
    pane("out", "result: weights · V", wide(keys.length) + wide(size), below, out, (i, j) => !inScores && i === row && j === column, words, { picks: true }),
  ];
  const text = inScores ? scoreWords(queries, keys, scores, weights, row, column, size) : outWords(weights, values, out, row, column, words);
  return { panes: [...top, ...under], out: inScores ? weights : out, row, column, size: [`scores: ${howMany(queries.length, "query")} × ${howMany(keys.length, "key")}`, `result: ${howMany(queries.length, "query")} × ${howMany(size, "number")}`, `scale: 1 / √${size} = ${digits(1 / Math.sqrt(size))}`], ...text };
}

function scoreWords(queries, keys, scores, weights, row, column, size) {
  if (scores[row][column] === -Infinity) return { head: `query ${row} must not see key ${column}`, header: [], rows: [], total: "The mask makes the score −∞, so the weight is 0." };
  const rows = queries[row].map((number, d) => [`q[${d}]·k[${d}]`, digits(number), digits(keys[column][d]), digits(number * keys[column][d])]);
  const top = Math.max(...scores[row]);
  const below = scores[row].reduce((a, score) => a + Math.exp(score - top), 0);
  return {
    head: `score of query ${row} and key ${column}: ${howMany(size, "product")}, divided by √${size}`, header: ["numbers", "query", "× key", "="], rows,
    total: `score = ${digits(scores[row][column])}; weight = exp(${digits(scores[row][column])} − ${digits(top)}) / ${digits(below)} = ${digits(weights[row][column])}`,
  };
}

function outWords(weights, values, out, row, column, words) {
  return {
    head: `result[${row}, ${column}]: the mean of column ${column} of the values, weighted by row ${row}`, header: ["key", "weight", "× value", "="],
    rows: weights[row].map((weight, k) => [words[k], digits(weight), digits(values[k][column]), digits(weight * values[k][column])]),
    total: `sum = ${digits(out[row][column])}`,
  };
}

// The box around all panes.
export function boundsOf(scene) {
  const right = Math.max(...scene.panes.map((pane) => pane.x + Math.max(pane.columns * CELL, 90)));
  const bottom = Math.max(...scene.panes.map((pane) => pane.y + pane.rows * CELL));
  const labels = scene.panes.some((pane) => pane.labels);
  return { x: labels ? -34 : 0, y: -38, width: right + (labels ? 34 : 0), height: bottom + 38 };
}

// The cell at a point: {pane, row, column}, or null.
export function cellAt(scene, x, y) {
  for (const pane of scene.panes) {
    const row = Math.floor((y - pane.y) / CELL), column = Math.floor((x - pane.x) / CELL);
    if (row >= 0 && column >= 0 && row < pane.rows && column < pane.columns) return { pane, row, column };
  }
  return null;
}

// Where a click on a cell leads: a cell of the input shows the window that has it first.
export function pickOf(scene, state, { pane, row, column }) {
  if (pane.picks) return { at: [row, column], pane: (pane.to ?? pane.name) === "scores" ? "scores" : "out" };
  if (!pane.name.startsWith("input") || !scene.out.length) return null;
  const place = (n, most) => Math.max(0, Math.min(most - 1, Math.floor(n / state.stride)));
  return { at: [place(row, scene.out.length), place(column, scene.out[0].length)], pane: "out" };
}

