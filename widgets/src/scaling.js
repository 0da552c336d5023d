// ScalingView: measured points, the fitted model, the ideal line, and what the sliders make of it.
import { button, h, s, select, slider, tableOf } from "./core/dom.js";
import { bytes, count, digits, fitted, howMany, percent, seconds, signedPercent, ticks, timeTicks } from "./core/format.js";
import { view } from "./core/view.js";
import { why } from "./core/why.js";
import { exchanges } from "./scaling/exchanges.js";
import { epoch, sized, stepParts, throughput, whatIf } from "./scaling/model.js";

const W = 720, H = 360, LEFT = 66, RIGHT = 14, TOP = 16, BOTTOM = 40;
const PARTS = { compute: ["C", "computing", 2], serial: ["S", "serial", 6], waiting: ["W", "waiting for the slowest", 3], latency: ["L", "latency", 1], transfer: ["T", "transfer", 4], exchange: ["E", "exchange, measured alone", 0], hidden: ["H", "overlapped", 7] };
const ASIDE = ["devices", "samples", "price"]; // sliders that leave the model as it is
const OLDER = { samples: { value: 6, log: true }, price: { value: 1 } };
// What stands above: what it is called, and what it is of a speed on n devices where one device has speed `one`.
const WAYS = {
  throughput: ["samples per second", (speed) => speed],
  efficiency: ["efficiency", (speed, n, one) => speed / n / one],
  epoch: ["time per epoch", (speed, n, one, { samples, price }) => epoch(speed, n, samples, price).seconds],
  cost: ["cost per epoch", (speed, n, one, { samples, price }) => epoch(speed, n, samples, price).cost],
};
const LABELS = { samples: "samples per epoch", price: "price per device hour", servers: "parameter servers", jitter: "worker jitter",  devices: "devices", batch: "batch per device", bytes: "gradients", bandwidth: "bandwidth", latency: "latency", overlap: "overlap", compression: "compression" };

