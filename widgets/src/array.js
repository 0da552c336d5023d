// ArrayView: a heat map of one slice, with numbers where cells have room, a slider over slices, the value under the
// pointer or the cursor keys.
import { button, h, slider } from "./core/dom.js";
import { digits, shape } from "./core/format.js";
import { surface } from "./core/surface.js";
import { view } from "./core/view.js";

// Edge of a cell: few rows get large ones.
export const edgeOf = (rows) => Math.min(32, Math.max(14, Math.floor(157 / Math.max(rows, 1))));
const ROOM = 34; // pixels of a cell that a number fits into

// Blue for the lowest, white in the middle, red for the highest; where both signs occur, white is zero, and blue and red
// are equally far from it. Grey for what is not finite.
export const colour = (cell, range) => `rgb(${mixture(cell, range).join(",")})`;

function mixture(cell, { low, high }) {
  if (cell === 255) return [128, 128, 128];
  const t = cell / 254, warmth = low < 0 && high > 0 ? about(cell, low, high) / Math.max(-low, high) : low === high ? 0 : 2 * t - 1;
  const end = warmth < 0 ? [33, 102, 172] : [178, 24, 43];
  return end.map((part) => Math.round(247 + (part - 247) * Math.abs(warmth)));
}

// What a number is written in: the more legible of black and white (relative luminance, as in WCAG).
export function inkOn(cell, range) {
  const [r, g, b] = mixture(cell, range).map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.18 ? "#fff" : "#000";
}

// The colours from the lowest to the highest value, as the background of an element.
const ramp = (range) => `linear-gradient(to right,${[0, 63.5, 127, 190.5, 254].map((cell) => colour(cell, range)).join(",")})`;

// The number that a cell stands for.
const about = (cell, low, high) => low * (1 - cell / 254) + high * (cell / 254);

// The number at a place, as text; about, where there are too many to store each.
export function valueAt(payload, slice, row, column) {
  const value = payload.values?.[slice][row][column];
  if (value !== undefined) return typeof value === "string" ? value : digits(value);
  const cell = payload.cells[slice][row][column];
  return cell === 255 ? "not finite" : `≈ ${digits(about(cell, payload.low, payload.high))}`;
}

// The range of the values that are shown.
export function rangeOf({ low, high, finite }) {
  if (finite === "none") return "not finite";
  return low === null ? "" : `${digits(low)} … ${digits(high)}${finite === "some" ? ", some not finite" : ""}`;
}

export default view("ArrayView", (ctx) => {
  let edge = edgeOf(ctx.payload.axes[0].length);
  const title = h("b"), facts = h("span"), control = h("span");
  const legend = h("span", { title: "colours from the lowest value to the highest", style: "width:72px;height:14px;border:1px solid var(--mx-line)" });
  const compute = button("Compute", "run the pending operations and show the values", () => (ctx.say("computing …"), ctx.send({ do: "compute" })));
  ctx.bar.append(title, facts, legend, control, compute);
  const cells = () => ctx.payload.cells[ctx.state.slice ?? 0] ?? [];
  const tell = (at) => {
    if (!at) return;
    const { axes, slices } = ctx.payload;
    const index = [...(slices[ctx.state.slice ?? 0] ?? []), ...(ctx.payload.shape.length > 1 ? [axes[0][at.row]] : []), axes[1][at.column]];
    ctx.say(`[${index.join(", ")}] ${valueAt(ctx.payload, ctx.state.slice ?? 0, at.row, at.column)}`);
  };
  const picture = surface(ctx, {
    label: "heat map; arrow keys move between cells",
    height: 260,
    bounds: () => ({ x: 0, y: 0, width: edge * Math.max(ctx.payload.axes[1].length, 1), height: edge * Math.max(ctx.payload.axes[0].length, 1) }),
    draw(g, camera) {
      const piece = ctx.state.slice ?? 0, isWritten = Boolean(ctx.payload.values) && edge * camera.kx >= ROOM;
      g.font = `${11 / camera.kx}px system-ui, sans-serif`;
      g.textAlign = "center";
      g.textBaseline = "middle";
      cells().forEach((row, i) =>
        row.forEach((cell, j) => {
          g.fillStyle = colour(cell, ctx.payload);
          g.fillRect(j * edge, i * edge, edge - 1, edge - 1);
          if (!isWritten) return;
          const words = valueAt(ctx.payload, piece, i, j);
          if (g.measureText(words).width > edge - 3) return; // the line below says it
          g.fillStyle = inkOn(cell, ctx.payload);
          g.fillText(words, (j + 0.5) * edge - 0.5, (i + 0.5) * edge - 0.5);
        }),
      );
      const at = ctx.state.at;
      if (at) {
        g.strokeStyle = ctx.colour("fg");
        g.lineWidth = 2 / camera.kx;
        g.strokeRect(at.column * edge, at.row * edge, edge - 1, edge - 1);
      }
    },
    hit(x, y) {
      const row = Math.floor(y / edge), column = Math.floor(x / edge);
      return cells()[row]?.[column] === undefined ? null : { row, column };
    },
    hover: tell,
    pick: (at) => at && ctx.choose({ at }),
    key(event) {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (!step) return false;
      const at = ctx.state.at ?? { row: 0, column: -1 };
      const next = { row: at.row + step[0], column: at.column + step[1] };
      if (cells()[next.row]?.[next.column] !== undefined) ctx.choose({ at: next });
      return true;
    },
  });
  ctx.keys([["arrows", "move between cells"], ["+ - 0", "zoom in, out, fit"], ["drag", "move"]]);
  return (cause) => {
    const p = ctx.payload;
    if (cause === "payload") {
      edge = edgeOf(p.axes[0].length);
      title.textContent = shape(p.shape);
      facts.textContent = [p.dtype, p.context, p.state, rangeOf(p)].filter(Boolean).join(" · ");
      legend.hidden = p.low === null || p.low === p.high;
      if (!legend.hidden) legend.style.background = ramp(p);
      const many = p.slices.length > 1;
      const show = (i) => `[${p.slices[i].join(", ")}]${p.of > p.slices.length ? ` (first ${p.slices.length} of ${p.of})` : ""}`;
      control.replaceChildren(
        ...(many ? [slider("slice", { min: 0, max: p.slices.length - 1, step: 1, value: ctx.state.slice ?? 0, show }, (slice) => ctx.choose({ slice }))] : []),
      );
      const pending = p.state === "pending";
      compute.hidden = !pending || ctx.isStatic;
      picture.canvas.style.height = pending ? "24px" : "260px";
      if (pending) ctx.say(`pending: nothing has been computed yet; ${ctx.isStatic ? "reading a value runs it" : "Compute runs it"}`);
    }
    if (ctx.state.at) tell(ctx.state.at);
    else if (p.state !== "pending") ctx.say("point at a cell or press an arrow key to read its value");
    picture.redraw();
  };
});
