import assert from "node:assert/strict";
import test from "node:test";
import { adjacency, criticalPath, edges, endOf, events, heldBy, lastEvent, neighbourhood, startOf } from "../src/timeline/graph.js";
import { firstAfter, layout, visible } from "../src/timeline/layout.js";

// Operations as [ran, reads, writes]; they run one after the other, versions counted as the engine does.
function runOf(list) {
  const version = {}, names = [], numbers = {};
  const deps = { op: [], var: [], mode: [], version: [] };
  const note = (op, name, mode) => {
    if (!(name in numbers)) numbers[name] = names.push(name) - 1;
    deps.op.push(op), deps.var.push(numbers[name]), deps.mode.push(mode), deps.version.push(version[name] ?? 0);
  };
  let t = 0;
  const ops = { pushed: [], queued: [], waited: [], ran: [], lane: [], depth: [], seat: [], name: [], kind: [] };
  list.forEach(([ran, reads, writes], i) => {
    for (const name of reads) note(i, name, 0);
    for (const name of writes) {
      version[name] = (version[name] ?? 0) + 1;
      note(i, name, 1);
    }
    ops.pushed.push(0), ops.queued.push(t), ops.waited.push(1), ops.ran.push(ran), ops.lane.push(0), ops.depth.push(0), ops.seat.push(-1), ops.name.push(0), ops.kind.push(0);
    t += 1 + ran;
  });
  return { ops, deps, vars: { name: names.map((_, k) => k) }, strings: names, lanes: [{ name: "a", kind: "compute", depth: 1, seats: 1 }], span: t, of: list.length, first: 0 };
}

const pairs = (run) => {
  const found = edges(run);
  return found.from.map((a, k) => `${a}>${found.to[k]} ${run.strings[found.via[k]]}`).sort();
};

test("who waits for whom, by hand", () => {
  const run = runOf([
    [1, [], ["a"]], // 0 makes a
    [1, ["a"], ["b"]], // 1 and 2 read it
    [1, ["a"], ["c"]],
    [1, [], ["a"]], // 3 writes it again: after both readers
    [1, [], ["a"]], // 4 once more: nobody read what 3 wrote
    [1, ["b", "c"], []],
  ]);
  assert.deepEqual(pairs(run), ["0>1 a", "0>2 a", "1>3 a", "1>5 b", "2>3 a", "2>5 c", "3>4 a"]);
});

// A generator of random numbers that gives the same ones each time.
function dice(seed) {
  return (n) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * n);
  };
}

function randomProgram(roll) {
  const some = () => ["a", "b", "c", "d"].filter(() => roll(3) === 0);
  return Array.from({ length: 1 + roll(14) }, () => {
    const writes = some();
    return [1 + roll(9), some().filter((name) => !writes.includes(name)), writes];
  });
}

// All that must come before an operation, by the meaning: an earlier one that conflicts.
function truth(list) {
  const before = list.map(() => new Set());
  list.forEach(([, reads, writes], i) => {
    for (let j = 0; j < i; j++) {
      const [, otherReads, otherWrites] = list[j];
      const clash = otherWrites.some((name) => reads.includes(name) || writes.includes(name)) || otherReads.some((name) => writes.includes(name));
      if (clash) [j, ...before[j]].forEach((k) => before[i].add(k));
    }
  });
  return before;
}

test("random programs: edges say what serial order demands, and nothing else", () => {
  const roll = dice(7);
  for (let trial = 0; trial < 300; trial++) {
    const list = randomProgram(roll), run = runOf(list), found = edges(run), before = list.map(() => new Set());
    const { into } = adjacency(found, list.length);
    list.forEach((_, i) => into[i].forEach((k) => [found.from[k], ...before[found.from[k]]].forEach((j) => before[i].add(j))));
    assert.deepEqual(before.map((s) => [...s].sort((a, b) => a - b)), truth(list).map((s) => [...s].sort((a, b) => a - b)));
  }
});

test("random programs: the longest chain is the best of all chains", () => {
  const roll = dice(11);
  for (let trial = 0; trial < 200; trial++) {
    const list = randomProgram(roll), run = runOf(list), before = truth(list);
    const best = [];
    list.forEach(([ran], i) => best.push(ran + Math.max(0, ...[...before[i]].map((j) => best[j]))));
    const path = criticalPath(run);
    assert.equal(path.reduce((sum, i) => sum + list[i][0], 0), Math.max(...best));
    path.slice(1).forEach((i, k) => assert.ok(before[i].has(path[k])));
  }
});

test("nothing was pushed", () => {
  assert.deepEqual(criticalPath(runOf([])), []);
  assert.deepEqual(events([runOf([])]), []);
});

test("neighbours within hops, in both directions", () => {
  const chain = runOf([[1, [], ["a"]], [1, ["a"], ["b"]], [1, ["b"], ["c"]], [1, ["c"], ["d"]], [1, ["d"], ["e"]], [1, ["a"], ["f"]]]);
  const found = edges(chain), by = adjacency(found, 6);
  const at = (hops) => [...neighbourhood(found, by, 2, hops).ops].sort();
  assert.deepEqual(at(1), [1, 2, 3]);
  assert.deepEqual(at(2), [0, 1, 2, 3, 4]); // 5 is a sibling: neither before nor after 2
  const walked = (hops) => neighbourhood(found, by, 2, hops).edges.size;
  assert.equal(walked(1), 2);
  assert.equal(walked(2), 4);
});

test("what held an operation up", () => {
  const run = runOf([[5, [], ["a"]], [9, [], ["b"]], [1, ["a", "b"], []]]);
  const found = edges(run), by = adjacency(found, 3);
  assert.equal(run.strings[found.via[heldBy(run, found, by, 2)]], "b");
  run.ops.pushed[2] = 1000; // pushed when all was done
  assert.equal(heldBy(run, found, by, 2), -1);
});

test("the replay: all events in order, each thing four times", () => {
  const run = runOf([[5, [], ["a"]], [9, ["a"], []]]), all = events([run, run]);
  assert.equal(all.length, 16);
  assert.ok(all.every((event, k) => !k || all[k - 1][0] <= event[0]));
  for (const r of [0, 1]) for (const i of [0, 1]) assert.deepEqual(all.filter((e) => e[2] === i && e[3] === r).map((e) => e[1]), [0, 1, 2, 3]);
  assert.equal(lastEvent(all, -1), -1);
  assert.equal(lastEvent(all, 1e9), 15);
  assert.equal(all[lastEvent(all, 6)][0], 6);
});

test("bars below a pixel are joined; none is lost, none is drawn twice", () => {
  const list = Array.from({ length: 5000 }, () => [3, [], []]), run = runOf(list), { ops } = run;
  const row = layout([run]).runs[0].lanes[0].bars[0];
  const drawn = (width, t0, t1) => {
    const found = [];
    visible(row, t0, t1, width / (t1 - t0), (...bar) => found.push(bar));
    return found;
  };
  const far = drawn(1000, 0, run.span);
  assert.ok(far.length < 20, `${far.length} bars`);
  assert.ok(far[0][0] < 2 && far.at(-1)[1] > 998);
  const close = drawn(1000, 400, 440);
  assert.deepEqual(close.filter((bar) => !bar[3]).map((bar) => bar[2]), [...Array(ops.ran.length).keys()].filter((i) => endOf(ops, i) > 400 && startOf(ops, i) <= 440));
});

test("searching ends", () => {
  assert.equal(firstAfter([1, 3, 5], 3), 2);
  assert.equal(firstAfter([1, 3, 5], 9), 3);
});
