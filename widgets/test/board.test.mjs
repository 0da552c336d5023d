import assert from "node:assert/strict";
import test from "node:test";
import { decades, extent, grouped, nearest, pieces, placeOf, rateOf, scales, shown } from "../src/board/chart.js";

const curve = (step, value) => ({ name: "a", group: "a", step, value, low: [], high: [] });

test("curves of one thing are drawn together", () => {
  const series = [["training loss", "loss"], ["accuracy", "accuracy"], ["validation loss", "loss"]].map(([name, group]) => ({ name, group }));
  assert.deepEqual(grouped(series).map(([group, list]) => [group, list.map((s) => s.name)]), [["loss", ["training loss", "validation loss"]], ["accuracy", ["accuracy"]]]);
});

test("the extent counts what is drawn: extremes too, gaps and on a logarithmic axis zeros not", () => {
  assert.deepEqual(extent([{ ...curve([1, 5], [2, null]), low: [-3, null], high: [9, null] }]), { first: 1, last: 5, low: -3, high: 9 });
  assert.deepEqual(extent([curve([1, 2, 3], [0, 0.5, 8])], true), { first: 1, last: 3, low: 0.5, high: 8 });
  assert.deepEqual(extent([curve([1, 2], [590, 600])], false, true), { first: 1, last: 2, low: 0, high: 600 });
  assert.equal(extent([curve([1], [null])]), null);
  assert.equal(extent([curve([1], [-1])], true), null);
  assert.equal(extent([]), null);
});

test("scales go from corner to corner, and back", () => {
  const box = { x: 10, y: 20, width: 100, height: 50 };
  for (const log of [false, true]) {
    const { px, py, step } = scales({ first: 3, last: 13, low: 0.1, high: 10 }, box, log);
    assert.deepEqual([px(3), px(13), py(0.1), py(10)], [10, 110, 70, 20]);
    assert.ok(Math.abs(step(px(7)) - 7) < 1e-9);
    assert.ok(Math.abs(py(1) - (log ? 45 : 70 - (50 * 0.9) / 9.9)) < 1e-9);
  }
  const flat = scales({ first: 3, last: 3, low: 2, high: 2 }, box);
  assert.ok([flat.px(3), flat.py(2)].every(Number.isFinite));
});

test("gaps break a line", () => {
  const { px, py } = { px: (s) => s, py: (v) => v };
  const lengths = (values, log) => pieces(curve([1, 2, 3, 4, 5], values), values, { px, py }, log).map((piece) => piece.length);
  assert.deepEqual(lengths([1, 2, null, 3, 4]), [2, 2]);
  assert.deepEqual(lengths([null, null, 1, null, null]), [1]);
  assert.deepEqual(lengths([1, 0, 2, -1, 3], true), [1, 1, 1]);
  assert.deepEqual(lengths([null, null, null, null, null]), []);
});

test("the nearest step, against looking at all", () => {
  for (let trial = 0; trial < 200; trial++) {
    const steps = [...new Set(Array.from({ length: 1 + (trial % 9) }, (_, k) => (k * 7 + trial * 3) % 31))].sort((a, b) => a - b);
    const at = (trial * 5) % 40;
    const far = (k) => Math.abs(steps[k] - at);
    assert.equal(far(nearest(steps, at)), Math.min(...steps.map((_, k) => far(k))));
  }
  assert.equal(nearest([], 3), -1);
});

test("the newest alone have no extremes", () => {
  const one = { ...curve([1, 3], [1, 2]), low: [0, 0], high: [3, 3], recent: { step: [3], value: [2.5] } };
  assert.deepEqual(shown(one, true).value, [2.5]);
  assert.deepEqual(shown(one, true).low, []);
  assert.equal(shown(one, false), one);
});

test("the slider of the learning rate", () => {
  assert.equal(rateOf(0), 1e-6);
  assert.equal(rateOf(100), 10);
  for (const rate of [1e-5, 0.001, 0.01, 0.1, 1]) assert.ok(Math.abs(Math.log10(rateOf(Math.round(placeOf(rate))) / rate)) < 0.06, rate);
  assert.equal(placeOf(1e-9), 0);
});

test("ticks of a logarithmic axis", () => {
  assert.deepEqual(decades(0.02, 150), [0.1, 1, 10, 100]);
  assert.deepEqual(decades(2, 3), [2, 3]);
});
