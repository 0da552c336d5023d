import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { inflateSync } from "node:zlib";
import { compound } from "../src/core/layout.js";
import { layered, ranks, spread } from "../src/core/layered.js";
import { arrange, colours, isOutput, kindOf, label, onPath, overlays, overlayText, read, search, visible } from "../src/graph/model.js";
import { paint, shades, strips } from "../src/graph/paint.js";
import { SvgContext } from "../src/graph/svgtext.js";

const folder = join(dirname(fileURLToPath(import.meta.url)), "..", "fixtures");
const payload = (name) => JSON.parse(inflateSync(Buffer.from(readFileSync(join(folder, `${name}.packed`), "utf8").trim(), "base64")));
const NAMES = readdirSync(folder).filter((name) => name.endsWith(".packed")).map((name) => name.slice(0, -7));
const all = (g) => new Set(g.parents.map((_, b) => b));

// Whether a piece of a path runs through a box that is neither an end of its edges nor a block around an end.
function intruders(sight) {
  const around = new Map(); // item -> items of open blocks around it
  const visit = (i, outer) => {
    around.set(i, outer);
    for (const child of sight.children[i] ?? []) visit(child, [...outer, i]);
  };
  sight.roots.forEach((i) => visit(i, []));
  const bad = [], size = 200, cells = new Map();
  sight.boxes.forEach((b, i) => {
    for (let c = Math.floor(b.y / size); c <= Math.floor((b.y + b.h) / size); c++) {
      if (!cells.has(c)) cells.set(c, []);
      cells.get(c).push(i);
    }
  });
  for (const { points, edges } of sight.pieces) {
    const own = new Set(edges.flatMap((e) => [sight.edges[e].from, sight.edges[e].to]).flatMap((i) => [i, ...around.get(i)]));
    for (let k = 2; k < points.length; k += 2) {
      const [px, py, x, y] = [points[k - 2], points[k - 1], points[k], points[k + 1]];
      for (let t = 0; t <= 1; t += 0.125) {
        // Vertical lines, and curves whose ends are vertical, as they are drawn.
        const s = 1 - t, cx = k % 4 === 2 ? px + (x - px) * t : s * s * s * px + 3 * s * s * t * px + 3 * s * t * t * x + t * t * t * x;
        const cy = k % 4 === 2 ? py + (y - py) * t : s * s * s * py + 3 * s * t * ((py + y) / 2) + t * t * t * y;
        for (const i of cells.get(Math.floor(cy / size)) ?? []) {
          const b = sight.boxes[i];
          if (!own.has(i) && cx > b.x + 0.5 && cx < b.x + b.w - 0.5 && cy > b.y + 0.5 && cy < b.y + b.h - 0.5) bad.push([i, edges, cx, cy]);
        }
      }
    }
  }
  return bad;
}

function overlapping(sight) {
  const bad = [];
  const check = (list) => {
    const order = [...list].sort((a, b) => sight.boxes[a].y - sight.boxes[b].y);
    order.forEach((i, k) => {
      const a = sight.boxes[i];
      for (let m = k + 1; m < order.length && sight.boxes[order[m]].y < a.y + a.h - 0.5; m++) {
        const b = sight.boxes[order[m]];
        if (a.x < b.x + b.w - 0.5 && b.x < a.x + a.w - 0.5) bad.push([i, order[m]]);
      }
      for (const child of sight.children[i] ?? []) {
        const c = sight.boxes[child];
        if (c.x < a.x || c.y < a.y || c.x + c.w > a.x + a.w || c.y + c.h > a.y + a.h) bad.push([i, child]);
      }
      if (sight.children[i]) check(sight.children[i]);
    });
  };
  check(sight.roots);
  return bad;
}

