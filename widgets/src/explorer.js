// OpExplorer: one operator on small data; sliders, and every number of the result explained.
import { code, h, select, tableOf } from "./core/dom.js";
import { columns, digits, fitted, short } from "./core/format.js";
import { surface } from "./core/surface.js";
import { view } from "./core/view.js";
import { boundsOf, brief, CELL, cellAt, pickOf, sceneOf } from "./explorer/scene.js";
import { callOf, divisors, filterNames, limits, settle } from "./explorer/settings.js";

export * from "./explorer/compute.js";

const NAMES = { include_pad: "count padding in mean", head: "head shown", length: "valid keys", filter: "filter", type: "kind", convention: "last window" };
const MOST = 64; // rows of a sum that are written out

export default view("OpExplorer", (ctx) => {
  const choose = (patch) => ctx.choose(settle(ctx.payload, { ...ctx.state, ...patch }));
  const controls = h("span", { class: "mx-controls" });
  ctx.bar.append(controls);
  let scene = null;
  const sliders = new Map();

  function addSlider(name, label = NAMES[name] ?? name) {
    const out = h("output");
    const box = h("input", { type: "range", step: 1, "aria-label": label, oninput: () => choose({ [name]: Number(box.value) }) });
    const field = h("label", { class: "mx-field" }, h("span", null, label), box, out);
    sliders.set(name, { box, out, field });
    controls.append(field);
  }
  function addSelect(name, options) {
    const field = select(NAMES[name] ?? name, options, String(ctx.state[name]), (value) => choose({ [name]: /^\d+$/.test(value) ? Number(value) : value }));
    sliders.set(name, { choice: field.querySelector("select"), field });
    controls.append(field);
  }
  function build() {
    const p = ctx.payload;
    controls.replaceChildren();
    sliders.clear();
    if (p.operator === "attention") {
      addSlider("queries");
      addSlider("keys");
      addSelect("heads", divisors(p.queries[0].length).map((n) => [String(n), String(n)]));
      addSlider("head");
      addSelect("mask", [["none", "none"], ["causal", "causal: no key after the query"], ["length", "length: only the first keys"]]);
      addSlider("length");
      return;
    }
    addSlider("kernel");
    addSlider("stride");
    addSlider("pad");
    if (p.operator === "convolution") {
      addSlider("dilate");
      addSlider("channels");
      addSelect("filter", filterNames(p).map((name, i) => [String(i), name]));
    } else {
      addSelect("type", [["max", "max"], ["avg", "mean"]]);
      addSelect("convention", [["valid", "valid: inside only"], ["full", "full: may overhang"]]);
      const box = h("input", { type: "checkbox", onchange: () => choose({ include_pad: box.checked }) });
      const field = h("label", { class: "mx-field" }, box, h("span", null, NAMES.include_pad));
      sliders.set("include_pad", { check: box, field });
      controls.append(field);
    }
  }
  function adjust() {
    const state = ctx.state, all = limits(ctx.payload, state);
    for (const [name, { box, out, choice, check, field }] of sliders) {
      const value = state[name];
      if (choice) choice.value = String(value);
      else if (check) {
        check.checked = Boolean(value);
        field.hidden = state.type !== "avg";
      } else {
        const [least, most] = all[name];
        box.min = least;
        box.max = most;
        box.value = value;
        box.disabled = least === most;
        out.textContent = String(value);
        box.setAttribute("aria-valuetext", String(value));
      }
      if (name === "length") field.hidden = state.mask !== "length";
      if (name === "head") field.hidden = state.heads === 1;
    }
  }

  const tell = () => ctx.say(scene.rows.length || scene.total ? `${scene.head}: ${scene.total}` : scene.head);
  const move = (rows, columns) => {
    const next = [scene.row + rows, scene.column + columns];
    if (scene.out[next[0]]?.[next[1]] !== undefined) ctx.choose({ at: next });
  };
  const picture = surface(ctx, {
    label: "data, kernel and result as grids of numbers; arrow keys select a cell of the result",
    height: 400,
    bounds: () => boundsOf(scene),
    draw: (g, camera) => paint(g, camera),
    hit: (x, y) => cellAt(scene, x, y),
    hover(at) {
      if (!at) return tell();
      const value = at.pane.value(at.row, at.column);
      ctx.say(`${at.pane.note(at.row, at.column)}${value === null ? "" : ` = ${Number.isFinite(value) ? digits(value) : value}`}`);
    },
    pick(at) {
      const next = at && pickOf(scene, ctx.state, at);
      if (next) ctx.choose(next);
    },
    key(event) {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (step) move(...step);
      else if (event.key === "s" && ctx.payload.operator === "attention") ctx.choose({ pane: ctx.state.pane === "scores" ? "out" : "scores" });
      else return false;
      return true;
    },
  });
  ctx.keys([["arrows", "select a cell of the result"], ["s", "attention: scores or result"], ["+ - 0", "zoom in, out, fit"], ["drag", "move"]]);

  function paint(g, camera) {
    const ink = ctx.colour("fg"), dim = ctx.colour("dim"), line = ctx.colour("line"), cold = ctx.colour("k0"), warm = ctx.colour("k1"), paper = ctx.colour("bg"), panel = ctx.colour("panel");
    g.textAlign = "center";
    g.textBaseline = "middle";
    const numbers = CELL * camera.kx > 17;
    const ends = [];
    for (const pane of scene.panes) {
      let most = 0;
      for (let i = 0; i < pane.rows; i += 1) for (let j = 0; j < pane.columns; j += 1) most = Math.max(most, Number.isFinite(pane.value(i, j)) ? Math.abs(pane.value(i, j)) : 0);
      if (most > 1e30) most = 1;
      g.fillStyle = ink;
      g.font = "600 12px system-ui, sans-serif";
      g.textAlign = "left";
      g.fillText(pane.title, pane.x, pane.y - (pane.across ? 26 : 14));
      g.textAlign = "center";
      g.font = "9px system-ui, sans-serif";
      for (let i = 0; i < pane.rows; i += 1) {
        for (let j = 0; j < pane.columns; j += 1) {
          const x = pane.x + j * CELL, y = pane.y + i * CELL, value = pane.value(i, j), lit = pane.lit(i, j);
          g.fillStyle = value === null ? panel : paper;
          g.fillRect(x, y, CELL - 1, CELL - 1);
          if (value === null || !Number.isFinite(value)) hatch(g, x, y, line);
          else {
            g.globalAlpha = most ? 0.08 + 0.6 * Math.min(1, Math.abs(value) / most) : 0.08;
            g.fillStyle = value < 0 ? cold : warm;
            g.fillRect(x, y, CELL - 1, CELL - 1);
            g.globalAlpha = 1;
          }
          if (numbers && value !== null) {
            g.fillStyle = ink;
            g.fillText(value === -Infinity ? "−∞" : Math.abs(value) > 1e30 ? "−max" : brief(value), x + CELL / 2, y + CELL / 2);
          }
          g.strokeStyle = lit ? ink : line;
          g.lineWidth = lit ? 2 : 0.5;
          g.strokeRect(x, y, CELL - 1, CELL - 1);
          if (lit && pane.best?.(i, j)) {
            g.lineWidth = 2;
            g.strokeRect(x + 3, y + 3, CELL - 7, CELL - 7);
          }
        }
      }
      label(g, pane, dim);
      if (["kernel0", "out"].includes(pane.name) || pane.name.startsWith("input")) ends.push(boxOf(pane));
    }
    if (ctx.payload.operator !== "attention") join(g, ends, ctx.colour("k3"), camera);
  }
  function label(g, pane, dim) {
    g.fillStyle = dim;
    g.font = "10px system-ui, sans-serif";
    if (pane.labels) {
      g.textAlign = "right";
      for (let i = 0; i < pane.rows; i += 1) g.fillText(fitted(g, String(pane.labels[i]), 36), pane.x - 4, pane.y + (i + 0.5) * CELL);
    }
    if (pane.across) {
      g.textAlign = "center";
      for (let j = 0; j < pane.columns; j += 1) g.fillText(fitted(g, String(pane.across[j]), CELL), pane.x + (j + 0.5) * CELL, pane.y - 8);
    }
    g.textAlign = "center";
  }
  // Lines from the window of each channel to the chosen cell of the result.
  function join(g, boxes, colour, camera) {
    const end = boxes.at(-1);
    if (!end?.box) return;
    g.strokeStyle = colour;
    g.lineWidth = 1.2 / camera.kx;
    for (const { box, name } of boxes.slice(0, -1)) {
      if (!box || !name.startsWith("input")) continue;
      for (const [y, to] of [[box.top, end.box.top], [box.bottom, end.box.bottom]]) {
        g.beginPath();
        g.moveTo(box.right, y);
        g.lineTo(end.box.left, to);
        g.stroke();
      }
    }
  }
  function boxOf(pane) {
    let top = Infinity, bottom = -Infinity, left = Infinity, right = -Infinity;
    for (let i = 0; i < pane.rows; i += 1) {
      for (let j = 0; j < pane.columns; j += 1) {
        if (!pane.lit(i, j)) continue;
        top = Math.min(top, pane.y + i * CELL);
        bottom = Math.max(bottom, pane.y + (i + 1) * CELL);
        left = Math.min(left, pane.x + j * CELL);
        right = Math.max(right, pane.x + (j + 1) * CELL);
      }
    }
    return { name: pane.name, box: right > left ? { top, bottom, left, right } : null };
  }

  // As high as the grids are at full width; not too small, not too high for a page.
  function resize() {
    const box = boundsOf(scene), width = picture.canvas.clientWidth || 760;
    picture.canvas.style.height = `${Math.round(Math.min(640, Math.max(280, box.height * Math.min(1.3, width / box.width) + 24)))}px`;
    picture.fit();
  }

  function explain() {
    const rows = scene.rows.slice(0, MOST);
    ctx.side.replaceChildren(
      h("h2", null, ctx.payload.operator),
      h("h3", null, "Size of the result"),
      ...scene.size.map((text) => h("div", null, text)),
      h("h3", null, "This cell"),
      h("p", null, scene.head),
      ...(rows.length ? [tableOf(scene.header, rows.map(([name, ...numbers]) => [h("span", { title: name }, short(name, Math.round((12 * name.length) / columns(name)))), ...numbers]))] : []),
      ...(scene.rows.length > rows.length ? [h("p", null, `and ${scene.rows.length - rows.length} more`)] : []),
      h("p", null, h("b", null, scene.total)),
      h("h3", null, "The same in mixnet"),
      code(callOf(ctx.payload, ctx.state)),
    );
  }

  return (cause) => {
    if (cause === "payload") build();
    if (cause !== "theme") {
      const size = scene && JSON.stringify(boundsOf(scene));
      scene = sceneOf(ctx.payload, ctx.state);
      if (size !== JSON.stringify(boundsOf(scene))) resize();
      adjust();
      explain();
      tell();
    }
    picture.redraw();
  };
});

function hatch(g, x, y, colour) {
  g.strokeStyle = colour;
  g.lineWidth = 0.6;
  g.beginPath();
  for (let d = 6; d < 2 * CELL - 6; d += 8) {
    g.moveTo(x + Math.max(0, d - CELL + 1), y + Math.min(d, CELL - 1));
    g.lineTo(x + Math.min(d, CELL - 1), y + Math.max(0, d - CELL + 1));
  }
  g.stroke();
}

