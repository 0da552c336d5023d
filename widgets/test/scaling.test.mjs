import assert from "node:assert/strict";
import { test } from "node:test";
import { behind, epoch, sized, stepParts, throughput, whatIf } from "../src/scaling/model.js";
import { links, loads, places, transfers } from "../src/scaling/topology.js";

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

test("waiting for the slowest of three exponential times", () => {
  near(behind(3), 1 / 2 + 1 / 3);
  near(stepParts({ ...model, jitter: 0.006 }, 3).waiting, 0.005);
});

// The numbers of tests/widgets/test_scaling.py: 8 workers, 2 servers of which each carries 4 times the gradients.
test("parameter servers", () => {
  const served = { ...model, overlap: 0, jitter: 1, servers: 2 };
  near(stepParts(served, 8).transfer, 2 * 4 * 0.03);
  near(stepParts(served, 8).latency, 0.004);
  assert.equal(stepParts(served, 8).waiting, 0);
  near(stepParts({ ...served, compression: 16 }, 8).transfer, (1 + 1 / 16) * 4 * 0.03);
  near(stepParts({ ...served, compression: 100 }, 1).transfer, 2 * 0.03);
  near(stepParts({ ...model, overlap: 0, compression: 100 }, 4).transfer, 1.5 * 0.03 * 0.01);
});

test("one batch for all, and what an epoch costs", () => {
  near(sized(model, 4, true).batch, 2.5);
  assert.equal(sized(model, 4, false).batch, 10);
  const { seconds, cost } = epoch(50, 4, 90_000, 2);
  near(seconds, 1800);
  near(cost, 4);
});

test("sliders of servers and of spread", () => {
  const all = [...sliders, { id: "jitter", min: -6 }];
  assert.equal(whatIf(model, all, { servers: 3 }).servers, 3);
  near(whatIf(model, all, { jitter: -2 }).jitter, 0.01);
  assert.equal(whatIf(model, all, { jitter: -6 }).jitter, 0);
});

// The closed forms of tests/distributed/test_topology.py.
const of = { buckets: [{ bytes: 1000 }, { bytes: 50 }], arrays: [{ bytes: 8000, rows: 2000, large: true }, { bytes: 40, rows: 5, large: false }] };
const sent = (made, i) => made.reduce((sum, each) => sum + (each.source === i ? each.bytes : 0), 0);

test("a ring sends 2 (n - 1) / n of the bytes, a tree what its parents and children get", () => {
  for (const n of [1, 2, 3, 4, 7, 16]) {
    const ring = transfers("ring", n, 0, of), tree = transfers("tree", n, 0, of);
    for (let i = 0; i < n; i += 1) assert.ok(Math.abs(sent(ring, i) - (2 * (n - 1) * 1050) / n) < 4 * n);
    for (const made of [ring, tree]) assert.equal(made.reduce((sum, each) => sum + each.bytes, 0), 2 * (n - 1) * 1050);
    assert.equal(sent(tree, 0), Math.min(2, n - 1) * 1050);
    assert.equal(links(ring).length, n > 1 ? n : 0);
    assert.equal(places("tree", n, 0).length, n);
    if (n > 1) assert.equal(Math.max(...ring.map((each) => each.step)) + 1, 2 * 2 * (n - 1));
  }
  assert.deepEqual(links(transfers("ring", 4, 0, of), 0).map((each) => each.bytes), [250, 250, 250, 250]);
});

test("servers: large arrays on all, small ones where there is least", () => {
  assert.deepEqual(loads(of.arrays, 2), [4040, 4000]);
  assert.deepEqual(loads([...of.arrays].reverse(), 3), [40 + 2668, 2664, 2668]);
  const made = transfers("server", 3, 2, of);
  for (let i = 0; i < 3; i += 1) assert.equal(sent(made, i), 8040);
  assert.equal(sent(made, 3), 3 * 4040);
});
