// A layered drawing of boxes joined by edges that point down: ranks by the longest path, an own place in every
// rank for each long edge, few crossings by barycentres, x by least squares with distances kept.
//
// layered({boxes, edges, top, bottom, header}) ->
//   {width, height, x: [], y: [], paths: [[x, y, ...], ...]}
//   boxes    [{w, h}]: sizes
//   edges    [{from, to, fx, tx, key, weight}]: numbers of boxes, the upper one first; no cycles. fx, tx: where it leaves
//            the lower side or meets the upper side, from the left of the box; undefined: any place. Edges of one
//            box with the same key run together as far as they can. The more weight, the straighter.
//   top, bottom   numbers of boxes without height that lie on the upper and the lower border (ports)
//   header   room below the upper border
// A path has an even number of points: a vertical line from point 2i to 2i + 1, a curve to point 2i + 2, so no
// path leaves the room between two ranks but on the line of its own place.
import { addTo } from "./maps.js";

export const GAP = { box: 22, line: 9, rank: 26 };

export function layered({ boxes, edges, top = [], bottom = [], header = 0, margin = 14 }) {
  const count = boxes.length;
  if (!count) return { width: 2 * margin, height: header + 2 * margin, x: [], y: [], paths: [] };
  const rank = ranks(count, edges, new Set(top), new Set(bottom));
  const net = withDummies(boxes, edges, rank);
  const rows = order(net);
  const x = coordinates(net, rows, boxes, edges);
  return finish(net, rows, x, boxes, edges, rank, { header, margin, top, bottom });
}

// Rank of every box; ports on the first and the last one.
export function ranks(count, edges, top = new Set(), bottom = new Set()) {
  const below = Array.from({ length: count }, () => []), waiting = new Int32Array(count);
  for (const { from, to } of edges) {
    below[from].push(to);
    waiting[to]++;
  }
  const rank = new Int32Array(count), queue = [], first = top.size ? 1 : 0;
  for (let i = 0; i < count; i++) {
    rank[i] = top.has(i) ? 0 : first;
    if (!waiting[i]) queue.push(i);
  }
  for (let at = 0; at < queue.length; at++) {
    const i = queue[at];
    for (const j of below[i]) {
      rank[j] = Math.max(rank[j], rank[i] + 1);
      if (!--waiting[j]) queue.push(j);
    }
  }
  const above = new Int32Array(count);
  for (const { from, to } of edges) if (!top.has(from)) above[to]++;
  // What nothing stands above of moves down to what reads it: weights lie beside their operation.
  for (let at = queue.length - 1; at >= 0; at--) {
    const i = queue[at];
    if (above[i] || top.has(i) || !below[i].length) continue;
    let low = Infinity;
    for (const j of below[i]) if (!bottom.has(j)) low = Math.min(low, rank[j]);
    if (low < Infinity) rank[i] = Math.max(rank[i], low - 1);
  }
  let last = 0;
  for (let i = 0; i < count; i++) if (!bottom.has(i)) last = Math.max(last, rank[i]);
  for (const i of bottom) rank[i] = last + 1;
  return rank;
}

// Nodes of the net: the boxes, then places of long edges. Links join neighbouring ranks.
function withDummies(boxes, edges, rank) {
  const count = boxes.length, half = [], level = [], shared = new Map();
  for (let i = 0; i < count; i++) {
    half.push(boxes[i].w / 2);
    level.push(rank[i]);
  }
  const links = []; // [upper, lower, offset at upper from its middle, at lower, weight]
  const linked = new Map();
  const chains = edges.map(({ from, to, fx, tx, key, weight = 1 }) => {
    const chain = [];
    let last = from, offset = fx === undefined ? 0 : fx - half[from];
    const stem = key === undefined ? null : `${from}/${fx}/${key}/`;
    for (let r = rank[from] + 1; r < rank[to]; r++) {
      let place = stem === null ? undefined : shared.get(stem + r);
      if (place === undefined) {
        place = half.length;
        half.push(1);
        level.push(r);
        if (stem !== null) shared.set(stem + r, place);
        links.push([last, place, offset, 0, (last >= count ? 8 : 3) * weight]);
      }
      chain.push(place);
      last = place;
      offset = 0;
    }
    let end = tx === undefined ? 0 : tx - half[to];
    // Two open blocks stand middle under middle: with port under port a long chain would drift aside.
    if (last === from && fx !== undefined && tx !== undefined) offset = end = 0;
    const same = `${last}/${to}/${offset}/${end}`;
    if (linked.has(same)) links[linked.get(same)][4] += 0.5 * weight;
    else {
      linked.set(same, links.length);
      links.push([last, to, offset, end, (last >= count ? 3 : 2) * weight]);
    }
    return chain;
  });
  const size = half.length;
  const up = Array.from({ length: size }, () => []), down = Array.from({ length: size }, () => []);
  links.forEach(([a, b], i) => {
    down[a].push(i);
    up[b].push(i);
  });
  return { size, count, half, level, links, up, down, chains };
}