for (const name of NAMES) {
  const g = read(payload(name));
  for (const [what, open, parameters] of [["closed", new Set(), false], ["as at first", new Set(g.p.open), false], ["open", all(g), false], ["open, with parameters", all(g), true]]) {
    test(`${name} ${what}: no box over another, no edge through an unrelated box`, () => {
      const sight = arrange(g, open, parameters, "none");
      assert.deepEqual(overlapping(sight), []);
      assert.deepEqual(intruders(sight).slice(0, 3), []);
      for (const { x, y, w, h } of sight.boxes) assert.ok(x >= 0 && y >= 0 && x + w <= sight.width + 0.5 && y + h <= sight.height + 0.5);
      // Every edge is drawn from end to end: its pieces join, and there is one arrow.
      const pieces = sight.edges.map(() => []);
      for (const piece of sight.pieces) for (const e of piece.edges) pieces[e].push(piece);
      pieces.forEach((list, e) => {
        const { from, to } = sight.edges[e];
        assert.ok(list.length, `edge ${e} from ${from} to ${to}`);
        assert.ok(list.some((piece) => piece.ends), `an arrow of edge ${e}`);
      });
    });
  }
}

test("ranks: inputs above, what only one operation reads beside its reader, ports at the ends", () => {
  // 0 -> 1 -> 2 -> 3, and 4 -> 3
  const edges = [[0, 1], [1, 2], [2, 3], [4, 3]].map(([from, to]) => ({ from, to }));
  assert.deepEqual([...ranks(5, edges)], [0, 1, 2, 3, 2]);
  const ported = [...edges, { from: 5, to: 0 }, { from: 2, to: 6 }];
  assert.deepEqual([...ranks(7, ported, new Set([5]), new Set([6]))], [1, 2, 3, 4, 3, 0, 5]);
});

test("spread: places in order, at distance, as near to the wanted ones as can be", () => {
  const place = (want, weight, gap = 10) => {
    const x = new Float64Array(want.length);
    spread(want.map((_, i) => i), want, weight, () => gap, x);
    return [...x];
  };
  assert.deepEqual(place([0, 30, 60], [1, 1, 1]), [0, 30, 60], "room enough: all where they want");
  assert.deepEqual(place([0, 0], [1, 1]), [-5, 5]);
  assert.deepEqual(place([0, 0], [3, 1]), [-2.5, 7.5], "the heavier one moves less");
  // Against a search over all places of three.
  const want = [4, 1, 2], weight = [1, 2, 1], found = place(want, weight, 3);
  const cost = (x) => x.reduce((sum, v, i) => sum + weight[i] * (v - want[i]) ** 2, 0);
  let best = Infinity;
  for (let a = -10; a < 10; a += 0.25) for (let b = a + 3; b < 12; b += 0.25) for (let c = b + 3; c < 16; c += 0.25) best = Math.min(best, cost([a, b, c]));
  assert.ok(cost(found) <= best + 1e-9);
});

test("a chain of boxes of one size stands straight", () => {
  const boxes = Array.from({ length: 6 }, () => ({ w: 80, h: 30 }));
  const { x } = layered({ boxes, edges: [0, 1, 2, 3, 4].map((i) => ({ from: i, to: i + 1 })) });
  for (const each of x) assert.ok(Math.abs(each - x[0]) < 1e-6);
});

test("cycles are drawn too", () => {
  const items = Array.from({ length: 3 }, () => ({ w: 50, h: 20 }));
  const made = compound({ items, roots: [0, 1, 2], edges: [{ from: 0, to: 1 }, { from: 1, to: 2 }, { from: 2, to: 0 }] });
  assert.equal(made.pieces.length, 3);
  assert.equal(made.pieces.filter((piece) => piece.ends === 2).length, 1, "one of them points up");
});

test("nothing at all is drawn as nothing", () => {
  const made = compound({ items: [], roots: [], edges: [] });
  assert.deepEqual(made.boxes, []);
  assert.ok(made.width > 0 && made.height > 0);
});

