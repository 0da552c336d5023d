import assert from "node:assert/strict";
import { test } from "node:test";
import { aliveAt, arrayOf, chosen, index, label, leader, noted, rowOfArray, rowsOf } from "../src/look/model.js";

// x -> a -> b -> loss, planned as three steps; b came from line 4, a from lines 3 and 1 (where its layer is made).
const payload = {
  graph: { names: ["x", "a", "b", "loss"], nodes: { op: [-1, 0, 0, 1] } },
  labels: { a: "conv1", b: "conv2" },
  places: [[], [[0, 3], [0, 1]], [[0, 4]], [[0, 4]]],
  pieces: [{ rows: [1, 2] }, { rows: [3] }],
  memory: {
    plans: [{ name: "both", graph: 0 }],
    graphs: [{ steps: { name: ["a", "b", "loss"] }, arrays: { step: [0, 1, 1, 2], begin: [0, 1, 1, 2], end: [2, 3, 3, 3], bytes: [100, 40, 2, 4] } }],
  },
  engine: { runs: [{ strings: ["loss", "b", "a"], ops: { name: [2, 1, 0] } }] },
};
const x = index(payload);

test("rows, steps and tasks are told by their names", () => {
  assert.deepEqual(x.steps, [1, 2, 3]);
  assert.deepEqual(x.tasks, [1, 2, 3]);
  assert.equal(x.taskOf.get(3), 2);
  assert.equal(label(x, 1), "conv1");
  assert.equal(label(x, 3), "loss");
});

test("a line, a piece, a block and an operation are rows", () => {
  assert.deepEqual(rowsOf(x, { line: [0, 1] }), [1]);
  assert.deepEqual(rowsOf(x, { line: [0, 4] }), [2, 3]);
  assert.deepEqual(rowsOf(x, { piece: 0 }), [1, 2]);
  assert.deepEqual(rowsOf(x, { rows: [3] }), [3]);
  assert.deepEqual(rowsOf(x, { node: 0 }), [0]);
  assert.deepEqual(rowsOf(x, { node: null }), []);
  assert.equal(leader(x, [3, 2]), 2, "the first of the schedule");
});

test("time goes along with what is chosen, and the other way round", () => {
  const state = { at: 0, node: 1, wide: "graph" };
  assert.equal(chosen(x, state, { line: [0, 4] }).at, 1);
  assert.equal(chosen(x, state, { piece: 1 }).node, 3);
  assert.deepEqual(chosen(x, state, { at: 99 }), { line: null, piece: null, rows: null, node: 3, array: null, at: 2 });
  assert.equal(chosen(x, state, { node: 0 }).at, 0, "an input has no time of its own");
  assert.equal(chosen(x, { at: 2 }, { node: null }).node, null);
});

test("arrays and rows", () => {
  assert.equal(arrayOf(x, 0, 2), 1);
  assert.equal(arrayOf(x, 0, 0), -1);
  assert.equal(rowOfArray(x, 0, 2), 2);
  assert.deepEqual(aliveAt(payload.memory, 0, 1), { sum: 142, count: 3 });
  assert.deepEqual(aliveAt(payload.memory, 0, 2), { sum: 46, count: 3 });
});

test("without a plan the operations are the steps", () => {
  const bare = index({ ...payload, memory: null, engine: null });
  assert.deepEqual(bare.steps, [1, 2, 3]);
  assert.equal(bare.tasks.length, 0);
});

test("a text above the panes is there once, with all panes that are missing for it", () => {
  const missing = { engine: "Unknown shapes.", runs: "Omitted.", memory: "Unknown shapes." };
  assert.deepEqual(noted({ missing, notes: ["Unknown shapes.", "A label."] }), [
    [["engine", "memory"], "Unknown shapes."], [["runs"], "Omitted."], [[], "A label."],
  ]);
});
