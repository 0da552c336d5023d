// Who waits for whom: edges from the versions of variables, what lies a few edges away, the longest chain.
// The same rules as mixnet/widgets/timeline/data.py; `run` is one of the payload's runs.

// Edges in columns: from[k] must end before to[k] starts, because of variable via[k].
export function edges(run) {
  const { op, var: variable, mode, version } = run.deps;
  const key = (v, n) => v * 67108864 + n;
  const writer = new Map(), readers = new Map();
  for (let k = 0; k < op.length; k++) {
    const id = key(variable[k], version[k]);
    if (mode[k]) writer.set(id, op[k]);
    else if (readers.has(id)) readers.get(id).push(op[k]);
    else readers.set(id, [op[k]]);
  }
  const from = [], to = [], via = [];
  const add = (a, b, v) => (from.push(a), to.push(b), via.push(v));
  for (let k = 0; k < op.length; k++) {
    const earlier = key(variable[k], version[k] - mode[k]); // the version that was there before
    if (mode[k] && readers.has(earlier)) for (const reader of readers.get(earlier)) add(reader, op[k], variable[k]);
    else if (writer.has(earlier)) add(writer.get(earlier), op[k], variable[k]);
  }
  return { from, to, via };
}

// For each operation the numbers of the edges that come in and go out.
export function adjacency({ from, to }, count) {
  const into = Array.from({ length: count }, () => []), out = Array.from({ length: count }, () => []);
  for (let k = 0; k < from.length; k++) {
    into[to[k]].push(k);
    out[from[k]].push(k);
  }
  return { into, out };
}

// Operations at most `hops` edges before or after `start`, and the edges on the way.
export function neighbourhood(links, { into, out }, start, hops) {
  const reach = new Set([start]), used = new Set();
  for (const [steps, end] of [[into, links.from], [out, links.to]]) {
    let front = [start];
    const visited = new Set(front);
    for (let hop = 0; hop < hops && front.length; hop++) {
      const next = [];
      for (const at of front) {
        for (const k of steps[at]) {
          used.add(k);
          if (!visited.has(end[k])) next.push(end[k]);
          visited.add(end[k]);
          reach.add(end[k]);
        }
      }
      front = next;
    }
  }
  return { ops: reach, edges: used };
}

export const endOf = (ops, i) => ops.pushed[i] + ops.queued[i] + ops.waited[i] + ops.ran[i];
export const startOf = (ops, i) => ops.pushed[i] + ops.queued[i] + ops.waited[i];

// The chain of dependent operations with the largest sum of running times.
export function criticalPath(run, links = edges(run)) {
  const { ops } = run, count = ops.pushed.length;
  const order = Array.from({ length: count }, (_, i) => i).sort((a, b) => endOf(ops, a) - endOf(ops, b) || a - b);
  const place = new Array(count);
  order.forEach((op, k) => (place[op] = k));
  const { into } = adjacency(links, count);
  const length = new Array(count).fill(0), came = new Array(count).fill(-1);
  let last = -1;
  for (const op of order) {
    for (const k of into[op]) {
      const earlier = links.from[k];
      if (place[earlier] < place[op] && (came[op] < 0 || length[earlier] > length[came[op]])) came[op] = earlier;
    }
    length[op] = ops.ran[op] + (came[op] < 0 ? 0 : length[came[op]]);
    if (last < 0 || length[op] > length[last]) last = op;
  }
  const path = [];
  for (let at = last; at >= 0; at = came[at]) path.push(at);
  return path.reverse();
}

// What an operation waited for last: the dependency that ended last, if it had to wait for one at all.
export function heldBy(run, links, { into }, op) {
  const { ops } = run;
  let last = -1;
  for (const k of into[op]) if (last < 0 || endOf(ops, links.from[k]) > endOf(ops, links.from[last])) last = k;
  return last >= 0 && endOf(ops, links.from[last]) > ops.pushed[op] ? last : -1;
}

export const EVENTS = ["pushed", "ready", "started", "ended"];

// All that happened, in order of time: columns t, op, what (a number in EVENTS), run.
export function events(runs) {
  const all = [];
  runs.forEach((run, r) => {
    const { ops } = run;
    for (let i = 0; i < ops.pushed.length; i++) {
      let t = ops.pushed[i];
      all.push([t, 0, i, r]);
      all.push([(t += ops.queued[i]), 1, i, r]);
      all.push([(t += ops.waited[i]), 2, i, r]);
      all.push([t + ops.ran[i], 3, i, r]);
    }
  });
  all.sort((a, b) => a[0] - b[0] || a[3] - b[3] || a[2] - b[2] || a[1] - b[1]);
  return all;
}

// Number of the last event at or before time t, -1 before all.
export function lastEvent(all, t) {
  let low = 0, high = all.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (all[middle][0] <= t) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