function order(net) {
  const { size, level, links, up, down } = net;
  let last = 0;
  for (let i = 0; i < size; i++) last = Math.max(last, level[i]);
  const rows = Array.from({ length: last + 1 }, () => []);
  // First order: depth first from above, so that what belongs together starts together.
  const visited = new Uint8Array(size), stack = [];
  const start = [...Array(size).keys()].sort((a, b) => level[a] - level[b] || a - b);
  for (const i of start) {
    if (visited[i]) continue;
    stack.push(i);
    while (stack.length) {
      const at = stack.pop();
      if (visited[at]) continue;
      visited[at] = 1;
      rows[level[at]].push(at);
      for (let k = down[at].length - 1; k >= 0; k--) stack.push(links[down[at][k]][1]);
    }
  }
  const place = new Float64Array(size);
  const number = () => rows.forEach((row) => row.forEach((i, k) => (place[i] = k)));
  number();
  let best = rows.map((row) => row.slice()), fewest = crossings(net, rows, place);
  const mean = new Float64Array(size);
  for (let sweep = 0; sweep < 8 && fewest > 0; sweep++) {
    const downwards = sweep % 2 === 0, side = downwards ? up : down, end = downwards ? 0 : 1;
    const from = downwards ? 1 : rows.length - 2, step = downwards ? 1 : -1;
    for (let r = from; r >= 0 && r < rows.length; r += step) {
      const row = rows[r];
      if (row.length < 2) continue;
      for (const i of row) {
        let sum = 0;
        for (const k of side[i]) sum += place[links[k][end]] + links[k][2 + end] / 1000;
        mean[i] = side[i].length ? sum / side[i].length : place[i];
      }
      row.sort((a, b) => mean[a] - mean[b] || place[a] - place[b]);
      row.forEach((i, k) => (place[i] = k));
    }
    const now = crossings(net, rows, place);
    if (now < fewest) {
      fewest = now;
      best = rows.map((row) => row.slice());
    }
  }
  return best;
}

// Pairs of links that cross, between all neighbouring rows.
function crossings({ links, down }, rows, place) {
  let total = 0, tree = new Int32Array(128);
  for (let r = 0; r + 1 < rows.length; r++) {
    const row = rows[r], below = rows[r + 1].length;
    if (row.length < 2 || below < 2) continue;
    let size = 1;
    while (size <= below) size *= 2;
    if (tree.length < 2 * size) tree = new Int32Array(2 * size);
    else tree.fill(0, 0, 2 * size);
    for (const i of row) {
      const mine = down[i].map((k) => place[links[k][1]]);
      if (mine.length > 1) mine.sort((a, b) => a - b);
      for (const end of mine) {
        let at = end + size;
        for (tree[at]++; at > 1; at >>= 1) {
          if (!(at & 1)) total += tree[at + 1];
          tree[at >> 1]++;
        }
      }
    }
  }
  return total;
}

// The middle of every node: near its neighbours' middles (least squares), in order, at distance.
function coordinates(net, rows) {
  const { size, count, half, links, up, down } = net;
  const x = new Float64Array(size);
  const distance = (a, b) => half[a] + half[b] + (a < count && b < count && half[a] > 2 && half[b] > 2 ? GAP.box : half[a] > 2 || half[b] > 2 ? GAP.box * 0.7 : GAP.line);
  for (const row of rows) {
    let at = 0;
    row.forEach((i, k) => (x[i] = at += k ? distance(row[k - 1], i) : 0));
    const middle = (x[row[0]] + at) / 2;
    for (const i of row) x[i] -= middle;
  }
  const want = new Float64Array(size), weight = new Float64Array(size);
  const pull = (i, sides) => {
    let sum = 0, total = 0;
    for (const [side, end] of sides)
      for (const k of side[i]) {
        const link = links[k];
        sum += link[4] * (x[link[end]] + link[2 + end] - link[3 - end]);
        total += link[4];
      }
    want[i] = total ? sum / total : x[i];
    weight[i] = total || 0.05;
  };
  const above = [up, 0], below = [down, 1];
  for (let sweep = 0; sweep < 10; sweep++) {
    const sides = sweep >= 8 ? [above, below] : sweep % 2 === 0 ? [above] : [below];
    const forward = sweep % 2 === 0;
    for (let k = 0; k < rows.length; k++) {
      const row = rows[forward ? k : rows.length - 1 - k];
      for (const i of row) pull(i, sides);
      spread(row, want, weight, distance, x);
    }
  }
  return x;
}

