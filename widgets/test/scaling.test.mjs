import assert from "node:assert/strict";
import { test } from "node:test";
import { stepParts, throughput, whatIf } from "../src/scaling/model.js";

const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-9 * Math.abs(b) + 1e-15, `${a} is not ${b}`);

// The numbers of tests/widgets/test_scaling.py: both sides compute the same model.
const model = { t_compute: 0.01, batch: 10, serial: 0.5, alpha: 0.002, beta: 1e-8, bytes: 3e6, overlap: 0.1 };

test("a step by hand", () => {
  const parts = stepParts(model, 4);
  near(parts.compute, 0.1);
  near(parts.serial, 0.15);
  near(parts.hidden, 0.01);
  near(parts.latency, (0.012 * 47) / 57);
  near(parts.step, 0.297);
  near(throughput(model, 4), 40 / 0.297);
  near(stepParts(model, 1).step, 0.1);
});

test("packed words are gathered", () => {
  const plain = { ...model, overlap: 0 };
  near(stepParts({ ...plain, compression: 16 }, 32).transfer, stepParts(plain, 32).transfer);
  near(stepParts({ ...plain, compression: 2 }, 8).transfer, stepParts(plain, 8).transfer / 2);
  near(stepParts({ ...plain, compression: 32 }, 2).transfer, stepParts(plain, 2).transfer / 32);
});

const sliders = [{ id: "bandwidth", max: 13 }, { id: "latency", min: -7 }, { id: "bytes", value: 8 }];

test("sliders that nobody moved leave the fitted values exactly", () => {
  const found = whatIf(model, sliders, {});
  assert.equal(throughput(found, 6), throughput(model, 6));
});

test("sliders", () => {
  const found = whatIf(model, sliders, { batch: 2, bandwidth: 9, latency: -7, overlap: 0.5, compression: 2 });
  near(found.batch, 100);
  near(found.beta, 1e-9);
  assert.equal(found.alpha, 0);
  assert.equal(found.overlap, 0.5);
  assert.equal(found.compression, 2);
  assert.equal(whatIf(model, sliders, { bandwidth: 13 }).beta, 0);
  near(whatIf({ ...model, bytes: 0, beta: 0 }, sliders, { bandwidth: 9 }).bytes, 1e8);
});
