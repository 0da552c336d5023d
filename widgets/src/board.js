// TrainingBoard: curves while they grow, histograms, images, events; pause, step, stop and the learning rate.
import { button, h, isPlain, tableOf } from "./core/dom.js";
import { bytes, count, digits, fitted, howMany, short, ticks } from "./core/format.js";
import { view } from "./core/view.js";
import { decades, extent, grouped, nearest, pieces, placeOf, rateOf, scales, shown } from "./board/chart.js";

const HEIGHT = 150, LETTERS = "ABCDEFGH", DASHES = [[], [7, 3], [2, 2], [9, 3, 2, 3]];
const WORDS = {
  new: "has not begun", run: "running", pause: "paused", done: "done", stop: "stopped", error: "failed", nan: "not finite",
};
const MOST_IN_LINE = 8; // curves with their last value, as MOST_IN_SUMMARY of board/view.py
const WHY = "needs a running kernel: this page is a copy";
// The last point of a curve that is not beyond a step.
const atStep = ({ step, value: values }, at) => {
  const k = step.findLastIndex((each) => each <= at);
  return k < 0 ? ["", "begins later"] : [String(step[k]), value(values[k])];
};
const value = (v) => (v === null || v === undefined ? "not finite" : digits(v));

export default view("TrainingBoard", (ctx) => {
  const title = h("b"), status = h("span", { class: "mx-status" });
  const act = (text, label, action) => button(text, label, () => ctx.send({ do: action }), { disabled: ctx.isStatic, ...(ctx.isStatic ? { title: WHY } : {}) });
  const pause = act("pause", "pause the training", "pause"), resume = act("resume", "resume the training", "resume");
  const step = act("step", "one step, then pause", "step"), stop = act("stop", "stop the training", "stop");
  const out = h("output");
  const rate = h("input", { type: "range", min: 0, max: 100, step: 1, "aria-label": "learning rate", disabled: ctx.isStatic, ...(ctx.isStatic ? { title: WHY } : {}) });
  let dragging = false;
  const showRate = (number) => {
    out.textContent = number === null ? "" : digits(number);
    rate.setAttribute("aria-valuetext", out.textContent);
  };
  rate.addEventListener("input", () => ((dragging = true), showRate(rateOf(rate.value))));
  rate.addEventListener("change", () => {
    dragging = false;
    ctx.send({ learning_rate: rateOf(rate.value) });
  });
  const field = h("label", { class: "mx-field" }, h("span", null, "learning rate"), rate, out);
  const recent = button("newest", "show only the newest values", () => ctx.choose({ recent: !ctx.state.recent }));
  const log = button("log", "log axes", () => ctx.choose({ log: !ctx.state.log }));
  ctx.bar.append(title, status, h("span", { class: "mx-field", role: "group", "aria-label": "training" }, pause, resume, step, stop), field, recent, log);
  if (ctx.isStatic) ctx.bar.append(h("span", { class: "mx-note" }, "buttons need a running kernel"));
  const grid = h("div", { class: "mx-charts" }), pictures = h("div", { class: "mx-images" });
  ctx.stage.append(grid, pictures);
  ctx.stage.classList.add("mx-scroll");
  ctx.keys([["← →", "move between steps, on a chart"], ["Home End", "first, last step"], ["Esc", "no step"], ["Tab", "next chart, button"]]);

  // ---- charts: one canvas each, kept while its name stays
  const charts = new Map();
  function chart(key) {
    if (!charts.has(key)) {
      const canvas = h("canvas", { class: "mx-chart", tabindex: "0", role: "img", style: `height:${HEIGHT}px` });
      const one = { canvas, data: null, scale: null };
      canvas.addEventListener("pointermove", (event) => {
        if (one.scale) point(Math.round(one.scale.step(event.clientX - canvas.getBoundingClientRect().left)), false);
      });
      canvas.addEventListener("pointerleave", () => point(ctx.state.at ?? null, false));
      canvas.addEventListener("click", () => point(hovered, true));
      canvas.addEventListener("keydown", (event) => walk(event, one));
      charts.set(key, one);
      grid.append(canvas);
    }
    return charts.get(key);
  }
  let hovered = null;
  function point(at, keep) {
    hovered = at;
    if (keep) return ctx.choose({ at });
    tell();
    redraw();
  }
  function walk(event, { data }) {
    const steps = data?.curves?.[0]?.step ?? [];
    if (!steps.length || !isPlain(event)) return;
    const k = hovered === null ? steps.length - 1 : nearest(steps, hovered);
    const to = { ArrowLeft: k - (hovered === null ? 0 : 1), ArrowRight: k + 1, Home: 0, End: steps.length - 1 }[event.key];
    if (to === undefined && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    point(event.key === "Escape" ? null : steps[Math.min(Math.max(to, 0), steps.length - 1)], true);
  }
  // Every curve's value at the step, in words.
  function tell() {
    const p = ctx.payload;
    if (hovered === null) return ctx.say(line(p));
    const values = p.series.map((s) => shown(s, ctx.state.recent)).map((s) => [s, nearest(s.step, hovered)]).filter(([, k]) => k >= 0);
    ctx.say(`step ${hovered}: ${values.map(([s, k]) => `${s.name} ${value(s.value[k])}`).join(", ")}`);
  }
  const line = (p) => {
    const bad = p.status === "nan" ? p.nan : null;
    const last = p.series.filter((s) => s.recent.value.length && s.name !== bad?.name).map((s) => `${s.name} ${value(s.recent.value.at(-1))}`);
    if (last.length > MOST_IN_LINE) last.push(howMany(last.splice(MOST_IN_LINE).length, "more curve"));
    const speed = p.throughput.value.length ? [`${count(p.throughput.value.at(-1))} ${p.throughput.unit}`] : [];
    return [word(p), ...(bad?.step === p.step ? [] : [`step ${p.step.toLocaleString("en-US")}`]), ...last, ...speed].join(", ");
  };
  const word = (p) => (p.status === "nan" ? `${p.nan.name} not finite since step ${p.nan.step}${p.running ? ", running" : ""}` : WORDS[p.status] ?? p.status);

  let frame = 0;
  function redraw() {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      const colour = Object.fromEntries(["fg", "dim", "line", "hot", "panel", "bg", ...[..."01234567"].map((n) => `k${n}`)].map((n) => [n, ctx.colour(n)]));
      for (const one of charts.values()) paint(one, colour);
    });
  }
  ctx.onClose(() => cancelAnimationFrame(frame));
  const resized = new ResizeObserver(redraw);
  resized.observe(grid);
  ctx.onClose(() => resized.disconnect());

  // Names of curves stand over them, a line each.
  const tallOf = ({ curves: list }) => HEIGHT + 12 * Math.max((list?.length ?? 0) - 2, 0);
  function paint(one, colour) {
    const { canvas, data } = one, width = canvas.clientWidth, scale = window.devicePixelRatio || 1;
    if (!width || !data) return;
    const tall = tallOf(data);
    canvas.style.height = `${tall}px`;
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    canvas.height = Math.round(tall * scale);
    const began = performance.now(), g = canvas.getContext("2d");
    g.scale(scale, scale);
    g.textBaseline = "alphabetic";
    g.font = "11px system-ui, sans-serif";
    const occupied = (data.kind === "hist" ? bars : curves)(g, one, width, colour) ?? 0; // beside the title
    g.fillStyle = colour.fg;
    g.font = "600 12px system-ui, sans-serif";
    g.textAlign = "left";
    g.fillText(fitted(g, data.title, width - 16 - occupied), 8, 16);
    canvas.dataset.drawTime = (performance.now() - began).toFixed(2);
  }

  function curves(g, one, width, colour) {
    const { curves: list, show, log } = one.data, top = Math.max(36, 24 + 12 * list.length), box = { x: 50, y: top, width: width - 60, height: tallOf(one.data) - 22 - top };
    const range = extent(list, log, one.data.fromZero);
    g.fillStyle = colour.dim;
    if (!range) {
      one.scale = null;
      g.fillText(log ? "nothing above zero" : "no finite value", 8, 40);
      return 0;
    }
    const scale = (one.scale = scales(range, box, log));
    const lie = box.y + box.height;
    g.strokeStyle = colour.line;
    g.lineWidth = 0.6;
    g.strokeRect(box.x, box.y, box.width, box.height);
    axes(g, box, scale, range, one.data);
    // Programs compiled: a tick below. The first value that is not finite: a dashed line with a word.
    for (const event of ctx.payload.events) {
      if (event.kind === "compile" && event.step >= range.first && event.step <= range.last) g.fillRect(scale.px(event.step) - 1, lie, 2, 5);
    }
    const bad = ctx.payload.nan;
    if (bad && list.some((c) => c.name === bad.name) && bad.step >= range.first) {
      const at = scale.px(bad.step);
      g.strokeStyle = g.fillStyle = colour.hot;
      g.setLineDash([4, 3]);
      g.beginPath();
      g.moveTo(at, box.y);
      g.lineTo(at, lie);
      g.stroke();
      g.setLineDash([]);
      g.textAlign = at > width / 2 ? "right" : "left";
      g.fillText(" not finite ", at, box.y + 12);
    }
    let occupied = 0;
    list.forEach((curve, n) => {
      const ink = colour[`k${n % 8}`];
      g.strokeStyle = g.fillStyle = ink;
      if (curve.low?.length) {
        const upper = pieces(curve, curve.high, scale, log), lower = pieces(curve, curve.low, scale, log);
        g.globalAlpha = 0.22;
        if (upper.length === lower.length) upper.forEach((piece, k) => fill(g, [...piece, ...lower[k].reverse()]));
        g.globalAlpha = 1;
      }
      g.lineWidth = 1.6;
      g.setLineDash(DASHES[n % DASHES.length]);
      for (const piece of pieces(curve, curve.value, scale, log)) {
        if (piece.length === 1) fill(g, [[-2, -2], [2, -2], [2, 2], [-2, 2]].map(([x, y]) => [piece[0][0] + x, piece[0][1] + y]));
        g.beginPath();
        piece.forEach(([x, y], k) => (k ? g.lineTo(x, y) : g.moveTo(x, y)));
        g.stroke();
      }
      g.setLineDash([]);
      g.textAlign = "right";
      const k = hovered === null ? -1 : nearest(curve.step, hovered);
      const now = k >= 0 ? curve.value[k] : (curve.recent ?? curve).value.at(-1);
      const number = now === null || now === undefined ? "not finite" : show(now), room = width - 22 - g.measureText(number).width - (n ? 0 : 60); // the title has the rest of the first line
      const words = list.length > 1 ? `${fitted(g, `${LETTERS[n % 8]} ${short(curve.name, 28)}`, room)} ${number}` : number;
      g.fillText(words, width - 8, 16 + 12 * n);
      if (!n) occupied = 8 + g.measureText(words).width;
      if (k >= 0 && now !== null && (!log || now > 0)) fill(g, [[-3, 0], [0, -3], [3, 0], [0, 3]].map(([x, y]) => [scale.px(curve.step[k]) + x, scale.py(now) + y]));
    });
    if (hovered !== null && hovered >= range.first && hovered <= range.last) {
      g.strokeStyle = colour.fg;
      g.lineWidth = 0.8;
      g.beginPath();
      g.moveTo(scale.px(hovered), box.y);
      g.lineTo(scale.px(hovered), lie);
      g.stroke();
    }
    g.textAlign = "left";
    return occupied;
  }

  // Round numbers along both axes: values at the left, steps below.
  function axes(g, box, scale, range, { show, log }) {
    g.font = "10px system-ui, sans-serif";
    g.textAlign = "right";
    for (const level of log ? decades(range.low, range.high) : ticks(range.low, range.high, 3)) {
      const y = scale.py(level);
      g.fillText(show(level), box.x - 4, y + 3.5);
      g.globalAlpha = 0.35;
      g.fillRect(box.x, y, box.width, 0.8);
      g.globalAlpha = 1;
    }
    g.textAlign = "center";
    const steps = ticks(range.first, range.last, Math.max(Math.floor(box.width / 60), 1)).filter((step) => step === Math.round(step));
    for (const step of steps) {
      const half = g.measureText(String(step)).width / 2;
      g.fillText(step, Math.min(scale.px(step), box.x + box.width + 8 - half), box.y + box.height + 16);
    }
    g.font = "11px system-ui, sans-serif";
  }

  function fill(g, points) {
    g.beginPath();
    points.forEach(([x, y], k) => (k ? g.lineTo(x, y) : g.moveTo(x, y)));
    g.fill();
  }

  function bars(g, one, width, colour) {
    const { hist } = one.data, most = Math.max(...hist.counts, 1), each = (width - 16) / Math.max(hist.counts.length, 1);
    one.scale = null;
    g.fillStyle = colour.k0;
    hist.counts.forEach((n, k) => g.fillRect(8 + k * each, HEIGHT - 22 - (n / most) * (HEIGHT - 52), each - 1, (n / most) * (HEIGHT - 52)));
    g.fillStyle = colour.dim;
    g.fillText(digits(hist.low), 8, HEIGHT - 6);
    g.textAlign = "center";
    g.fillText(`${hist.bad ? `${hist.bad} not finite, ` : ""}step ${hist.step}`, width / 2, HEIGHT - 6);
    g.textAlign = "right";
    g.fillText(digits(hist.high), width - 8, HEIGHT - 6);
    g.textAlign = "left";
  }

  function build(p) {
    const drawn = new Set();
    const put = (key, data, label) => {
      drawn.add(key);
      const one = chart(key);
      one.data = data;
      one.canvas.setAttribute("aria-label", label);
    };
    const last = (list) => list.map((c) => `${c.name} ${value(c.recent.value.at(-1))}`).join(", ");
    const others = (ctx.state.recent ? [] : p.others ?? []).flatMap(({ title, series }) => series.map((each) => ({ ...each, name: `${title}: ${each.name}` })));
    for (const [group, list] of grouped(p.series)) {
      const some = [...list.map((each) => shown(each, ctx.state.recent)), ...others.filter((each) => each.group === group)];
      put(`s ${group}`, { title: group, curves: some, show: value, log: ctx.state.log }, `${group} over steps: ${last(list)}`);
    }
    for (const [key, unit, show] of [["throughput", p.throughput.unit, count], ["memory", "live arrays", bytes]]) {
      if (p[key].value.length) put(`x ${key}`, { title: `${key}: ${unit}`, curves: [{ name: key, ...p[key] }], show, fromZero: true }, `${key} over steps: ${show(p[key].value.at(-1))} ${unit}`);
    }
    for (const hist of p.hist) put(`h ${hist.layer}`, { title: hist.layer, kind: "hist", hist }, `histogram of ${hist.layer} at step ${hist.step}, ${digits(hist.low)} to ${digits(hist.high)}`);
    for (const [key, one] of charts) {
      if (drawn.has(key)) continue;
      one.canvas.remove();
      charts.delete(key);
    }
    // Curves stay in front of histograms that came earlier.
    [...drawn].forEach((key, k) => grid.children[k] !== charts.get(key).canvas && grid.insertBefore(charts.get(key).canvas, grid.children[k] ?? null));
  }

  let pictured = "", listed = "", last = "";
  function aside(p) {
    const now = JSON.stringify([p.events, p.series.map((s) => s.recent.value.at(-1)), p.step]);
    if (now === listed) return;
    listed = now;
    ctx.side.replaceChildren(
      h("h2", null, "last values"),
      p.series.length ? tableOf(["curve", "step", "value"], p.series.map((s) => [s.name, String(s.recent.step.at(-1)), value(s.recent.value.at(-1))])) : h("p", null, "nothing was logged"),
      ...(p.others?.length ? [h("h2", null, `other runs, up to step ${p.step.toLocaleString("en-US")}`), tableOf(["curve", "step", "value"], p.others.flatMap(({ title, series }) => series.map((s) => [`${title}: ${s.name}`, ...atStep(s, p.step)])))] : []),
      ...(p.events.length ? [h("h2", null, "events"), h("ul", { class: "mx-uses" }, p.events.slice(-30).reverse().map((e) => h("li", e.kind === "error" || e.kind === "nan" ? { class: "mx-error" } : null, `step ${e.step}: ${e.text}`)))] : []),
    );
  }

  return (cause) => {
    const p = ctx.payload, { state } = ctx;
    title.textContent = p.title;
    status.textContent = word(p);
    status.dataset.status = p.status;
    if (!ctx.isStatic) {
      pause.disabled = !p.running || p.status === "pause";
      resume.disabled = p.status !== "pause";
      step.disabled = stop.disabled = !p.running;
    }
    field.hidden = p.learning_rate === null;
    if (p.learning_rate !== null && !dragging) {
      rate.value = placeOf(p.learning_rate);
      showRate(p.learning_rate);
    }
    recent.setAttribute("aria-pressed", String(!!state.recent));
    log.setAttribute("aria-pressed", String(!!state.log));
    if (cause === "state") hovered = state.at ?? null;
    if (cause === "payload" && hovered === null && state.at != null) hovered = state.at;
    if (cause !== "theme") {
      build(p);
      aside(p);
      const now = JSON.stringify(p.images.map((image) => [image.name, image.step]));
      if (now !== pictured) pictures.replaceChildren(...p.images.map((image) => h("figure", null, h("img", { src: image.src, alt: `${image.name}, step ${image.step}` }), h("figcaption", null, short(image.name, 16)))));
      pictured = now;
    }
    // Ten times a second nobody wants to hear it: spoken is what changed its state, or a step that was asked for.
    if (hovered !== null) tell();
    else ctx.say(line(p), cause === "state" || !p.running || p.status !== last);
    last = p.status;
    redraw();
  };
});
