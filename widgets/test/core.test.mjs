import assert from "node:assert/strict";
import test from "node:test";
import { broughtIn, clampCamera, fitCamera, zoomAt } from "../src/core/camera.js";
import { tokens } from "../src/core/dom.js";
import { bytes, howMany, count, seconds, shape, short, shorterName } from "../src/core/format.js";

test("numbers for people", () => {
  assert.equal(bytes(0), "0 B");
  assert.equal(bytes(1536), "1.54 kB");
  assert.equal(bytes(2.5e9), "2.5 GB");
  assert.equal(count(1.234e6), "1.23 M");
  assert.equal(seconds(0.00052), "520 µs");
  assert.equal(seconds(12), "12 s");
  assert.equal(shape([2, 3]), "2×3");
  assert.equal(shape([]), "scalar");
  assert.equal(short("abcdef", 4), "abc…");
  assert.equal(shorterName("conv_relu_0", 8), "conv…u_0");
  assert.equal(shorterName("conv0", 8), "conv0");
  assert.deepEqual([0, 1, 1200].map((n) => howMany(n, "step")), ["0 steps", "1 step", "1,200 steps"]);
  assert.deepEqual(["box", "match", "pass", "query", "array"].map((of) => howMany(1, of)), ["1 box", "1 match", "1 pass", "1 query", "1 array"]);
  assert.deepEqual(["box", "match", "pass", "query", "array"].map((of) => howMany(2, of)), ["2 boxes", "2 matches", "2 passes", "2 queries", "2 arrays"]);
});

test("a line of a program breaks between tokens", () => {
  assert.deepEqual(tokens("nn.Dense(units=8), 1.5e-3"), ["nn", ".Dense(", "units=8), 1.5e-3"]);
  assert.deepEqual(tokens("a_long_name"), ["a_long_name"]);
  assert.deepEqual(tokens("f((1, 2))[-1]"), ["f(", "(1, 2))[-1]"]);
});

test("zooming keeps the point under the pointer", () => {
  const camera = { x: 10, y: 20, kx: 2, ky: 2 };
  const at = { x: 35, y: 60 };
  const next = zoomAt(camera, at, 1.7);
  assert.ok(Math.abs((at.x - next.x) * next.kx - (at.x - camera.x) * camera.kx) < 1e-9);
  assert.ok(Math.abs((at.y - next.y) * next.ky - (at.y - camera.y) * camera.ky) < 1e-9);
});

test("a fitted camera sees everything", () => {
  const box = { x: -5, y: 3, width: 900, height: 4000 }, size = { width: 600, height: 400 };
  const camera = fitCamera(box, size);
  assert.ok(camera.x <= box.x && camera.y <= box.y);
  assert.ok((box.x + box.width - camera.x) * camera.kx <= size.width);
  assert.ok((box.y + box.height - camera.y) * camera.ky <= size.height);
});

test("what is in sight, or fills it, stays where it is; anything else comes to the middle", () => {
  assert.equal(broughtIn(100, 50, 110, 20), 100);
  assert.equal(broughtIn(100, 50, 90, 200), 100);
  assert.equal(broughtIn(100, 50, 140, 20), 125);
  assert.equal(broughtIn(100, 50, 0, 10), -20);
  assert.equal(broughtIn(100, 50, 120, 200), 195);
});

test("a clamped camera keeps something in sight", () => {
  const box = { x: 0, y: 0, width: 100, height: 100 }, size = { width: 200, height: 200 };
  const camera = clampCamera({ x: 1e6, y: -1e6, kx: 1, ky: 1 }, box, size);
  assert.ok(camera.x < box.x + box.width && camera.x + size.width / camera.kx > box.x);
  assert.ok(camera.y < box.y + box.height && camera.y + size.height / camera.ky > box.y);
});
