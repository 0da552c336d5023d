// Who sends how many bytes to whom in a step: the transfers of mixnet/distributed/transfers.py.

export const KINDS = [["ring", "all-reduce around a ring"], ["tree", "all-reduce along a tree"], ["server", "parameter servers"]];
export const MOST = { workers: 16, servers: 8 }; // that are drawn

const part = (size, n, chunk) => Math.floor((size * (chunk + 1)) / n) - Math.floor((size * chunk) / n);

function ring(size, n) {
  const sends = [];
  for (let step = 0; step < 2 * (n - 1); step += 1) {
    for (let i = 0; i < n; i += 1) {
      const chunk = (((i - step) % n) + n) % n;
      sends.push({ step, source: i, target: (i + 1) % n, bytes: part(size, n, chunk), does: step < n - 1 ? "add" : "copy" });
    }
  }
  return sends;
}

// The parent of worker i is worker (i - 1) / 2.
function tree(size, n) {
  const depth = Math.floor(Math.log2(n)), sends = [];
  const level = (d) => Array.from({ length: Math.max(0, Math.min(n, 2 ** (d + 1) - 1) - (2 ** d - 1)) }, (_, i) => 2 ** d - 1 + i);
  for (let step = 0; step < depth; step += 1) for (const i of level(depth - step)) sends.push({ step, source: i, target: (i - 1) >> 1, bytes: size, does: "add" });
  for (let step = 0; step < depth; step += 1) for (const i of level(step + 1)) sends.push({ step: depth + step, source: (i - 1) >> 1, target: i, bytes: size, does: "copy" });
  return sends;
}

// Bytes on each server: a small array is on the one with the fewest, the rows of a large one are on all.
export function loads(arrays, servers) {
  const sums = new Array(servers).fill(0);
  for (const { bytes, rows, large } of arrays) {
    const first = sums.indexOf(Math.min(...sums)), pieces = large ? Math.min(servers, rows) : 1;
    for (let i = 0, begin = 0; i < pieces; i += 1) {
      const end = pieces === 1 ? rows : Math.floor((rows * (i + 1)) / pieces);
      sums[(first + i) % servers] += (bytes / Math.max(rows, 1)) * (end - begin);
      begin = end;
    }
  }
  return sums;
}

// Nodes are numbers: workers from 0, then servers. `of`: {buckets, arrays}.
export function transfers(kind, n, servers, of) {
  if (kind === "server") {
    const sends = [];
    const every = loads(of.arrays, servers);
    for (const [step, does] of [[0, "push"], [1, "pull"]]) {
      for (let i = 0; i < n; i += 1) every.forEach((bytes, k) => bytes && sends.push({ step, source: step ? n + k : i, target: step ? i : n + k, bytes, does }));
    }
    return sends;
  }
  let begin = 0;
  return of.buckets.flatMap(({ bytes }, bucket) => {
    const sends = (kind === "ring" ? ring : tree)(bytes, n).map((each) => ({ ...each, bucket, step: each.step + begin }));
    begin = sends.reduce((last, each) => Math.max(last, each.step + 1), begin);
    return sends;
  });
}

// Bytes of each pair of nodes, in one step or (null) in all of them.
export function links(sends, step = null) {
  const pairs = new Map();
  for (const each of sends) {
    if (step !== null && each.step !== step) continue;
    const key = `${each.source} ${each.target}`, link = pairs.get(key) ?? { source: each.source, target: each.target, bytes: 0, does: each.does };
    link.bytes += each.bytes;
    pairs.set(key, link);
  }
  return [...pairs.values()];
}

// n points of an ellipse with equal ways between them, clockwise from the top.
export function onEllipse(n, wide, high, pieces = 720) {
  const at = (k) => [wide * Math.sin((2 * Math.PI * k) / pieces), -high * Math.cos((2 * Math.PI * k) / pieces)];
  const ways = [0];
  for (let k = 1; k <= pieces; k += 1) ways.push(ways.at(-1) + Math.hypot(at(k)[0] - at(k - 1)[0], at(k)[1] - at(k - 1)[1]));
  return Array.from({ length: n }, (_, i) => at(ways.findIndex((way) => way >= (i * ways.at(-1)) / n - 1e-9)));
}

// Where nodes are, in a picture of 560 x 280.
export function places(kind, n, servers) {
  const spread = (i, count) => (560 * (i + 0.5)) / count;
  if (kind === "ring") return onEllipse(n, 250, 115).map(([x, y]) => [280 + x, 140 + y]);
  if (kind === "tree") {
    const depth = Math.max(1, Math.floor(Math.log2(n)));
    return Array.from({ length: n }, (_, i) => {
      const d = Math.floor(Math.log2(i + 1));
      return [spread(i + 1 - 2 ** d, 2 ** d), 30 + (220 * d) / depth];
    });
  }
  return [...Array.from({ length: n }, (_, i) => [spread(i, n), 250]), ...Array.from({ length: servers }, (_, i) => [spread(i, servers), 30])];
}

// An arrow beside the one in the other direction, from border to border of two discs; and where its text is.
export function arrow([ax, ay], [bx, by], radius) {
  const long = Math.hypot(bx - ax, by - ay) || 1, ux = (bx - ax) / long, uy = (by - ay) / long;
  const [sx, sy] = [-uy * 5, ux * 5], away = radius + 3;
  const from = [ax + ux * away + sx, ay + uy * away + sy], to = [bx - ux * (away + 4) + sx, by - uy * (away + 4) + sy];
  const aside = 4 + 22 * Math.abs(uy) + 7 * Math.abs(ux); // half a text, and some room
  return { from, to, text: [from[0] + 0.4 * (to[0] - from[0]) - uy * aside, from[1] + 0.4 * (to[1] - from[1]) + ux * aside + 4] };
}