// Places in the given order, at least `distance` apart, nearest to `want` in weighted least squares.
export function spread(row, want, weight, distance, x) {
  const starts = [], sums = [], weights = []; // groups that have been pushed together
  const shift = new Float64Array(row.length);
  for (let k = 0; k < row.length; k++) {
    shift[k] = k ? shift[k - 1] + distance(row[k - 1], row[k]) : 0;
    starts.push(k);
    weights.push(weight[row[k]]);
    sums.push(weight[row[k]] * (want[row[k]] - shift[k]));
    for (let last = starts.length - 1; last > 0 && sums[last - 1] / weights[last - 1] > sums[last] / weights[last]; last--) {
      sums[last - 1] += sums.pop();
      weights[last - 1] += weights.pop();
      starts.pop();
    }
  }
  for (let g = 0; g < starts.length; g++) {
    const end = g + 1 < starts.length ? starts[g + 1] : row.length;
    for (let k = starts[g]; k < end; k++) x[row[k]] = sums[g] / weights[g] + shift[k];
  }
}

function finish(net, rows, x, boxes, edges, rank, { header, margin, top, bottom }) {
  const { size, count, half, links, up, down, chains } = net;
  let low = Infinity, high = -Infinity;
  for (let i = 0; i < size; i++) {
    low = Math.min(low, x[i] - half[i]);
    high = Math.max(high, x[i] + half[i]);
  }
  for (let i = 0; i < size; i++) x[i] += margin - low;
  // Where links meet a box that has no place of its own for them: side by side, in order of the other end.
  const places = attachments(net, x, boxes, edges);
  const rowTop = [], rowBottom = [];
  let y = 0;
  rows.forEach((row, r) => {
    let tall = 0, far = 0;
    for (const i of row) {
      if (i < count) tall = Math.max(tall, boxes[i].h);
      for (const k of up[i]) far = Math.max(far, Math.abs(x[links[k][0]] - x[i]));
    }
    const ports = r === 0 && top.length, end = r === rows.length - 1 && bottom.length;
    if (r === 0) y = ports ? 0 : header + margin;
    else y += (rowTop.length === 1 && top.length ? header : 0) + (row.length || r ? GAP.rank : 0) + Math.min(60, far * 0.06);
    rowTop.push(y);
    y += tall;
    rowBottom.push(y);
    if (end) y -= margin;
  });
  const height = y + margin, left = [], tops = [];
  for (let i = 0; i < count; i++) {
    left.push(x[i] - half[i]);
    // What has nothing above it stands low, beside what reads it.
    tops.push(up[i].length || !down[i].length ? rowTop[rank[i]] : rowBottom[rank[i]] - boxes[i].h);
  }
  const paths = edges.map(({ from, to }, e) => {
    const [start, end] = places[e], path = [x[from] + start, tops[from] + boxes[from].h, x[from] + start, rowBottom[rank[from]]];
    chains[e].forEach((place, k) => {
      const r = rank[from] + 1 + k;
      path.push(x[place], rowTop[r], x[place], rowBottom[r]);
    });
    path.push(x[to] + end, rowTop[rank[to]], x[to] + end, tops[to]);
    return path;
  });
  return { width: high - low + 2 * margin, height, x: left, y: tops, paths };
}

function attachments({ half, chains }, x, boxes, edges) {
  const places = edges.map(() => [0, 0]);
  const sides = new Map(); // box and side -> [edge, x of its other end]
  edges.forEach(({ from, to, fx, tx, key }, e) => {
    const chain = chains[e];
    if (fx !== undefined) places[e][0] = fx - half[from];
    else addTo(sides, from * 2, [e, x[chain[0] ?? to], 0, key === undefined ? `e${e}` : `k${key}`]);
    if (tx !== undefined) places[e][1] = tx - half[to];
    else addTo(sides, to * 2 + 1, [e, x[chain[chain.length - 1] ?? from], 1, `e${e}`]);
  });
  for (const [side, list] of sides) {
    const own = new Map(); // edges with one key leave at one point
    for (const [e, other, end, key] of list) {
      if (!own.has(key)) own.set(key, { other: 0, edges: [], end });
      const group = own.get(key);
      group.other += other;
      group.edges.push(e);
    }
    const groups = [...own.values()].sort((a, b) => a.other / a.edges.length - b.other / b.edges.length);
    const width = boxes[side >> 1].w, step = Math.min(14, width / (groups.length + 1));
    groups.forEach((group, k) => {
      for (const e of group.edges) places[e][group.end] = (k - (groups.length - 1) / 2) * step;
    });
  }
  return places;
}
