// Drawing what is in sight, on a canvas or as SVG.
import { columns, howMany } from "../core/format.js";
import { addTo } from "../core/maps.js";
import { CHANGES, CHANGE_COLOURS, boxValue, edgeShape, isOutput } from "./model.js";

export const BANDS = 240; // height of the strips that boxes and lines are sorted into

export function palette(ctx) {
  const get = (names) => names.map(ctx.colour), eight = [..."01234567"];
  const [fg, dim, line, bg, panel, hot, focus] = get(["fg", "dim", "line", "bg", "panel", "hot", "focus"]);
  return { fg, dim, line, bg, panel, hot, focus, c: get(eight.map((i) => `c${i}`)), k: get(eight.map((i) => `k${i}`)) };
}

// Colours of the boxes under an overlay, and what a reader is told of them.
export function shades(g, sight, overlay) {
  const items = sight.list;
  if (!overlay || overlay === "none") {
    return { fill: (i) => (items[i] < 0 ? null : sight.faces[i].op ? g.p.categories[sight.faces[i].op] : null), strength: null, told: "" };
  }
  const values = items.map((item, i) => (sight.children[i] ? null : boxValue(g, item, overlay)));
  if (["bytes", "flops", "time"].includes(overlay)) {
    const most = Math.max(...values.map((v) => v ?? 0), 1e-30);
    return { fill: () => 1, strength: (i) => (values[i] ? 0.12 + 0.88 * Math.sqrt(values[i] / most) : 0), told: "stronger colour means more" };
  }
  const names = [...new Set(values.filter((v) => v !== null && v !== ""))];
  const number = new Map(names.map((name, i) => [name, i % 8]));
  if (overlay === "values") {
    return { fill: (i) => (values[i]?.startsWith("✗") ? 4 : items[i] < 0 ? null : (g.p.categories[sight.faces[i].op] ?? null)), strength: null, told: "mean ± deviation of the values; ✗ not finite" };
  }
  if (overlay === "change") {
    return { fill: (i) => (values[i] ? CHANGE_COLOURS[values[i][0]] : null), strength: null, told: CHANGES.slice(1).join("  ") };
  }
  return { fill: (i) => (values[i] === null || values[i] === "" ? null : number.get(values[i])), strength: null, told: `${howMany(names.length, "kind")}; the second line of a box says which` };
}

// Boxes and pieces by the strips that they touch, so that drawing looks at no others.
export function strips(sight) {
  const count = Math.ceil(sight.height / BANDS) + 1, boxes = Array.from({ length: count }, () => []), pieces = Array.from({ length: count }, () => []);
  const strip = (y) => Math.min(count - 1, Math.max(0, Math.floor(y / BANDS)));
  sight.boxes.forEach((box, i) => {
    for (let k = strip(box.y); k <= strip(box.y + box.h); k++) boxes[k].push(i);
  });
  sight.pieces.forEach(({ points }, i) => {
    for (let k = strip(points[1]); k <= strip(points[points.length - 1]); k++) pieces[k].push(i);
  });
  return { boxes, pieces, strip };
}

function trace(path, points, curved) {
  path.moveTo(points[0], points[1]);
  for (let k = 2; k < points.length; k += 2) {
    const x = points[k], y = points[k + 1], px = points[k - 2], py = points[k - 1];
    if (k % 4 === 2 || !curved || Math.abs(x - px) < 0.5) {
      if (y !== py || x !== px) path.lineTo(x, y);
    } else path.bezierCurveTo(px, (py + y) / 2, x, (py + y) / 2, x, y);
  }
}

function arrow(path, points, ends) {
  const last = points.length;
  if (ends & 1) tip(path, points[last - 2], points[last - 1], -1);
  if (ends & 2) tip(path, points[0], points[1], 1);
}

function tip(path, x, y, way) {
  path.moveTo(x, y);
  path.lineTo(x - 3.5, y + 7 * way);
  path.lineTo(x + 3.5, y + 7 * way);
}

export const LINES = {
  forward: { colour: "line", dash: [] }, weight: { colour: "line", dash: [2, 2] },
  gradient: { colour: "k1", dash: [] }, kept: { colour: "k3", dash: [5, 3] },
};

