import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { inflateSync } from "node:zlib";
import { compound } from "../src/core/layout.js";
import { layered, ranks, spread } from "../src/core/layered.js";
import { arrange, kindOf, label, onPath, overlays, overlayText, read, search, visible } from "../src/graph/model.js";
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
