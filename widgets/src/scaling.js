// ScalingView: measured points, the fitted model, the ideal line, and what the sliders make of it.
import { button, h, s, select, slider, tableOf } from "./core/dom.js";
import { bytes, digits, percent, seconds, ticks } from "./core/format.js";
import { view } from "./core/view.js";
import { stepParts, throughput, whatIf } from "./scaling/model.js";

const W = 720, H = 360, LEFT = 66, RIGHT = 14, TOP = 16, BOTTOM = 40;
const PARTS = { compute: ["C", "computing", 2], serial: ["S", "one after another", 6], latency: ["L", "latency", 1], transfer: ["T", "transfer", 4], hidden: ["H", "all-reduce behind computing", 7] };
const LABELS = { devices: "devices", batch: "batch of a device", bytes: "gradients", bandwidth: "bandwidth", latency: "latency", overlap: "overlap", compression: "compression" };

const amount = (value) => (Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en-US") : digits(value));

function shown(each) {
  if (each.id === "devices") return (v) => String(v);
  if (each.id === "batch") return (v) => amount(10 ** v);
  if (each.id === "bytes") return (v) => bytes(10 ** v);
  if (each.id === "bandwidth") return (v) => (v >= each.max ? each.off : `${bytes(10 ** v)}/s`);
  if (each.id === "latency") return (v) => (v <= each.min ? each.off : seconds(10 ** v));
  return percent;
}

export default view("ScalingView", (ctx) => {
  const ways = h("span", { role: "group", "aria-label": "vertical axis" });
  ctx.bar.append(h("b", null, "Scaling"), ways);
  const chart = s("svg", { viewBox: `0 0 ${W} ${H}`, class: "mx-chart", role: "img" });
  const split = h("div", { class: "mx-parts" }), note = h("p", { class: "mx-note" });
  const points = h("details", null, h("summary", null, "points and the model's errors"), h("div"));
  ctx.stage.append(chart, split, note, points);
  ctx.side.classList.add("mx-tall");
  const controls = new Map();
  const way = () => ctx.state.y ?? "throughput";
  const moved = () => ctx.state.sliders ?? {};
  const devices = () => moved().devices ?? ctx.payload.sliders.find((each) => each.id === "devices").value;
  const isMoved = () => Object.keys(moved()).some((id) => id !== "devices");
  const move = (id, value) => ctx.choose({ sliders: { ...moved(), [id]: value } });
  const base = () => {
    const [run] = ctx.payload.runs;
    return run ? run.points[0].thr / run.points[0].n : throughput(ctx.payload.model, 1);
  };

  ctx.root.addEventListener("keydown", (event) => {
    if (event.target.matches("input, select")) return;
    if (event.key === "y") ctx.choose({ y: way() === "throughput" ? "efficiency" : "throughput" });
    else if (event.key === "r") ctx.choose({ sliders: {} });
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  ctx.keys([["y", "throughput or efficiency"], ["r", "sliders back to what was fitted"], ["Tab, arrows", "sliders"]]);

  function fillControls() {
    controls.clear();
    ctx.side.replaceChildren(h("h2", null, ctx.payload.model ? "What if (model)" : "Shown"));
    for (const each of ctx.payload.sliders) {
      if (!ctx.payload.model && each.id !== "devices") continue;
      const value = moved()[each.id] ?? each.value, label = LABELS[each.id];
      const box = each.options
        ? select(label, each.options.map(([factor, name]) => [String(factor), factor === 1 ? name : `${name}, ${factor}×`]), String(value), (text) => move(each.id, Number(text)))
        : slider(label, { ...each, value, show: shown(each) }, (number) => move(each.id, number));
      box.classList.add("mx-slide");
      controls.set(each.id, [each, box]);
      tell(each, box, value);
      ctx.side.append(box);
    }
    ctx.side.append(button("as fitted", "sliders back as fitted", () => ctx.choose({ sliders: {} })));
  }
  // Values that came from Python or from a button.
  function followState() {
    for (const [id, [each, box]] of controls) {
      const value = moved()[id] ?? each.value, input = box.querySelector("input, select");
      const step = each.options ? 0 : each.step;
      if (Math.abs(Number(input.value) - Number(value)) > step * 0.6) input.value = value;
      tell(each, box, value);
    }
  }
  // A slider stands on the nearest notch; where nobody moved it, its text is the fitted value itself.
  function tell(each, box, value) {
    if (each.options) return;
    const exact = moved()[each.id] === undefined && each.exact !== undefined;
    const text = exact ? shown(each)(Math.log10(each.exact)) : shown(each)(value);
    box.querySelector("output").textContent = text;
    box.querySelector("input").setAttribute("aria-valuetext", text);
  }

  function curves(most) {
    const counts = Array.from({ length: Math.min(most, 200) }, (_, i) => Math.max(1, Math.round(1 + (i * (most - 1)) / Math.max(Math.min(most, 200) - 1, 1))));
    const { model } = ctx.payload, found = [];
    if (!model) return found;
    const line = (m, label, colour, dash) => found.push({ label, colour, dash, points: counts.map((n) => [n, throughput(m, n)]), one: throughput(m, 1) });
    line(model, model.origin === "model" ? "model" : "fit", "fg", null);
    if (isMoved()) line(whatIf(model, ctx.payload.sliders, moved()), "what if", "k3", "7 4");
    return found;
  }

  function draw() {
    const { runs } = ctx.payload, efficiency = way() === "efficiency";
    const most = Math.max(devices(), 2, ...runs.flatMap((run) => run.points.map((p) => p.n)));
    const lines = curves(most);
    const of = (run) => run.points[0].thr / run.points[0].n;
    const value = (thr, n, one) => (efficiency ? thr / n / one : thr);
    const levels = [...runs.flatMap((run) => run.points.map((p) => value(p.hi, p.n, of(run)))), ...lines.flatMap((each) => each.points.map(([n, thr]) => value(thr, n, each.one)))];
    const high = Math.max(...levels, 1e-12);
    const top = (efficiency ? Math.max(high, 1) : Math.max(high, Math.min(base() * most, 2.5 * high))) * 1.05;
    const x = (n) => LEFT + 8 + ((n - 1) / (most - 1)) * (W - LEFT - RIGHT - 16);
    const y = (level) => H - BOTTOM - (level / top) * (H - TOP - BOTTOM);
    const text = (tx, ty, content, anchor = "middle") => s("text", { x: tx, y: ty, "text-anchor": anchor, class: "mx-dimtext" }, content);
    const parts = [s("rect", { x: LEFT, y: TOP, width: W - LEFT - RIGHT, height: H - TOP - BOTTOM, class: "mx-frame" })];
    for (const level of ticks(0, top / 1.05)) {
      parts.push(s("line", { x1: LEFT, x2: W - RIGHT, y1: y(level), y2: y(level), class: "mx-grid" }), text(LEFT - 5, y(level) + 4, efficiency ? percent(level) : amount(level), "end"));
    }
    const every = Math.max(1, Math.ceil(most / 12));
    for (let n = 1; n <= most; n += 1) if (n === 1 || n % every === 0) parts.push(text(x(n), H - BOTTOM + 15, n));
    parts.push(text(W - RIGHT, H - 6, "devices", "end"), text(LEFT, TOP - 4, efficiency ? "efficiency" : "samples a second", "start"));
    // The ideal: every device as fast as one; cut off where it leaves the picture.
    const last = efficiency ? most : Math.min(most, top / base());
    parts.push(s("line", { x1: x(1), y1: y(efficiency ? 1 : base()), x2: x(last), y2: y(efficiency ? 1 : base() * last), class: "mx-ideal" }));
    for (const each of lines) {
      const d = each.points.map(([n, thr], i) => `${i ? "L" : "M"}${x(n).toFixed(1)},${y(value(thr, n, each.one)).toFixed(1)}`).join("");
      parts.push(s("path", { d, fill: "none", "stroke-width": 2, stroke: `var(--mx-${each.colour})`, "stroke-dasharray": each.dash, "data-line": each.label }));
    }
    runs.forEach((run, i) => {
      for (const p of run.points) {
        const at = (thr) => y(value(thr, p.n, of(run)));
        parts.push(s("line", { x1: x(p.n), x2: x(p.n), y1: at(p.lo), y2: at(p.hi), stroke: `var(--mx-k${i % 8})`, "stroke-width": 2 }));
        parts.push(mark(run.origin, x(p.n), at(p.thr), i, `${run.label}, ${p.n} devices: ${amount(p.thr)} samples/s (${amount(p.lo)} … ${amount(p.hi)}), ${run.origin}`));
      }
    });
    chart.replaceChildren(...parts, legend(lines));
    chart.setAttribute("aria-label", `${way()} over devices: ${runs.map((run) => `${run.label}, ${run.origin}`).concat("ideal", lines.map((each) => each.label)).join("; ")}`);
  }
  function mark(origin, x, y, i, title) {
    const colour = `var(--mx-k${i % 8})`, told = title && s("title", null, title);
    if (origin === "real devices") return s("circle", { cx: x, cy: y, r: 5, fill: colour, "data-origin": origin }, told);
    if (origin === "model") return s("path", { d: `M${x - 4},${y - 4}l8,8m0,-8l-8,8`, stroke: colour, "stroke-width": 2, "data-origin": origin }, told);
    return s("rect", { x: x - 4.5, y: y - 4.5, width: 9, height: 9, fill: "var(--mx-bg)", stroke: colour, "stroke-width": 2, "data-origin": origin }, told);
  }
  function legend(lines) {
    const rows = [
      ...ctx.payload.runs.map((run, i) => [mark(run.origin, 11, 0, i), `${run.label}, batch ${amount(run.batch)} (${run.origin})`]),
      [s("line", { x1: 0, x2: 22, y1: 0, y2: 0, class: "mx-ideal" }), "ideal"],
      ...lines.map((each) => [s("line", { x1: 0, x2: 22, y1: 0, y2: 0, stroke: `var(--mx-${each.colour})`, "stroke-width": 2, "stroke-dasharray": each.dash }), each.label]),
    ];
    const wide = 34 + 6.4 * Math.max(...rows.map(([, text]) => text.length));
    // Efficiency falls to the right, throughput rises: the free corner is another one.
    const below = way() === "efficiency", tall = rows.length * 17 + 6;
    const left = below ? LEFT + 12 : LEFT + 12, up = below ? H - BOTTOM - tall - 6 : TOP + 6;
    return s(
      "g",
      { transform: `translate(${left},${up})` },
      s("rect", { width: wide, height: tall, class: "mx-frame" }),
      rows.map(([sign, text], i) => s("g", { transform: `translate(6,${12 + i * 17})` }, sign, s("text", { x: 28, y: 4, class: "mx-text" }, text))),
    );
  }

  function fillSplit() {
    const { model, sliders } = ctx.payload;
    split.replaceChildren();
    if (!model) return ctx.say(ctx.payload.note);
    const now = whatIf(model, sliders, moved()), n = devices();
    const parts = stepParts(now, n), speed = throughput(now, n), share = speed / n / throughput(now, 1);
    const whole = parts.step;
    split.append(
      h("h2", null, `A step on ${n} devices (model): ${seconds(parts.step)}`),
      h(
        "div",
        { class: "mx-stack" },
        Object.keys(PARTS).filter((id) => id !== "hidden" && parts[id] > 0).map((id) =>
          h("div", { style: `flex-grow:${parts[id] / whole};background:var(--mx-c${PARTS[id][2]})`, title: `${PARTS[id][1]}: ${seconds(parts[id])}` }, parts[id] / whole > 0.025 ? PARTS[id][0] : ""),
        ),
      ),
      h("p", null, Object.entries(PARTS).filter(([id]) => parts[id] > 0 || id === "compute").map(([id, [letter, name, colour]]) => [h("span", { class: "mx-kind", style: `background:var(--mx-c${colour})` }, letter), ` ${name} ${seconds(parts[id])}  `])),
    );
    ctx.say(`${n} devices, batch ${amount(now.batch)} each: ${amount(speed)} samples/s, efficiency ${percent(share)}${isMoved() ? " (what if)" : ""}`);
  }

  function fillPoints() {
    const { runs, model } = ctx.payload;
    const rows = runs.flatMap((run) =>
      run.points.map((p) => {
        const isOf = model && [null, undefined, run.label].includes(model.label) && ["model", run.origin].includes(model.origin);
        const expected = isOf && throughput({ ...model, batch: run.batch }, p.n);
        const error = isOf ? `${expected >= p.thr ? "+" : ""}${percent(expected / p.thr - 1)}` : "";
        return [run.label, run.origin, p.n, amount(p.thr), `${amount(p.lo)} … ${amount(p.hi)}`, p.repeat, isOf ? amount(expected) : "", error];
      }),
    );
    points.hidden = !rows.length;
    points.lastChild.replaceChildren(tableOf(["program", "how", "devices", "samples/s", "slowest … fastest", "repeats", "model", "error"], rows));
    const quality = model && model.error !== null && model.error !== undefined ? ` · off by at most ${percent(model.error)}${model.r2 === null ? "" : `, r² ${digits(model.r2)}`}` : "";
    note.textContent = `${ctx.payload.note}${quality}`;
  }

  return (what) => {
    if (what === "payload") {
      fillControls();
      fillPoints();
    }
    followState();
    ways.replaceChildren(...["throughput", "efficiency"].map((each) => button(each, `show ${each}`, () => ctx.choose({ y: each }), { "aria-pressed": String(way() === each) })));
    draw();
    fillSplit();
  };
});