const amount = (value) => (Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en-US") : digits(value));

function shown(each) {
  if (each.id === "devices") return (v) => String(v);
  if (each.id === "batch") return (v) => amount(10 ** v);
  if (each.id === "bytes") return (v) => bytes(10 ** v);
  if (each.id === "bandwidth") return (v) => (v >= each.max ? each.off : `${bytes(10 ** v)}/s`);
  if (each.id === "samples") return (v) => amount(10 ** v);
  if (each.id === "price") return (v) => v.toFixed(2);
  if (each.id === "servers") return (v) => (v ? String(v) : each.off);
  if (each.id === "latency" || each.id === "jitter") return (v) => (v <= each.min ? each.off : seconds(10 ** v));
  return percent;
}

export default view("ScalingView", (ctx) => {
  const ways = h("span", { role: "group", "aria-label": "vertical axis" }), sizes = h("span", { role: "group", "aria-label": "batch" });
  ctx.bar.append(h("b", null, "Scaling"), ways, sizes);
  const chart = s("svg", { viewBox: `0 0 ${W} ${H}`, class: "mx-chart", role: "img" });
  const split = h("div", { class: "mx-parts" }), note = h("p", { class: "mx-note" });
  const points = h("details", null, h("summary", null, "points and the model's errors"), h("div"));
  const sends = exchanges(ctx, () => ({ devices: devices(), servers: valueOf("servers"), bytes: moved().bytes === undefined ? null : 10 ** moved().bytes }));
  ctx.stage.append(chart, split, note, sends.element, points);
  ctx.side.classList.add("mx-tall");
  const controls = new Map();
  const way = () => (WAYS[ctx.state.y] ? ctx.state.y : "throughput");
  const isStrong = () => ctx.state.scaling === "strong" && Boolean(ctx.payload.model);
  const moved = () => ctx.state.sliders ?? {};
  const valueOf = (id) => {
    const each = ctx.payload.sliders.find((one) => one.id === id) ?? OLDER[id]; // what was stored by an older version has no epochs
    return moved()[id] ?? (each.log ? Math.log10(each.exact ?? 10 ** each.value) : each.value);
  };
  const devices = () => valueOf("devices");
  const about = () => ({ samples: 10 ** valueOf("samples"), price: valueOf("price") });
  const isMoved = () => Object.keys(moved()).some((id) => !ASIDE.includes(id));
  const move = (id, value) => ctx.choose({ sliders: { ...moved(), [id]: value } });
  const base = () => {
    const [run] = ctx.payload.runs;
    return run ? run.points[0].thr / run.points[0].n : throughput(ctx.payload.model, 1);
  };

  ctx.root.addEventListener("keydown", (event) => {
    if (event.target.matches("input, select")) return;
    const names = Object.keys(WAYS);
    if (event.key === "y") ctx.choose({ y: names[(names.indexOf(way()) + 1) % names.length] });
    else if (event.key === "s") ctx.choose({ scaling: isStrong() ? "weak" : "strong" });
    else if (event.key === "r") ctx.choose({ sliders: {} });
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  ctx.keys([["y", "throughput, efficiency, time or cost per epoch"], ["s", "weak or strong scaling"], ["r", "reset sliders to the fitted values"], ["Tab, arrows", "sliders"]]);

  function fillControls() {
    controls.clear();
    ctx.side.replaceChildren(h("h2", null, ctx.payload.model ? "What if (model)" : "Shown"));
    for (const each of ctx.payload.sliders) {
      if (!ctx.payload.model && !ASIDE.includes(each.id)) continue;
      const value = moved()[each.id] ?? each.value, label = LABELS[each.id];
      const box = each.options
        ? select(label, each.options.map(([factor, name]) => [String(factor), factor === 1 ? name : `${name}, ${factor}×`]), String(value), (text) => move(each.id, Number(text)))
        : slider(label, { ...each, value, show: shown(each) }, (number) => move(each.id, number));
      box.classList.add("mx-slide");
      controls.set(each.id, [each, box]);
      tell(each, box, value);
      ctx.side.append(box);
    }
    ctx.side.append(button("as fitted", "reset the sliders: as fitted", () => ctx.choose({ sliders: {} })));
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
    const { model } = ctx.payload, lines = [];
    if (!model) return lines;
    const line = (m, label, colour, dash) => lines.push({ label, colour, dash, points: counts.map((n) => [n, throughput(sized(m, n, isStrong()), n)]), one: throughput(m, 1) });
    line(model, ["model", "published"].includes(model.origin) || model.calibrated ? "model" : "fit", "fg", null);
    if (isMoved()) line(whatIf(model, ctx.payload.sliders, moved()), "what if", "k3", "7 4");
    return lines;
  }

  function draw() {
    const runs = isStrong() ? [] : ctx.payload.runs; // measured with one batch per device
    const [name, measure] = WAYS[way()], efficiency = way() === "efficiency", isTime = way() === "epoch", falls = way() !== "throughput";
    const most = Math.max(devices(), 2, ...ctx.payload.runs.flatMap((run) => run.points.map((p) => p.n)));
    const lines = curves(most);
    const of = (run) => run.points[0].thr / run.points[0].n;
    const value = (thr, n, one) => measure(thr, n, one, about());
    const levels = [...runs.flatMap((run) => run.points.map((p) => value(p.hi, p.n, of(run)))), ...lines.flatMap((each) => each.points.map(([n, thr]) => value(thr, n, each.one))), falls ? value(base(), 1, base()) : 0];
    const high = Math.max(...levels, 1e-12);
    const top = (falls ? high : Math.max(high, Math.min(base() * most, 2.5 * high))) * 1.05;
    const shownLevel = efficiency ? percent : isTime ? seconds : (level) => (Math.abs(level) >= 1e6 ? count(level) : amount(level));
    const x = (n) => LEFT + 8 + ((n - 1) / (most - 1)) * (W - LEFT - RIGHT - 16);
    const y = (level) => H - BOTTOM - (level / top) * (H - TOP - BOTTOM);
    const text = (tx, ty, content, anchor = "middle") => s("text", { x: tx, y: ty, "text-anchor": anchor, class: "mx-dimtext" }, content);
    const parts = [s("rect", { x: LEFT, y: TOP, width: W - LEFT - RIGHT, height: H - TOP - BOTTOM, class: "mx-frame" })];
    for (const level of (isTime ? timeTicks : ticks)(0, top / 1.05)) {
      parts.push(s("line", { x1: LEFT, x2: W - RIGHT, y1: y(level), y2: y(level), class: "mx-grid" }), text(LEFT - 5, y(level) + 4, shownLevel(level), "end"));
    }
    const every = Math.max(1, Math.ceil(most / 12));
    for (let n = 1; n <= most; n += 1) if (n === 1 || n % every === 0) parts.push(text(x(n), H - BOTTOM + 15, n));
    parts.push(text(W - RIGHT, H - 6, "devices", "end"), text(LEFT, TOP - 4, `${name}, ${isStrong() ? "one batch for all" : "one batch per device"}`, "start"));
    // The ideal: every device as fast as one; cut off where it leaves the picture.
    const last = falls ? most : Math.min(most, top / base());
    const ideal = Array.from({ length: isTime ? 60 : 2 }, (_, i) => 1 + (i * (last - 1)) / (isTime ? 59 : 1));
    parts.push(s("path", { d: pathOf(ideal.map((n) => [x(n), y(value(base() * n, n, base()))])), fill: "none", class: "mx-ideal" }));
    for (const each of lines) {
      const d = pathOf(each.points.map(([n, thr]) => [x(n), y(value(thr, n, each.one))]));
      parts.push(s("path", { d, fill: "none", "stroke-width": 2, stroke: `var(--mx-${each.colour})`, "stroke-dasharray": each.dash, "data-line": each.label }));
    }
    runs.forEach((run, i) => {
      for (const p of run.points) {
        const at = (thr) => y(value(thr, p.n, of(run)));
        parts.push(s("line", { x1: x(p.n), x2: x(p.n), y1: at(p.lo), y2: at(p.hi), stroke: `var(--mx-k${i % 8})`, "stroke-width": 2 }));
        parts.push(mark(run.origin, x(p.n), at(p.thr), i, `${run.label}, ${howMany(p.n, "device")}: ${amount(p.thr)} samples/s (${amount(p.lo)} … ${amount(p.hi)}), ${run.origin}`));
      }
    });
    chart.replaceChildren(...parts, legend(lines));
    chart.setAttribute("aria-label", `${name} over devices: ${runs.map((run) => `${run.label}, ${run.origin}`).concat("ideal", lines.map((each) => each.label)).join("; ")}`);
  }
  const pathOf = (corners) => corners.map(([px, py], i) => `${i ? "L" : "M"}${px.toFixed(1)},${py.toFixed(1)}`).join("");
  function mark(origin, x, y, i, title) {
    const colour = `var(--mx-k${i % 8})`, tooltip = title && s("title", null, title);
    if (origin === "real devices") return s("circle", { cx: x, cy: y, r: 5, fill: colour, "data-origin": origin }, tooltip);
    if (origin === "model" || origin === "published") return s("path", { d: `M${x - 4},${y - 4}l8,8m0,-8l-8,8`, stroke: colour, "stroke-width": 2, "data-origin": origin }, tooltip);
    return s("rect", { x: x - 4.5, y: y - 4.5, width: 9, height: 9, fill: "var(--mx-bg)", stroke: colour, "stroke-width": 2, "data-origin": origin }, tooltip);
  }
  function legend(lines) {
    const rows = [
      ...(isStrong() ? [] : ctx.payload.runs).map((run, i) => [mark(run.origin, 11, 0, i), `${run.label}, batch ${amount(run.batch)} (${run.origin})`]),
      [s("line", { x1: 0, x2: 22, y1: 0, y2: 0, class: "mx-ideal" }), "ideal"],
      ...lines.map((each) => [s("line", { x1: 0, x2: 22, y1: 0, y2: 0, stroke: `var(--mx-${each.colour})`, "stroke-width": 2, "stroke-dasharray": each.dash }), each.label]),
    ];
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = "11px system-ui, sans-serif";
    const texts = rows.map(([, text]) => fitted(pen, text, W - LEFT - RIGHT - 70));
    const wide = 40 + Math.max(...texts.map((text) => pen.measureText(text).width));
    // Efficiency falls to the right, throughput rises: the free corner is another one.
    const tall = rows.length * 17 + 6, up = way() === "efficiency" ? H - BOTTOM - tall - 6 : TOP + 6;
    // Where an epoch takes less the more devices there are, it is the right one.
    const sinks = way() === "epoch" && lines.every(({ points: all }) => all.at(-1)[1] > all[0][1]);
    const left = sinks ? W - RIGHT - wide - 12 : LEFT + 12;
    return s(
      "g",
      { transform: `translate(${left},${up})` },
      s("rect", { width: wide, height: tall, class: "mx-frame" }),
      rows.map(([sign, text], i) => s("g", { transform: `translate(6,${12 + i * 17})` }, sign, s("text", { x: 28, y: 4, class: "mx-text" }, texts[i], texts[i] !== text && s("title", null, text)))),
    );
  }

  // [text, seconds by part, the whole step as it was measured]
  function barRows(now, n) {
    const { runs, model } = ctx.payload, rows = [];
    for (const run of runs) {
      for (const p of run.points.filter((each) => each.compute !== undefined)) {
        rows.push([`${p.n} measured`, { compute: p.compute, waiting: p.waiting, exchange: p.exchange }, (p.n * run.batch) / p.thr]);
        if (model && model.label === run.label) rows.push([`${p.n} model`, stepParts({ ...model, batch: run.batch }, p.n), 0]);
      }
    }
    return now ? [...rows, [`${n} ${isMoved() || isStrong() ? "what if" : "model"}`, stepParts(now, n), 0]] : rows;
  }
  function fillSplit() {
    const { model, sliders, note: remark } = ctx.payload, n = devices();
    const now = model && sized(whatIf(model, sliders, moved()), n, isStrong());
    const rows = barRows(now, n), shows = (parts) => Object.keys(PARTS).filter((id) => id !== "hidden" && parts[id] > 0);
    const total = (parts) => shows(parts).reduce((sum, id) => sum + parts[id], 0);
    const longest = Math.max(...rows.map(([, parts, whole]) => Math.max(total(parts), whole)));
    const used = Object.keys(PARTS).filter((id) => rows.some(([, parts]) => parts[id] > 0));
    split.replaceChildren();
    if (rows.length) {
      split.append(
        h("h2", null, now ? `A step on ${howMany(n, "device")} (model): ${seconds(total(rows.at(-1)[1]))}` : "A step"),
        h("p", null, used.map((id) => [h("span", { class: "mx-key" }, h("span", { class: "mx-kind", style: `background:var(--mx-c${PARTS[id][2]})` }, PARTS[id][0]), ` ${PARTS[id][1]}${now && rows.at(-1)[1][id] ? ` ${seconds(rows.at(-1)[1][id])}` : ""}`), " "])),
        ...rows.map(([text, parts, whole]) =>
          h(
            "div",
            { class: "mx-bars", "data-bar": text },
            h("span", null, text),
            h(
              "div",
              { class: "mx-track" },
              h(
                "div",
                { class: "mx-stack", style: `width:${(100 * total(parts)) / longest}%` },
                shows(parts).map((id) => h("div", { style: `flex-grow:${parts[id] / total(parts)};background:var(--mx-c${PARTS[id][2]})`, title: `${PARTS[id][1]}: ${seconds(parts[id])}` }, parts[id] / longest > 0.03 ? PARTS[id][0] : "")),
              ),
              whole ? h("div", { class: "mx-whole", style: `left:${(100 * whole) / longest}%`, title: `the whole step: ${seconds(whole)}` }) : null,
            ),
            h("span", null, seconds(whole || total(parts))),
          ),
        ),
        rows.some(([, , whole]) => whole) ? h("p", { class: "mx-note" }, "The line is the whole step; parts that were measured alone do not overlap.") : "",
      );
    }
    if (!now) return ctx.say(remark);
    const speed = throughput(now, n), share = speed / n / throughput(whatIf(model, sliders, moved()), 1), { samples, price } = about(), all = epoch(speed, n, samples, price);
    ctx.say(`${howMany(n, "device")}, batch ${amount(now.batch)} each: ${amount(speed)} samples/s, efficiency ${percent(share)}; an epoch of ${amount(samples)} takes ${seconds(all.seconds)} and costs ${digits(all.cost)}${isMoved() ? " (what if)" : ""}`);
  }

  function fillPoints() {
    const { runs, model } = ctx.payload;
    const several = runs.length > 1;
    const rows = runs.flatMap((run) =>
      run.points.map((p) => {
        const isOf = model && [null, undefined, run.label].includes(model.label) && ["model", run.origin].includes(model.origin);
        const expected = isOf && throughput({ ...model, batch: run.batch }, p.n);
        const error = isOf ? signedPercent(expected / p.thr - 1) : "";
        const use = isOf && model.calibrated ? (model.calibrated.includes(p.n) ? "calibrates" : "checks") : "";
        return [...(several ? [run.label] : []), run.origin, p.n, amount(p.thr), `${amount(p.lo)} … ${amount(p.hi)}`, p.repeat, p.sent ? bytes(p.sent) : "", isOf ? amount(expected) : "", error, use];
      }),
    );
    points.hidden = !rows.length;
    points.lastChild.replaceChildren(tableOf([...(several ? ["program"] : []), "how", "devices", "samples/s", "slowest … fastest", "repeats", "sent per device", "model", "error", "use"], rows), ...ctx.payload.runs.flatMap((run, r) => run.points.flatMap((p, i) => why(ctx.payload, `${r}/${i}`, `${run.label}, ${howMany(p.n, "device")}`))));
    const quality = model && model.error !== null && model.error !== undefined ? ` · off by at most ${percent(model.error)}${model.r2 === null || model.r2 === undefined ? "" : `, r² ${digits(model.r2)}`}` : "";
    note.textContent = `${ctx.payload.note}${quality}`;
  }

  return (cause) => {
    if (cause === "payload") {
      fillControls();
      fillPoints();
    }
    followState();
    sizes.replaceChildren(...(ctx.payload.model ? ["weak", "strong"] : []).map((each) => button(each, `${each} scaling: ${each === "weak" ? "one batch per device" : "one batch for all devices"}`, () => ctx.choose({ scaling: each }), { "aria-pressed": String(isStrong() === (each === "strong")) })));
    ways.replaceChildren(...Object.keys(WAYS).map((each) => button(each, `show ${each}`, () => ctx.choose({ y: each }), { "aria-pressed": String(way() === each) })));
    draw();
    fillSplit();
    sends.draw();
  };
});