test("an edge into an open block crosses its border at one place", () => {
  // 0 -> [1 -> 2] -> 3; the block is item 4
  const items = [{ w: 60, h: 30 }, { w: 60, h: 30 }, { w: 60, h: 30 }, { w: 60, h: 30 }, { w: 40, h: 0, children: [1, 2] }];
  const { boxes, pieces } = compound({ items, roots: [0, 4, 3], edges: [{ from: 0, to: 1 }, { from: 1, to: 2 }, { from: 2, to: 3 }] });
  const [block] = [boxes[4]], of = (e) => pieces.filter((piece) => piece.edges.includes(e));
  assert.equal(of(0).length, 2);
  const outer = of(0).find((piece) => !piece.ends), inner = of(0).find((piece) => piece.ends);
  const [x, y] = outer.points.slice(-2);
  assert.ok(Math.abs(y - block.y) < 1e-6 && x > block.x && x < block.x + block.w);
  assert.deepEqual(inner.points.slice(0, 2).map(Math.round), [x, y].map(Math.round));
  assert.ok(Math.abs(inner.points.at(-1) - boxes[1].y) < 1e-6);
});

test("gradients are drawn upwards, beside their operations", () => {
  const g = read(payload("lenet")), sight = arrange(g, new Set(), false, "none");
  const y = (name) => sight.boxes[sight.at.get(g.byName.get(name))].y;
  assert.ok(y("conv0") < y("fc1") && y("conv0_backward") < y("fc1_backward"));
  assert.ok(Math.abs(y("pool0") - y("pool0_backward")) < 80);
  assert.equal(kindOf(g, g.byName.get("fc1_backward"), g.byName.get("tanh2_backward")), "gradient");
  assert.equal(kindOf(g, g.byName.get("data"), g.byName.get("conv0_backward")), "kept");
  assert.equal(kindOf(g, g.byName.get("conv0_weight"), g.byName.get("conv0")), "weight");
});

test("a closed block stands for all that is in it", () => {
  const g = read(payload("resnet152")), sight = visible(g, new Set(), false);
  const inside = new Set(sight.list);
  assert.ok(sight.list.length < 10);
  for (const { from, to } of sight.edges) assert.notEqual(from, to);
  assert.ok(inside.has(g.byName.get("data0")) && ![...inside].includes(g.byName.get("resnetv10_stage1_conv0_fwd")));
  const open = visible(g, all(g), true);
  assert.equal(open.list.filter((item) => item >= 0).length, g.n, "all open: every node is in sight");
  assert.ok(open.list.length > 2000);
});

test("weights that are not in sight have no edges: steps that share them are not joined by them", () => {
  const g = read(payload("lstm")), closed = visible(g, new Set(g.p.open), false), open = visible(g, new Set(g.p.open), true);
  assert.equal(closed.edges.filter((edge) => edge.kind === "weight").length, 0);
  assert.ok(open.edges.some((edge) => edge.kind === "weight"));
});

test("labels leave out what the block's names begin with", () => {
  const g = read(payload("resnet_block"));
  assert.equal(label(g, g.names.findIndex((name) => name.endsWith("conv0_fwd"))), "conv0");
  assert.equal(label(g, g.byName.get("data")), "data");
  const alone = { p: { nodes: { block: [-1] }, prefix: "dense0_" }, names: ["dense0_fwd"] };
  assert.equal(label(alone, 0), "dense0", "a block that is one operation");
});

test("search finds names, operators and attributes; all words count", () => {
  const g = read(payload("lenet"));
  assert.deepEqual(search(g, "conv0").map((i) => g.names[i]).sort(), ["conv0", "conv0_backward", "conv0_bias", "conv0_weight"]);
  assert.deepEqual(search(g, "num_filter=50 forward").length, 0);
  assert.deepEqual(search(g, "num_filter=50").map((i) => g.names[i]), ["conv1", "conv1_backward"]);
  assert.ok(search(g, "pooling").length === 4);
  assert.deepEqual(search(g, "  "), []);
});

