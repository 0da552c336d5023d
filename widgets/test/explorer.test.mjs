import assert from "node:assert/strict";
import test from "node:test";
import { attention, convolution, convolutionTerms, filterOf, outputSize, poolingCell, sizeText, sum, windowOf } from "../src/explorer/compute.js";
import { boundsOf, brief, CELL, cellAt, pickOf, sceneOf } from "../src/explorer/scene.js";
import { divisors, limits, settle, weightsOf } from "../src/explorer/settings.js";

const picture = [[1, 2, 3, 0], [4, 5, 6, 0], [7, 8, 9, 0], [0, 0, 0, 1]];
const convolved = { operator: "convolution", input: [picture, picture] };
const state = { kernel: 3, stride: 1, pad: 1, dilate: 1, channels: 2, filter: 2, at: [0, 0] };

test("sizes by hand", () => {
  assert.equal(outputSize(8, { kernel: 3, stride: 2, pad: 0 }), 3);
  assert.equal(outputSize(8, { kernel: 3, stride: 2, pad: 0, convention: "full" }), 4);
  assert.equal(outputSize(7, { kernel: 3, stride: 1, pad: 1, dilate: 2 }), 5);
  assert.equal(outputSize(2, { kernel: 3, stride: 1, pad: 0 }), 0);
  assert.equal(sizeText(8, { kernel: 3, stride: 2, pad: 0 }), "⌊(8 + 2·0 − 3) / 2⌋ + 1 = 3");
  assert.equal(sizeText(8, { kernel: 3, stride: 2, pad: 1, dilate: 2 }), "⌊(8 + 2·1 − 2·(3 − 1) − 1) / 2⌋ + 1 = 3");
});

test("the window of a cell", () => {
  const cells = windowOf(4, 4, 0, 1, { kernel: 2, stride: 2, pad: 1, dilate: 2 });
  assert.deepEqual(cells.map(({ y, x, inside }) => [y, x, inside]), [[-1, 1, false], [-1, 3, false], [1, 1, true], [1, 3, true]]);
});

test("the written sum is the number that is shown", () => {
  const weights = weightsOf(convolved, state), out = convolution(convolved.input, weights, state);
  const terms = convolutionTerms(convolved.input, weights, 2, 1, state);
  assert.equal(terms.length, 18);
  assert.equal(sum(terms.map((term) => term.product)), out[2][1]);
  assert.ok(Math.abs(out[1][1] - 2 * (45 / 9)) < 1e-12); // the mean of 1 to 9, in both channels
});

test("filters for every kernel", () => {
  for (let size = 1; size <= 7; size += 1) {
    assert.ok(Math.abs(sum(filterOf("blur", size).flat()) - 1) < 1e-12);
    if (size > 1) assert.ok(Math.abs(sum(filterOf("vertical edges", size).flat())) < 1e-12);
  }
});

test("pooling says which cell won, and what a mean counts", () => {
  const options = { kernel: 2, stride: 2, pad: 1, convention: "valid" };
  const { best, value } = poolingCell(picture, 1, 1, { ...options, type: "max" });
  assert.deepEqual([best.y, best.x, value], [2, 2, 9]);
  assert.equal(poolingCell(picture, 0, 0, { ...options, type: "avg", includePad: true }).count, 4);
  assert.equal(poolingCell(picture, 0, 0, { ...options, type: "avg", includePad: false }).count, 1);
});

test("masked keys have no weight", () => {
  const rows = [[1, 0], [0, 1], [1, 1]];
  const { scores, weights } = attention(rows, rows, rows, { mask: "causal" });
  assert.deepEqual(weights[0], [1, 0, 0]);
  assert.equal(scores[1][2], -Infinity);
  for (const row of weights) assert.ok(Math.abs(sum(row) - 1) < 1e-12);
  assert.equal(attention(rows, rows, rows, { mask: "length", length: 2 }).weights[0][2], 0);
});

test("sliders stay within what holds", () => {
  const settled = settle(convolved, { ...state, kernel: 7, dilate: 3, pad: 0 });
  assert.equal(settled.kernel, 4);
  assert.ok(outputSize(4, settled) >= 1);
  const pooled = settle({ operator: "pooling", input: [picture] }, { kernel: 1, stride: 9, pad: 3 });
  assert.deepEqual([pooled.stride, pooled.pad], [4, 0]);
  assert.deepEqual(divisors(8), [1, 2, 4, 8]);
  assert.deepEqual(limits({ operator: "attention", queries: [[1]], keys: [[1]], values: [[1]] }, { heads: 1, keys: 1 }).head, [0, 0]);
});

test("a scene: what is lit and where a click leads", () => {
  const scene = sceneOf(convolved, { ...state, at: [1, 1] });
  const [first] = scene.panes, out = scene.panes.at(-1);
  const lit = [];
  for (let i = 0; i < first.rows; i += 1) for (let j = 0; j < first.columns; j += 1) if (first.lit(i, j)) lit.push([i - 1, j - 1]);
  assert.deepEqual(lit, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2], [2, 0], [2, 1], [2, 2]]);
  const at = cellAt(scene, out.x + 2.5 * CELL, out.y + 3.5 * CELL);
  assert.deepEqual(pickOf(scene, state, at), { at: [3, 2], pane: "out" });
  assert.equal(cellAt(scene, -50, -50), null);
  const box = boundsOf(scene);
  for (const pane of scene.panes) assert.ok(pane.x + pane.columns * CELL <= box.x + box.width && pane.y + pane.rows * CELL <= box.y + box.height);
});

test("every cell of every result is explained", () => {
  const random = (rows, columns) => Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => Math.sin(7 * i + 3 * j)));
  const tokens = { operator: "attention", queries: random(3, 4), keys: random(5, 4), values: random(5, 4), words: ["a", "b", "c", "d", "e"] };
  for (const pane of ["out", "scores"]) {
    for (let row = 0; row < 3; row += 1) {
      const scene = sceneOf(tokens, { queries: 3, keys: 5, heads: 2, head: 1, mask: "causal", length: 5, at: [row, 1], pane });
      assert.ok(scene.head && scene.total, pane);
    }
  }
  for (const type of ["max", "avg"]) {
    const scene = sceneOf({ operator: "pooling", input: [picture] }, { kernel: 3, stride: 2, pad: 1, type, convention: "full", include_pad: false, at: [9, 9] });
    assert.equal(scene.rows.length, 9);
    assert.match(scene.total, /=|padding|nothing/);
  }
});

test("what rounding alone leaves is 0", () => {
  assert.equal(sum([0.1, 0.2, -0.3]), 0);
  assert.equal(sum([1e-12, 2e-12]), 3e-12, "small numbers that do not cancel stay");
});

test("a number fits into its cell", () => {
  const texts = [1.4552, -0.333, 0.00141, -0.00141, 1.11e-16, -123456, 0].map(brief);
  assert.deepEqual(texts, ["1.46", "-0.33", "0.001", "-1e-3", "1e-16", "-1e5", "0"]);
});