// One picture. `view` is {camera, size}, or null for everything.
export function paint(g, { ctx, sight, colours, shade, bands, selected, path, matches, kindOfPiece, shapes }, view) {
  const k = view ? view.camera.kx : 1;
  const area = view ? { x: view.camera.x, y: view.camera.y, w: view.size.width / k, h: view.size.height / k } : { x: -1e9, y: 0, w: 2e9, h: sight.height };
  const first = bands.strip(area.y), last = bands.strip(area.y + area.h);
  const detail = k > 0.28, far = k < 0.12;
  const once = (lists) => {
    const numbers = new Set();
    for (let s = first; s <= last; s++) for (const i of lists[s]) numbers.add(i);
    return numbers;
  };
  const boxes = [...once(bands.boxes)].filter((i) => {
    const b = sight.boxes[i];
    return b.x < area.x + area.w && b.x + b.w > area.x;
  });
  // Open blocks lie below, outer ones first.
  const opened = boxes.filter((i) => sight.children[i]).sort((a, b) => sight.boxes[a].depth - sight.boxes[b].depth);
  ctx.lineWidth = Math.max(1, 0.6 / k);
  for (const i of opened) {
    const b = sight.boxes[i];
    ctx.fillStyle = sight.boxes[i].depth % 2 ? colours.bg : colours.panel;
    ctx.strokeStyle = sight.faces[i].error ? colours.hot : colours.line;
    ctx.beginPath();
    ctx.rect(b.x, b.y, b.w, b.h);
    ctx.fill();
    ctx.stroke();
  }
  // Lines, one path for each look of them.
  const looks = new Map();
  const quiet = path?.size;
  for (const i of once(bands.pieces)) {
    const piece = sight.pieces[i], lit = quiet && piece.edges.some((e) => path.has(e));
    const kind = kindOfPiece(piece), name = quiet ? (lit ? `${kind} lit` : `${kind} dim`) : kind;
    addTo(looks, name, piece);
  }
  for (const [name, pieces] of [...looks].sort()) {
    const [kind, mode] = name.split(" "), look = LINES[kind];
    ctx.strokeStyle = ctx.fillStyle = colour(colours, look.colour);
    ctx.globalAlpha = mode === "dim" ? 0.3 : far ? 0.5 : 1;
    ctx.lineWidth = (mode === "lit" ? 2.4 : 1.2) * (far ? 0.5 / k / 3 : 1);
    ctx.setLineDash?.(far ? [] : look.dash);
    ctx.beginPath();
    for (const { points } of pieces) trace(ctx, points, !far);
    ctx.stroke();
    ctx.setLineDash?.([]);
    if (detail) {
      ctx.beginPath();
      for (const { points, ends } of pieces) if (ends) arrow(ctx, points, ends);
      ctx.fill();
    }
  }
  ctx.globalAlpha = 1;
  // Boxes of one colour are one path.
  const closed = boxes.filter((i) => !sight.children[i]), fills = new Map();
  for (const i of closed) {
    const f = shade.fill(i), s = shade.strength?.(i);
    const name = f === null || s === 0 ? "box" : s === undefined || s === null ? `c${f}` : `heat ${Math.round(s * 12)}`;
    addTo(fills, name, i);
  }
  for (const [name, list] of fills) {
    ctx.fillStyle = colours.panel;
    ctx.strokeStyle = colours.line;
    ctx.lineWidth = far ? 0.4 / k : 1;
    ctx.beginPath();
    for (const i of list) {
      const b = sight.boxes[i];
      if (sight.faces[i].repeat && !far) ctx.rect(b.x + 5, b.y - 5, b.w, b.h);
    }
    for (const i of list) outline(ctx, sight, i, far);
    ctx.fill();
    if (name !== "box") {
      ctx.fillStyle = name.startsWith("heat") ? colours.k[1] : colours.c[Number(name[1])];
      ctx.globalAlpha = name.startsWith("heat") ? Number(name.slice(5)) / 12 * 0.6 : 1;
      ctx.beginPath();
      for (const i of list) outline(ctx, sight, i, far);
      ctx.fill();
      ctx.globalAlpha = 1;
    }
    if (!far) {
      ctx.beginPath();
      for (const i of list) {
        if (sight.faces[i].repeat) stack(ctx, sight.boxes[i]);
        outline(ctx, sight, i, far);
      }
      ctx.stroke();
    }
  }
  for (const i of closed) {
    const f = sight.faces[i], isRemoved = g.p.facts.change?.[sight.list[i]] === 2;
    if (!f.error && !isRemoved && !matches?.has(i)) continue;
    const b = sight.boxes[i];
    ctx.strokeStyle = f.error ? colours.hot : matches?.has(i) ? colours.focus : colours.k[4];
    ctx.lineWidth = Math.max(2.4, 1.5 / k);
    ctx.setLineDash?.(isRemoved ? [5, 4] : []);
    ctx.strokeRect(b.x, b.y, b.w, b.h);
    ctx.setLineDash?.([]);
  }
  if (detail) {
    outputs(g, ctx, sight, closed, colours);
    if (shapes) edgeShapes(g, ctx, sight, [...once(bands.pieces)], colours);
    words(ctx, sight, closed, opened, colours);
  }
  if (selected !== undefined) {
    const b = sight.boxes[selected];
    ctx.strokeStyle = colours.focus;
    ctx.lineWidth = Math.max(2.5, 2 / k);
    ctx.strokeRect(b.x - 3, b.y - 3, b.w + 6, b.h + 6);
  }
}

const colour = (colours, name) => (/^[ck]\d$/.test(name) ? colours[name[0]][Number(name[1])] : colours[name]);

