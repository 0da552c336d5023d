// ArrayView: a heat map of one slice, a slider over slices, the value under the pointer or the cursor keys.
import { button, h, slider } from "./core/dom.js";
import { digits, shape } from "./core/format.js";
import { surface } from "./core/surface.js";
import { view } from "./core/view.js";

// Edge of a cell: few rows get large ones.
export const edgeOf = (rows) => Math.min(24, Math.max(14, Math.floor(157 / Math.max(rows, 1))));

// Blue for the lowest, white in the middle, red for the highest; where both signs occur, white is zero, and blue and red
// are equally far from it. Grey for what is not finite.
export function colour(cell, { low, high }) {
  if (cell === 255) return "rgb(128,128,128)";
  const t = cell / 254, warmth = low < 0 && high > 0 ? about(cell, low, high) / Math.max(-low, high) : low === high ? 0 : 2 * t - 1;
  const end = warmth < 0 ? [33, 102, 172] : [178, 24, 43];
  return `rgb(${end.map((part) => Math.round(247 + (part - 247) * Math.abs(warmth))).join(",")})`;
}

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
  const compute = button("Compute", "run the pending operations and show the values", () => (ctx.say("computing …"), ctx.send({ do: "compute" })));
  ctx.bar.append(title, facts, control, compute);
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
      cells().forEach((row, i) =>
        row.forEach((cell, j) => {
          g.fillStyle = colour(cell, ctx.payload);
          g.fillRect(j * edge, i * edge, edge - 1, edge - 1);
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
