// Draws the boxes of a plan into a rectangle of a canvas, all of it in pixels.
import { fitted } from "../core/format.js";
import { KINDS, nameOf, visible } from "./plan.js";

export const MOST = 1500; // boxes drawn one by one; what is smaller shows in a picture of the whole
const LABELS = 300;

// frame: {left, top, width, height} in pixels of [from, to] in time and [low, high] in bytes.
export function scales(frame, from, to, low, high) {
  const kx = frame.width / (to - from || 1), ky = frame.height / (high - low || 1);
  return { x: (t) => frame.left + (t - from) * kx, y: (b) => frame.top + frame.height - (b - low) * ky, kx, ky, from, to, low, high };
}

export function colours(ctx) {
  return Object.fromEntries(Object.entries(KINDS).map(([kind, [n]]) => [kind, { pale: ctx.colour(`c${n}`), strong: ctx.colour(`k${n}`) }]));
}

// Returns how many boxes are in sight, and how many were drawn one by one.
export function drawBoxes(g, p, at, ink, { underlay = null, most = MOST } = {}) {
  const { shown, count } = visible(p, at.from, at.to, at.low, at.high, most);
  const thinned = count > shown.length && underlay;
  if (thinned) {
    const x = at.x(p.start), y = at.y(p.plan.total);
    g.imageSmoothingEnabled = false;
    g.drawImage(underlay, x, y, at.x(p.length) - x, at.y(0) - y);
  }
  const large = {}, small = {}; // a colour is set once for all of its boxes: to set it is slower than to draw one
  for (const n of shown) {
    const w = (p.end[n] - p.begin[n]) * at.kx, h = (p.high[n] - p.low[n]) * at.ky;
    if (thinned && (w < 3 || h < 3)) continue;
    ((w > 2.5 && h > 2.5 ? large : small)[p.graph.arrays.kind[n]] ??= []).push(n);
  }
  const box = (n) => [at.x(p.begin[n]), at.y(p.high[n]), Math.max((p.end[n] - p.begin[n]) * at.kx, 0.6), Math.max((p.high[n] - p.low[n]) * at.ky, 0.5)];
  g.lineWidth = 0.7;
  for (const kind in large) {
    g.fillStyle = ink[kind].pale;
    g.strokeStyle = ink[kind].strong;
    for (const n of large[kind]) {
      const [x, y, w, h] = box(n);
      g.fillRect(x, y, w, h);
      g.strokeRect(x, y, w, h);
    }
  }
  for (const kind in small) {
    g.fillStyle = ink[kind].strong;
    for (const n of small[kind]) g.fillRect(...box(n));
  }
  if (ink.text) write(g, p, at, shown, ink.text);
  return { count, drawn: shown.length };
}

// Names, where they fit; else the letter of the kind.
function write(g, p, at, shown, ink) {
  g.fillStyle = ink;
  g.font = "11px system-ui, sans-serif";
  g.textBaseline = "middle";
  const prefix = `${p.name}_`; // every name of a block begins with it
  let written = 0;
  for (const n of shown) {
    if (written > LABELS) break;
    const left = Math.max(at.x(p.begin[n]), at.x(at.from)), right = Math.min(at.x(p.end[n]), at.x(at.to));
    const h = (p.high[n] - p.low[n]) * at.ky;
    if (right - left < 9 || h < 10) continue;
    const room = right - left - 6, name = nameOf(p.graph, n).replace(prefix, "");
    const text = room > 37 ? fitted(g, name, room) : p.graph.arrays.kind[n];
    const middle = Math.min(Math.max((at.y(p.low[n]) + at.y(p.high[n])) / 2, at.y(at.high) + 7), at.y(at.low) - 7);
    g.fillText(text, left + 3, middle);
    written += 1;
  }
}

// The whole plan once, for what is too small or too many to draw in each frame.
export function pictureOf(p, ink, width = 1024, height = 512) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const at = scales({ left: 0, top: 0, width, height }, p.start, p.length, 0, p.plan.total);
  drawBoxes(canvas.getContext("2d"), p, at, { ...ink, text: null }, { most: Infinity });
  return canvas;
}