// Operations are rectangles, gradients have a cut corner, inputs round ends, blocks a double left side.
function outline(ctx, sight, i, far) {
  const b = sight.boxes[i], item = sight.list[i], f = sight.faces[i];
  if (far) return ctx.rect(b.x, b.y, b.w, b.h);
  if (item < 0) {
    ctx.rect(b.x, b.y, b.w, b.h);
    ctx.moveTo(b.x + 5, b.y);
    ctx.lineTo(b.x + 5, b.y + b.h);
  } else if (f.op === null || f.op === undefined) {
    const r = b.h * 0.4;
    ctx.moveTo(b.x + r, b.y);
    ctx.lineTo(b.x + b.w - r, b.y);
    ctx.bezierCurveTo(b.x + b.w + 2, b.y, b.x + b.w + 2, b.y + b.h, b.x + b.w - r, b.y + b.h);
    ctx.lineTo(b.x + r, b.y + b.h);
    ctx.bezierCurveTo(b.x - 2, b.y + b.h, b.x - 2, b.y, b.x + r, b.y);
  } else if (f.backward) {
    ctx.moveTo(b.x, b.y);
    ctx.lineTo(b.x + b.w - 10, b.y);
    ctx.lineTo(b.x + b.w, b.y + 10);
    ctx.lineTo(b.x + b.w, b.y + b.h);
    ctx.lineTo(b.x, b.y + b.h);
    ctx.closePath();
  } else ctx.rect(b.x, b.y, b.w, b.h);
}

// An output has a second line below.
function outputs(g, ctx, sight, closed, colours) {
  ctx.fillStyle = colours.fg;
  for (const i of closed) {
    const b = sight.boxes[i];
    if (isOutput(g, sight.list[i])) ctx.fillRect(b.x, b.y + b.h + 2, b.w, 3);
  }
}

// The shape of what an edge carries, beside its arrow.
function edgeShapes(g, ctx, sight, pieces, colours) {
  ctx.font = `10px ${SANS}`;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  const placed = []; // two labels that would meet: the first one stands
  const isWeight = (i) => sight.edges[sight.pieces[i].edges[0]].kind === "weight";
  for (const i of [...pieces.filter((i) => !isWeight(i)), ...pieces.filter(isWeight)]) {
    const { points, edges, ends } = sight.pieces[i];
    if (!ends) continue;
    const text = edgeShape(g, sight.edges[edges[0]]), down = ends & 1;
    const x = points[down ? points.length - 2 : 0] + 5, y = points[down ? points.length - 1 : 1] + (down ? -4 : 12);
    const wide = 6.2 * text.length;
    if (placed.some(([px, py, w]) => x < px + w && px < x + wide && Math.abs(y - py) < 11)) continue;
    placed.push([x, y, wide]);
    ctx.fillStyle = colours.bg;
    ctx.fillRect(x - 1, y - 9, wide, 11);
    ctx.fillStyle = colours.dim;
    ctx.fillText(text, x, y);
  }
}

function stack(ctx, b) {
  ctx.moveTo(b.x + 5, b.y);
  ctx.lineTo(b.x + 5, b.y - 5);
  ctx.lineTo(b.x + b.w + 5, b.y - 5);
  ctx.lineTo(b.x + b.w + 5, b.y + b.h - 5);
  ctx.lineTo(b.x + b.w, b.y + b.h - 5);
}

const SANS = "system-ui, DejaVu Sans, sans-serif";

function words(ctx, sight, closed, opened, colours) {
  ctx.textBaseline = "alphabetic";
  ctx.textAlign = "center";
  ctx.fillStyle = colours.fg;
  ctx.font = `600 12px ${SANS}`;
  for (const i of closed) {
    const b = sight.boxes[i], f = sight.faces[i];
    if (b.h > 24) ctx.fillText(`${f.error ? "✗ " : ""}${f.title}`, b.x + b.w / 2, b.y + 15);
  }
  ctx.font = `11px ${SANS}`;
  for (const i of closed) {
    const b = sight.boxes[i], f = sight.faces[i];
    const mark = !f.backward || f.title.startsWith("∇") ? "" : sight.list[i] < 0 ? " + ∇" : "∇ ";
    if (b.h <= 24) ctx.fillText(f.title, b.x + b.w / 2, b.y + 14);
    else ctx.fillText(sight.list[i] < 0 ? f.second + mark : mark + f.second, b.x + b.w / 2, b.y + 29);
  }
  ctx.textAlign = "left";
  ctx.font = `600 11px ${SANS}`;
  for (const i of opened) {
    const b = sight.boxes[i], text = `▾ ${sight.faces[i].error ? "✗ " : ""}${sight.faces[i].title}`;
    ctx.fillStyle = b.depth % 2 ? colours.bg : colours.panel;
    ctx.fillRect(b.x + 3, b.y + 2, 6.6 * columns(text), 16);
    ctx.fillStyle = colours.dim;
    ctx.fillText(text, b.x + 6, b.y + 14);
  }
}