test("the way through the selected node", () => {
  const g = read(payload("lenet")), sight = arrange(g, new Set(), false, "none");
  const edges = onPath(sight, g, g.byName.get("pool0"));
  const ends = [...edges].flatMap((e) => [sight.edges[e].from, sight.edges[e].to]);
  const names = ends.map((i) => g.names[sight.list[i]]);
  for (const name of ["data", "conv0", "tanh0", "pool0", "conv1", "softmax"]) assert.ok(names.includes(name), name);
  assert.ok(!names.includes("fc1_backward"));
});

test("overlays: only those there is data for; sums over blocks", () => {
  const g = read(payload("resnet_block"));
  assert.deepEqual(overlays(g).map(([key]) => key), ["none", "bytes", "flops", "dtype"]);
  const sum = g.p.nodes.flops.filter((_, i) => g.whole(0).includes(i)).reduce((a, b) => a + b, 0);
  assert.equal(overlayText(g, ~0, "flops"), `${Number((sum / 1e6).toPrecision(3))} M`);
  assert.equal(overlayText(g, ~0, "dtype"), "float32");
});

test("the picture as SVG has every box and is well formed as far as tags go", () => {
  const g = read(payload("resnet_block")), sight = arrange(g, new Set(g.p.open), false, "none");
  const list = Array.from({ length: 8 }, () => "#123456");
  const colours = { fg: "#111", dim: "#222", line: "#333", bg: "#fff", panel: "#eee", hot: "#f00", focus: "#00f", c: list, k: list };
  const ctx = new SvgContext(sight.width, sight.height, "#fff", "a <b>");
  paint(g, { ctx, sight, colours, shade: shades(g, sight, "none"), bands: strips(sight), kindOfPiece: (piece) => sight.edges[piece.edges[0]].kind }, null);
  const text = String(ctx);
  assert.ok(text.startsWith("<svg") && text.endsWith("</svg>") && text.includes('aria-label="a &lt;b>"'));
  for (const face of sight.faces) assert.ok(text.includes(`${face.title}<`), face.title);
  assert.ok(!/NaN|undefined/.test(text));
  assert.equal((text.match(/<text /g) ?? []).length, (text.match(/<\/text>/g) ?? []).length);
});

test("an operation that reads the same twice has two edges", () => {
  const p = payload("lenet"), fed = p.edges.count.findIndex((count) => count === 2), at = p.edges.count.slice(0, fed).reduce((a, b) => a + b, 0);
  p.edges.back[at + 1] = p.edges.back[at];
  p.edges.port[at + 1] = p.edges.port[at];
  const g = read(p), sight = visible(g, new Set(p.blocks.parent.keys()), true);
  const to = sight.at.get(fed), from = sight.at.get(g.inputs[fed][0]);
  assert.equal(sight.edges.filter((edge) => edge.from === from && edge.to === to).length, 2);
});

test("outputs are marked, and the blocks around them", () => {
  const g = read(payload("resnet_block"));
  for (const i of g.p.heads) assert.ok(isOutput(g, i));
  assert.ok(g.p.heads.length < g.n && !isOutput(g, g.names.indexOf("data")));
});

test("the legend names the colours that boxes have under the overlay", () => {
  const g = read({ ...payload("lenet"), facts: {} });
  g.p.facts.change = g.p.names.map((_, i) => (i === 1 ? 1 : i === 2 ? 4 : 0));
  const under = (overlay) => colours(g, overlay).map(([, text]) => text);
  assert.deepEqual(under("change"), ["+ added", "→ other inputs"]);
  assert.ok(under("none").includes("products") && under(undefined).includes("products"));
  assert.deepEqual(under("bytes"), [], "strength says how much");
  const sight = arrange(g, all(g), true, "change");
  const fills = shades(g, sight, "change").fill, at = (i) => sight.list.indexOf(i);
  assert.deepEqual([1, 2, 3].filter((i) => at(i) >= 0).map((i) => fills(at(i))), [1, 2, 3].filter((i) => at(i) >= 0).map((i) => [2, 0, null][i - 1]));
  assert.deepEqual(colours(g, "change").map(([k]) => k), [2, 0], "the same colours");
});
