import assert from "node:assert/strict";
import { test } from "node:test";
import { aliveAt, coShared, levelAt, nameOf, prepare, samePlace, stairs, than, timesAndLevels, visible } from "../src/memory/plan.js";

// Four arrays over five steps: b takes over a's storage in place; d lies where that was.
const graph = {
  length: 5,
  regions: [],
  steps: { name: ["a", "b", "c", "d"], op: [0, 0, 0, 0], source: [-1, -1, -1, -1] },
  arrays: { step: [0, 1, 2, 3], index: [-1, -1, 1, -1], shape: [], dtype: [], bytes: [8, 8, 4, 6], begin: [0, 1, 1, 3], end: [2, 3, 5, 5], kind: ["F", "A", "B", "O"] },
};
const plan = { name: "both", graph: 0, total: 12, peak: { at: 1, bytes: 12 }, storage: [0, 0, 1, 2], offset: [0, 8, 0], size: [8, 4, 6] };
const payload = { graphs: [graph], plans: [plan] };
const p = prepare(payload, plan);

test("boxes end where they are overwritten in place", () => {
  assert.equal(p.end[0], 1);
  assert.equal(p.end[1], 3);
  assert.deepEqual([p.previous[1], p.next[0], p.next[1]], [0, 1, -1]);
});

test("what is needed at each step", () => {
  assert.deepEqual(p.curve, [[0, 8], [1, 12], [3, 10], [5, 0]]);
  assert.deepEqual([0, 1, 2, 3, 4, 5].map((t) => levelAt(p.curve, t)), [8, 12, 12, 10, 10, 0]);
  assert.deepEqual(aliveAt(p, 2), [1, 2]);
  assert.deepEqual(aliveAt(p, 0), [0]);
  assert.deepEqual(aliveAt(p, 4), [3, 2]);
});

test("memory is given on to the next storage that lies there", () => {
  assert.deepEqual(coShared(p, 2, true), [0]);
  assert.deepEqual(coShared(p, 0, false), [2]);
  assert.deepEqual(coShared(p, 1, true), []);
});

test("only the nearest in time at each address", () => {
  // s0, then s1 and s2 over its halves, then s3 over both.
  const arrays = { ...graph.arrays, bytes: [8, 4, 4, 8], begin: [0, 2, 3, 4], end: [1, 3, 4, 5], index: [-1, -1, -1, -1] };
  const one = { ...plan, storage: [0, 1, 2, 3], offset: [0, 0, 4, 0], size: [8, 4, 4, 8] };
  const q = prepare({ ...payload, graphs: [{ ...graph, arrays }] }, one);
  assert.deepEqual(coShared(q, 3, true).sort(), [1, 2]);
  assert.deepEqual(coShared(q, 0, false), [1, 2]);
});

test("names, and the same array in another graph", () => {
  assert.equal(nameOf(graph, 2), "c[1]");
  const other = { ...graph, arrays: { ...graph.arrays, step: [3, 2], index: [-1, 1] } };
  assert.equal(samePlace(graph, other, 2), 1);
  assert.equal(samePlace(graph, other, 0), null);
  assert.equal(samePlace(graph, graph, 0), 0);
});

test("culling keeps the largest and counts all", () => {
  assert.deepEqual(visible(p, 3, 5, 0, 12, 1), { shown: [2], count: 2 });
  assert.deepEqual(visible(p, 0, 1, 0, 12, 9).shown, [0]);
});

test("events in place of time", () => {
  const live = { ...graph, arrays: { ...graph.arrays, begin: [0, 100, 100, 5000], end: [100, 101, 6000, 6000] } };
  const q = prepare({ ...payload, graphs: [live] }, { ...plan, peak: { at: 5000, bytes: 0 }, storage: [0, 1, 2, 3], offset: [0, 0, 8, 0], size: [8, 8, 4, 6] }, true);
  assert.deepEqual([...q.begin], [0, 1, 1, 3]);
  assert.deepEqual([q.peakAt, q.length, q.timeOf(3)], [3, 4, 5000]);
});

test("a curve in few corners keeps its extremes", () => {
  const points = Array.from({ length: 1000 }, (_, i) => [i, i === 501 ? 99 : i % 2]);
  const found = stairs(timesAndLevels(points), 0, 1000, 50);
  assert.ok(found.length < 120);
  assert.equal(Math.max(...found.map(([, level]) => level)), 99);
});

test("sizes are compared with three digits", () => {
  assert.deepEqual([[72000, 48], [3650, 1000], [100, 250], [24, 24], [0, 0]].map((pair) => than(...pair)), ["1500 times less", "3.65 times less", "2.5 times more", "the same", "the same"]);
});
