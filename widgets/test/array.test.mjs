import assert from "node:assert/strict";
import test from "node:test";
import { colour, inkOn, rangeOf, valueAt } from "../src/array.js";

test("a place tells its own number where it is stored, and about it elsewhere", () => {
  const few = { low: 0.5, high: 1000, cells: [[[254, 0, 0, 255]]], values: [[[1000, 1, 0.5, "nan"]]] };
  assert.deepEqual([0, 1, 2, 3].map((column) => valueAt(few, 0, 0, column)), ["1000", "1", "0.5", "nan"]);
  const many = { ...few, values: undefined };
  assert.deepEqual([0, 1, 3].map((column) => valueAt(many, 0, 0, column)), ["≈ 1000", "≈ 0.5", "not finite"]);
  const far = { low: -1e308, high: 1e308, cells: [[[127]]] };
  assert.equal(valueAt(far, 0, 0, 0), "≈ 0", "the distance of both is no number");
});

test("white is zero where both signs occur, and the middle of the values elsewhere", () => {
  const white = "rgb(247,247,247)", blue = "rgb(33,102,172)", red = "rgb(178,24,43)";
  const both = { low: -1, high: 3 };
  assert.equal(colour(63.5, both), white);
  assert.equal(colour(254, both), red);
  assert.equal(colour(0, both), "rgb(176,199,222)", "a third of the way to blue");
  assert.deepEqual([0, 127, 254].map((cell) => colour(cell, { low: 2, high: 4 })), [blue, white, red]);
  assert.equal(colour(127, { low: 5, high: 5 }), white);
});

test("numbers are black on pale cells and white on dark ones", () => {
  const inks = [0, 64, 127, 190, 254, 255].map((cell) => inkOn(cell, { low: 0, high: 1 }));
  assert.deepEqual(inks, ["#fff", "#000", "#000", "#000", "#fff", "#000"]);
});

test("the range says what is not finite", () => {
  assert.equal(rangeOf({ low: 0, high: 11, finite: "all" }), "0 … 11");
  assert.equal(rangeOf({ low: 1, high: 1, finite: "some" }), "1 … 1, some not finite");
  assert.equal(rangeOf({ low: null, high: null, finite: "none" }), "not finite");
  assert.equal(rangeOf({ low: null, high: null }), "", "pending");
});
