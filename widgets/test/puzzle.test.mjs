import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { dependencies, judge, letter, numbered, rests, starts } from "../src/puzzle/rules.js";

const fixtures = JSON.parse(readFileSync(new URL("../fixtures/puzzles.json", import.meta.url), "utf8"));

for (const { name, payload, answers } of fixtures) {
  test(`${name}: scores and conflicts are those of mixnet/widgets/puzzle/rules.py`, () => {
    assert.ok(answers.some((each) => each.conflicts.length) && answers.some((each) => !each.conflicts.length));
    for (const { place, score, conflicts } of answers) assert.deepEqual(judge(payload, place), { score, conflicts });
  });
}

test("where a box may rest: floor, on and below what it meets in time", () => {
  const items = [{ size: 4, begin: 0, end: 2 }, { size: 2, begin: 1, end: 3 }, { size: 1, begin: 2, end: 3 }];
  assert.deepEqual(rests({ items }, [0, 4, 0], 2), [0, 3, 6]);
  assert.deepEqual(rests({ items }, [0, 4, 0], 0), [0, 6]);
});

test("when a task may start", () => {
  const items = [{ time: 4 }, { time: 2 }];
  assert.deepEqual(starts({ items }, [[0, 0], [0, 9]], 0), [0, 5, 11]);
});

test("who waits for whom", () => {
  const items = [{ name: "a", reads: [], writes: ["x"] }, { name: "b", reads: ["x"], writes: [] }, { name: "c", reads: [], writes: ["x"] }, { name: "d", reads: [], writes: ["x"] }];
  assert.deepEqual(dependencies(items).map(([a, b]) => [a, b]), [[0, 1], [1, 2], [2, 3]]);
});

test("groups have letters by their first members", () => {
  assert.deepEqual(numbered([7, 3, 7, 0]), [0, 1, 0, 2]);
  assert.deepEqual([letter(0), letter(25), letter(26)], ["A", "Z", "A1"]);
});
