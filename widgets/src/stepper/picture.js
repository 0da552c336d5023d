// A graph stage as a picture: operations as boxes, arrays between them as edges from top to bottom.
import { columns } from "../core/format.js";
import { layered } from "../core/layered.js";
import { surface } from "../core/surface.js";

const HIGH = 36, MOST = 1500; // of more operations there is the list alone

// Boxes and paths of a stage's rows: operations only, as parameters would hide the shape of the graph.
export function arrange(rows) {
  const shown = rows.flatMap((row, i) => (row.kind === "node" && row.op ? [i] : []));
  if (!shown.length || shown.length > MOST) return null;
  const at = new Map(shown.map((i, k) => [rows[i].name, k]));
  const boxes = shown.map((i) => ({ w: Math.max(74, 7.2 * Math.max(columns(heading(rows[i])), columns(words(rows[i]))) + 20), h: HIGH }));
  const pairs = new Set(), edges = [];
  shown.forEach((i, to) => {
    for (const input of rows[i].inputs) {
      const from = at.get(input) ?? at.get(input.replace(/:\d+$/, ""));
      if (from === undefined || from === to || pairs.has(`${from}/${to}`)) continue;
      pairs.add(`${from}/${to}`);
      edges.push({ from, to });
    }
  });
  return { shown, boxes, edges, ...layered({ boxes, edges }) };
}

// The operator, after the mark of what a pass did to it.
const heading = ({ mark, op }) => (mark ? `${mark} ${op}` : op);
const words = ({ label, name }) => label ?? name.slice(name.lastIndexOf("/") + 1);

// picture(ctx, {rows, marked, pick}): a canvas that draws what `show()` was last given.
export function picture(ctx, { pick }) {
  let scene = null, rows = [], marked = () => false, key = null;
  const self = surface(ctx, {
    label: "the graph as a picture: operations from top to bottom; the up and down keys move through them, g shows the list",
    height: 360,
    bounds: () => ({ x: 0, y: 0, width: scene?.width ?? 100, height: scene?.height ?? 100 }),
    draw: (g) => scene && paint(g),
    hit(x, y) {
      const k = scene?.shown.findIndex((_, n) => x >= scene.x[n] && x <= scene.x[n] + scene.boxes[n].w && y >= scene.y[n] && y <= scene.y[n] + HIGH) ?? -1;
      return k < 0 ? null : scene.shown[k];
    },
    hover: (i) => i !== null && i !== undefined && ctx.say(`${rows[i].name}: ${rows[i].op} makes ${rows[i].outputs}`),
    pick: (i) => i !== null && pick(i),
    key(event) {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!by || !scene) return false;
      const now = scene.shown.findIndex((i) => marked(i));
      const next = scene.shown[now < 0 ? 0 : Math.max(0, Math.min(scene.shown.length - 1, now + by))];
      pick(next);
      return true;
    },
  });
  // A high graph is not shown whole, but from its top or from what is marked, so that its names can be read.
  function readable() {
    const camera = self.camera;
    if (!camera || !scene || camera.kx >= 0.6) return;
    const marks = scene.shown.findIndex((i) => marked(i)), k = Math.max(marks, 0);
    const kx = 0.8, width = self.canvas.clientWidth / kx, height = self.canvas.clientHeight / kx;
    self.moveTo({ kx, ky: kx, x: scene.x[k] + scene.boxes[k].w / 2 - width / 2, y: marks < 0 ? -12 : scene.y[k] - height / 3 }, true);
  }
  function paint(g) {
    const colour = { ink: ctx.colour("fg"), line: ctx.colour("line"), chosen: ctx.colour("c6"), strong: ctx.colour("k1"), f: ctx.colour("c0"), b: ctx.colour("c1"), i: ctx.colour("c7"), new: ctx.colour("k2") };
    g.strokeStyle = colour.line;
    g.fillStyle = colour.line;
    g.lineWidth = 1;
    for (const path of scene.paths) trace(g, path);
    g.textAlign = "center";
    g.textBaseline = "middle";
    scene.shown.forEach((i, k) => {
      const row = rows[i], x = scene.x[k], y = scene.y[k], { w } = scene.boxes[k], chosen = marked(i);
      g.fillStyle = chosen ? colour.chosen : colour[row.part[0]];
      g.strokeStyle = chosen ? colour.strong : colour.line;
      g.lineWidth = chosen ? 3 : 1;
      g.setLineDash(row.part[0] === "b" ? [5, 2] : []);
      g.beginPath();
      g.roundRect(x, y, w, HIGH, 5);
      g.fill();
      g.stroke();
      g.setLineDash([]);
      g.fillStyle = colour.ink;
      g.font = "600 12px system-ui, sans-serif";
      g.fillText(heading(row), x + w / 2, y + 12);
      g.font = "11px system-ui, sans-serif";
      g.fillText(words(row), x + w / 2, y + 26);
    });
  }
  return {
    canvas: self.canvas,
    redraw: self.redraw,
    // Shows the rows of a stage; false if there are too many, or none.
    show(name, next, isMarked) {
      rows = next;
      marked = isMarked;
      if (name !== key) {
        scene = arrange(rows);
        key = name;
        self.fit();
        if (scene) requestAnimationFrame(() => requestAnimationFrame(readable));
      }
      self.redraw();
      return scene !== null;
    },
    reveal(i) {
      const k = scene?.shown.indexOf(i) ?? -1;
      if (k >= 0) self.reveal({ x: scene.x[k], y: scene.y[k], width: scene.boxes[k].w, height: HIGH });
    },
  };
}

// Vertical from point 2i to 2i + 1, a curve to point 2i + 2; an arrow at the end.
function trace(g, path) {
  g.beginPath();
  g.moveTo(path[0], path[1]);
  for (let k = 2; k < path.length; k += 2) {
    const [px, py, x, y] = [path[k - 2], path[k - 1], path[k], path[k + 1]];
    if (px === x) g.lineTo(x, y);
    else g.bezierCurveTo(px, (py + y) / 2, x, (py + y) / 2, x, y);
  }
  g.stroke();
  const x = path.at(-2), y = path.at(-1);
  g.beginPath();
  g.moveTo(x, y);
  g.lineTo(x - 4, y - 7);
  g.lineTo(x + 4, y - 7);
  g.fill();
}
