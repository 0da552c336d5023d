import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { inSight } from "../src/core/lines.js";
import { arrange } from "../src/stepper/picture.js";
import { byRow, dedented, difference, marker, marksOf, matches, rowsOf, selectionOf, thingsAt, visible } from "../src/stepper/model.js";

// A view of Dense(16), BatchNorm, relu, relu(x) + relu(x), Dense(4): tests/widgets/test_stepper.py writes and checks it.
const payload = JSON.parse(readFileSync(new URL("../fixtures/stages.json", import.meta.url)));
const program = payload.programs[0];
const stageOf = (test_) => program.stages.findIndex(test_);
const named = (end) => program.things.findIndex((thing) => thing.name.endsWith(end));

test("passes that change nothing are stepped over", () => {
  const all = visible(program, true), some = visible(program, false);
  assert.equal(all.length, program.stages.length);
  assert.ok(some.length < all.length);
  assert.ok(some.every((i) => program.stages[i].changed !== false));
});

test("runs of lines", () => {
  const rows = byRow([[7, 2, 3, 9, 9], [8, 3, 3]]);
  assert.deepEqual([...rows.entries()].sort((a, b) => a[0] - b[0]), [[1, [7]], [2, [7, 8]], [8, [7]]]);
});

test("a merged node is told, and what it became", () => {
  const at = stageOf((stage) => stage.pass === "eliminate_common" && stage.purpose === "graph");
  const { gone } = marksOf(program, program.stages[at]);
  assert.deepEqual(gone, [{ name: "net_relu2", mark: "−", note: "merged into relu1" }]);
  const rows = rowsOf(payload, program, at);
  assert.equal(rows[0].kind, "gone");
  assert.equal(rows.filter((row) => row.kind === "node" && row.op === "relu").length, 2);
});

test("the same thing is marked in every stage", () => {
  const relu1 = named("/net_relu1"), before = stageOf((stage) => stage.pass === "recorded");
  for (const [i, stage] of program.stages.entries()) {
    if (!["graph", "pass", "jaxpr"].includes(stage.kind)) continue;
    const rows = rowsOf(payload, program, i), marked = marker(rows, i, { things: [relu1] });
    assert.ok(rows.some((_, k) => marked(k)), stage.title);
  }
  const rows = rowsOf(payload, program, before), marked = marker(rows, before, { things: [relu1] });
  assert.deepEqual(rows.filter((_, i) => marked(i)).map((row) => row.name), ["net_relu1", "net_relu2"]);
});

test("a line of the source selects what comes from it", () => {
  const [line] = payload.source[0].lines.find(([, text]) => text.includes("F.relu(self.norm(x))"));
  assert.deepEqual(thingsAt(program, 0, line).map((n) => program.things[n].name), ["net/batchnorm0_fwd", "net/net_relu0"]);
});

test("a piece that runs is marked in the program, and nothing else is", () => {
  const run = stageOf((stage) => stage.kind === "run"), hlo = stageOf((stage) => stage.kind === "hlo");
  const pieces = rowsOf(payload, program, run);
  const at = pieces.findIndex((row) => row.things.includes(named("/net_relu0")));
  const selection = selectionOf(program, pieces, run, at);
  assert.equal(selection.group, at);
  assert.deepEqual(selection.things, program.groups[at].things);
  const lines = rowsOf(payload, program, hlo), marked = marker(lines, hlo, selection);
  const texts = lines.filter((_, i) => marked(i)).map((row) => row.text);
  assert.ok(texts.some((text) => text.includes(` = `) && text.includes("fusion(")));
  assert.ok(lines.some((row, i) => !marked(i) && row.groups?.length));
  const back = selectionOf(program, lines, hlo, program.groups[at].line - 1);
  assert.equal(back.group, at);
});

test("two graphs side by side", () => {
  const stages = program.stages.flatMap((stage, i) => (stage.purpose === "graph" ? [i] : []));
  const before = rowsOf(payload, program, stages[0]), after = rowsOf(payload, program, stages.at(-1));
  const { left, right } = difference(before, after);
  assert.deepEqual(before.filter((_, i) => left[i]).map((row) => row.name), ["net_relu2"]);
  assert.deepEqual(after.filter((row, i) => right[i] === "~").map((row) => row.name), ["net__plus0"]);
});

test("the first stage shows the key and the reasons", () => {
  const text = rowsOf(payload, program, 0).map((row) => row.text).join("\n");
  assert.match(text, /data float32 32×8/);
  assert.match(text, /first trace/);
});

test("search and indentation", () => {
  const rows = rowsOf(payload, program, stageOf((stage) => stage.kind === "jaxpr"));
  assert.ok(matches(rows, "RSQRT").length > 0);
  assert.deepEqual(matches(rows, "  "), []);
  assert.deepEqual(dedented([[3, "    a"], [4, ""], [5, "      b"]]), [[3, "a"], [4, ""], [5, "  b"]]);
});

test("only what is in sight is drawn", () => {
  assert.deepEqual(inSight(0, 400, 1_000_000, 20, 8), [0, 28]);
  assert.deepEqual(inSight(20_000, 400, 1_010, 20, 8), [992, 1010]);
});

test("a stage as a picture: operations, no parameters, edges downwards", () => {
  const rows = rowsOf(payload, program, stageOf((stage) => stage.pass === "recorded"));
  const { shown, edges, x, y, boxes } = arrange(rows);
  assert.deepEqual(shown.map((i) => rows[i].name), ["dense0_fwd", "batchnorm0_fwd", "net_relu0", "net_relu1", "net_relu2", "net__plus0", "dense1_fwd"]);
  assert.deepEqual(edges.map(({ from, to }) => `${from}${to}`).sort(), ["01", "12", "23", "24", "35", "45", "56"]);
  for (const { from, to } of edges) assert.ok(y[from] + boxes[from].h < y[to]);
  assert.ok(x[3] + boxes[3].w <= x[4] || x[4] + boxes[4].w <= x[3], "side by side");
  assert.equal(arrange([]), null);
});

test("a box has room for the mark of a pass beside the operator", () => {
  const row = { kind: "node", name: "hidden", op: "FullyConnected", inputs: [] };
  const [plain, marked] = ["", "+"].map((mark) => arrange([{ ...row, mark }]).boxes[0].w);
  assert.ok(marked >= plain + 2 * 7);
});
