// MemoryView: all plans at one scale, the boxes of the chosen one, and who is alive at a time.
import { breakable, button, code, factsOf, freshId, h, link } from "./core/dom.js";
import { bytes as size, count, howMany, rounded, seconds, ticks } from "./core/format.js";
import { surface } from "./core/surface.js";
import { view } from "./core/view.js";
import { why } from "./core/why.js";
import { MOST, colours, drawBoxes, pictureOf, scales } from "./memory/boxes.js";
import { KINDS, aliveAt, coShared, levelAt, nameOf, prepare, samePlace, sourceOf, stairs, than } from "./memory/plan.js";

const LEFT = 74, RIGHT = 14, TOP = 30, BOTTOM = 24;
const LISTED = 150;
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }; // in time, among the living

export default view("MemoryView", (ctx) => {
  let ready = {}, ink = null, underlay = null, tall = 1, wasByEvent = false, nextWindow = null, shownWindow = null, shownSelection; // tall: how far bytes are zoomed; shownSelection: the one that was brought into sight
  // Read when something is drawn: before that the view may not be in the page, and has no colours.
  const inks = () => (ink ??= { ...colours(ctx), text: ctx.colour("fg") });
  const isPlan = () => ctx.payload.unit === "step";
  const chosen = () => ready[ctx.state.plan] ?? Object.values(ready).at(-1);
  const when = (t) => (isPlan() ? `step ${Math.floor(t) + 1}` : seconds(chosen().timeOf(t) / 1e6));
  const now = () => ctx.state.at ?? chosen().peakAt;
  const top = () => (ctx.state.one ? Math.max(...ctx.payload.plans.map((each) => each.total)) : chosen().plan.total) || 1;

  const strip = h("div", { class: "mx-plans", role: "radiogroup", "aria-label": "plans" });
  const unmeasured = h("p", { class: "mx-unmeasured" });
  ctx.stage.append(strip, unmeasured);
  const title = h("b"), shown = h("span", { class: "mx-right" });
  const typedWindow = () => ctx.choose({ window: [Number(from.value) - before(), Number(to.value)] });
  const before = () => Number(isPlan()); // a reader counts steps from 1
  const from = h("input", { type: "number", "aria-label": "from", class: "mx-number", onchange: typedWindow });
  const to = h("input", { type: "number", "aria-label": "to", class: "mx-number", onchange: typedWindow });
  const unit = h("span");
  const one = button("one scale", "draw all plans to one scale", () => ctx.choose({ one: !ctx.state.one }));
  const events = button("by event", "by event: equal width for each allocation or release, instead of by time", () => ctx.choose({ events: !ctx.state.events, at: null }));
  ctx.bar.append(
    title,
    button("peak", "go to the peak", () => toPeak()),
    one,
    events,
    h("span", { class: "mx-field" }, unit, from, "–", to, button("all", "all: show everything", () => whole())),
    shown,
  );
  const details = h("div"), list = h("ul", { role: "listbox", tabindex: "0", class: "mx-list", "aria-label": "arrays alive" });
  const heading = h("h2");
  ctx.side.append(details, heading, list);
  const search = h("input", { type: "search", placeholder: "search ( / )", "aria-label": "search arrays by name, operator or line", size: 12, oninput: () => seek(0), onkeydown: typed });
  ctx.bar.prepend(search);
  let matching = [];
  // Arrays whose name, operator or line has all the words, in order of time; the chosen one is the first, next or one before.
  function seek(by) {
    const p = chosen(), words = search.value.toLowerCase().split(/\s+/).filter(Boolean), { arrays, steps } = p.graph;
    const has = (n) => {
      const text = `${nameOf(p.graph, n)} ${steps.node?.[arrays.step[n]] ?? ""} ${ctx.payload.strings[steps.op[arrays.step[n]]]} ${lineOf(p.graph, n)}`.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    matching = words.length ? [...p.order].filter(has).sort((a, b) => p.begin[a] - p.begin[b]) : [];
    if (!words.length) return;
    const at = matching.indexOf(ctx.state.selected), next = matching[at < 0 ? 0 : (at + by + matching.length) % matching.length];
    if (next !== undefined) select(next);
    ctx.say(next === undefined ? `no array with “${search.value}”` : `${matching.indexOf(next) + 1} of ${matching.length}: ${sentence(next)}`);
  }
  function typed(event) {
    event.stopPropagation();
    if (event.key === "Enter") seek(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      search.value = "";
      matching = [];
      picture.canvas.focus();
    }
  }

  const inner = () => ({ width: Math.max(picture.canvas.clientWidth - LEFT - RIGHT, 50), height: picture.canvas.clientHeight - TOP - BOTTOM });
  const picture = surface(ctx, {
    label: "boxes are arrays: time to the right, bytes upwards; the bracket keys step through the boxes",
    height: 350,
    axes: "x",
    bounds() {
      const p = chosen(), { width, height } = inner(), k = Math.max(p.length - p.start, 1e-9) / width;
      return { x: p.start - (LEFT - 12) * k, y: 12 - TOP, width: p.length - p.start + (LEFT + RIGHT - 24) * k, height: height * tall + TOP + BOTTOM - 24 };
    },
    draw: paint,
    hit(x, y) {
      const p = chosen(), bytes = (1 - y / (inner().height * tall)) * top();
      let number = null;
      for (const n of p.order) if (p.begin[n] <= x && x < p.end[n] && p.low[n] <= bytes && bytes < p.high[n]) number = n;
      return { number, at: counted() ? Math.floor(x) : x };
    },
    hover(hit) {
      if (hit && hit.number !== null) ctx.say(sentence(hit.number));
    },
    pick(hit) {
      const p = chosen();
      const inside = hit.at >= p.start && hit.at < p.length;
      const choice = { selected: hit.number, at: hit.number === null && inside ? hit.at : null };
      shownSelection = JSON.stringify([choice.selected, choice.at]); // it is where the pointer is
      ctx.choose(choice);
    },
    key(event) {
      const plans = ctx.payload.plans;
      if (event.key === "/") return search.focus(), true;
      if (event.key === "n") return seek(1), true;
      if (!event.shiftKey && event.key in STEPS) return STEPS[event.key][0] ? later(STEPS[event.key][0]) : among(STEPS[event.key][1]);
      if (event.key === "[" || event.key === "]") return walk(event.key === "]" ? 1 : -1);
      if (event.key === "." || event.key === ",") return stretch(event.key === "." ? 1.5 : 1 / 1.5);
      if (event.key === "p") return toPeak();
      if (event.key === "e" && !isPlan()) return ctx.choose({ events: !ctx.state.events, at: null }), true;
      if (event.key === "o") return ctx.choose({ one: !ctx.state.one }), true;
      if (event.key === "Escape") return ctx.choose({ selected: null, at: null }), true;
      if (plans[event.key - 1]) return choosePlan(plans[event.key - 1].name);
      return false;
    },
  });
  ctx.keys([
    ["← →", "one step earlier, later"], ["↑ ↓", "step through the arrays alive at that time"], ["/ n", "search; next match"], ["1 … 5", "choose a plan"], ["[ ]", "step through the boxes"], ["p", "go to the peak"], ["click", "select a box; elsewhere: the arrays alive at that time"],
    ["+ - 0", "zoom along time, fit"], [". ,", "zoom bytes"], ["Shift arrows", "move the picture"], ["o", "all plans on the same scale"], ["e", "live memory by event or by time"], ["Esc", "clear the selection"],
  ]);

  // The next time at which an array is born or dies, and the arrays that are alive then.
  function later(by) {
    const p = chosen(), times = (p.times ??= isPlan() ? Array.from({ length: p.length }, (_, i) => i) : [...new Set([...p.begin, ...p.end])].filter((t) => t < p.length).sort((a, b) => a - b));
    const at = now(), next = by > 0 ? times.find((t) => t > at) : times.findLast((t) => t < at);
    if (next === undefined) return true;
    ctx.choose({ at: next, selected: null });
    return true;
  }
  function among(by) {
    const alive = aliveAt(chosen(), now()), at = alive.indexOf(ctx.state.selected);
    if (alive.length) select(alive[at < 0 ? 0 : Math.min(Math.max(at + by, 0), alive.length - 1)]);
    return true;
  }
  function choosePlan(name) {
    const p = chosen(), next = ready[name];
    const selected = samePlace(p.graph, next.graph, ctx.state.selected);
    ctx.choose({ plan: name, selected, at: null });
    if (p.graph !== next.graph) picture.fit();
    return true;
  }
  function look(a, b) {
    const p = chosen();
    if (!(b > a)) return;
    const kx = inner().width / (toUnit(b) - toUnit(a));
    picture.moveTo({ kx, ky: 1, x: Math.max(toUnit(a), p.start) - LEFT / kx, y: picture.camera?.y ?? -TOP });
  }
  const counted = () => isPlan() || Boolean(ctx.state.events);
  const toUnit = (value) => (counted() ? value : value * 1e3); // milliseconds are typed, microseconds kept
  const toShown = (value) => (counted() ? Math.round(value) : Number((value / 1e3).toFixed(3)));
  function whole() {
    tall = 1;
    if (ctx.state.window) ctx.choose({ window: null });
    picture.fit();
    return true;
  }
  function stretch(factor) {
    const before = tall;
    tall = Math.min(Math.max(tall * factor, 1), 256);
    const { camera } = picture, middle = camera.y + picture.canvas.clientHeight / 2;
    picture.moveTo({ ...camera, y: (middle * tall) / before - picture.canvas.clientHeight / 2 });
    return true;
  }
  function toPeak() {
    const { peakAt, plan } = chosen();
    ctx.choose({ selected: null, at: null });
    reveal(peakAt, peakAt + Number(counted()), plan.peak.bytes);
    return true;
  }
  function walk(by) {
    const p = chosen();
    const places = (p.places ??= [...p.order].sort((a, b) => p.begin[a] - p.begin[b] || p.low[a] - p.low[b]));
    const index = places.indexOf(ctx.state.selected ?? -1);
    const next = places[index < 0 ? (by > 0 ? 0 : places.length - 1) : Math.min(Math.max(index + by, 0), places.length - 1)];
    select(next);
    return true;
  }
  function select(number) {
    ctx.choose({ selected: number });
    revealSelected();
  }
  // Times, and levels of bytes where they are given, into the frame, which is narrower than the picture.
  function reveal(begin, end, low, high = low) {
    if (!picture.camera) return; // all is about to be shown
    const { kx, y } = picture.camera, of = (bytes) => (1 - bytes / top()) * inner().height * tall;
    const bytes = low === undefined ? { y, height: 0 } : { y: of(high), height: of(low) - of(high) };
    picture.reveal({ x: begin - LEFT / kx, width: end - begin + (LEFT + RIGHT) / kx, ...bytes });
  }
  // Whoever selected it: by a key, in the list, in another view, in Python.
  function revealSelected() {
    const p = chosen(), { selected: n = null, at = null } = ctx.state;
    if (n !== null && p.plan.storage[n] >= 0) reveal(p.begin[n], p.end[n], p.low[n], p.high[n]);
    else if (at !== null) reveal(at, at + Number(counted()));
  }

  function paint(g, camera, area) {
    if (nextWindow) {
      const [a, b] = nextWindow;
      nextWindow = null;
      look(a, b); // and is drawn again
    }
    const p = chosen(), { height } = inner(), scale = window.devicePixelRatio || 1;
    g.setTransform(scale, 0, 0, scale, 0, 0);
    const frame = { left: LEFT, top: TOP, width: area.width - LEFT - RIGHT, height };
    const begin = camera.x + LEFT / camera.kx, end = camera.x + (area.width - RIGHT) / camera.kx;
    const bytesAt = (py) => (1 - (camera.y + py) / (height * tall)) * top();
    const at = scales(frame, begin, end, bytesAt(TOP + height), bytesAt(TOP));
    g.fillStyle = ctx.colour("panel");
    const x0 = Math.max(at.x(p.start), LEFT), x1 = Math.min(at.x(p.length), LEFT + frame.width);
    const arena = Math.max(at.y(p.plan.total), TOP);
    g.fillRect(x0, arena, Math.max(x1 - x0, 0), Math.max(Math.min(at.y(0), TOP + height) - arena, 0));
    g.save();
    g.beginPath();
    g.rect(LEFT, TOP - 6, frame.width, height + 12);
    g.clip();
    if (p.order.length > MOST && underlay?.of !== p) underlay = Object.assign(pictureOf(p, inks()), { of: p });
    const counts = drawBoxes(g, p, at, inks(), { underlay });
    drawCurve(g, p, at);
    drawTimes(g, p, at, frame);
    drawSelected(g, p, at);
    g.restore();
    drawAxes(g, p, at, frame);
    const text = `${counts.count.toLocaleString("en-US")} of ${howMany(p.order.length, "box")}${counts.drawn < counts.count ? `, the largest ${counts.drawn.toLocaleString("en-US")} sharp` : ""}`;
    if (shown.textContent !== text) shown.textContent = text;
    for (const [box, value] of [[from, toShown(Math.max(begin, p.start)) + before()], [to, toShown(Math.min(end, p.length))]]) {
      const typed = String(value);
      if (document.activeElement !== box && box.value !== typed) box.value = typed;
    }
  }
  function drawCurve(g, p, at) {
    g.strokeStyle = ctx.colour("fg");
    g.lineWidth = 1.4;
    g.beginPath();
    for (const [t, bytes] of stairs(p.line, at.from, at.to, 1 / at.kx)) g.lineTo(at.x(t), at.y(bytes));
    g.stroke();
  }
  function drawTimes(g, p, at, frame) {
    const half = isPlan() ? 0.5 : 0;
    const mark = (t, colour, text, dash) => {
      const x = at.x(t + half);
      g.strokeStyle = g.fillStyle = ctx.colour(colour);
      g.lineWidth = 1.5;
      g.setLineDash(dash);
      g.beginPath();
      g.moveTo(x, TOP - 6);
      g.lineTo(x, TOP + frame.height);
      g.stroke();
      g.setLineDash([]);
      return [x, text];
    };
    for (const region of p.graph.regions.slice(1)) {
      mark(region.begin - half, "line", "", [5, 4]);
    }
    mark(p.peakAt, "hot", "", []);
    if (ctx.state.at !== null && ctx.state.at !== undefined) mark(ctx.state.at, "fg", "", [2, 3]);
  }
  function drawSelected(g, p, at) {
    const number = ctx.state.selected;
    if (number === null || number === undefined || p.plan.storage[number] < 0) return;
    const middle = (n) => at.y((p.low[n] + p.high[n]) / 2);
    g.strokeStyle = ctx.colour("fg");
    g.lineWidth = 2.5;
    const x = at.x(p.begin[number]), y = at.y(p.high[number]);
    g.strokeRect(x, y, Math.max(at.x(p.end[number]) - x, 2), Math.max(at.y(p.low[number]) - y, 2));
    const { inPlace, shared } = partners(p, number);
    for (const [a, b] of inPlace) arrow(g, at.x(p.begin[b]) - 22, middle(a), at.x(p.begin[b]) + 1, middle(b), []);
    for (const [a, b] of shared) {
      const low = Math.max(p.low[a], p.low[b]), high = Math.min(p.high[a], p.high[b]), level = at.y((low + high) / 2);
      arrow(g, at.x(p.last[p.plan.storage[a]]) - 18, level, at.x(p.first[p.plan.storage[b]]) + 1, level, [5, 3]);
    }
  }
  function arrow(g, x0, y0, x1, y1, dash) {
    g.strokeStyle = g.fillStyle = ctx.colour("hot");
    g.lineWidth = 2;
    g.setLineDash(dash);
    g.beginPath();
    g.moveTo(x0, y0);
    g.lineTo(x1 - 5, y1);
    g.stroke();
    g.setLineDash([]);
    g.beginPath();
    g.moveTo(x1, y1);
    g.lineTo(x1 - 8, y1 - 5);
    g.lineTo(x1 - 8, y1 + 5);
    g.fill();
  }
  function drawAxes(g, p, at, frame) {
    g.fillStyle = ctx.colour("dim");
    g.font = "11px system-ui, sans-serif";
    g.textBaseline = "middle";
    g.textAlign = "right";
    for (const bytes of ticks(Math.max(at.low, 0), Math.min(at.high, top())).filter(Number.isInteger)) g.fillText(size(bytes), LEFT - 6, at.y(bytes));
    g.textAlign = "left";
    const floor = TOP + frame.height + 12;
    for (const region of p.graph.regions) {
      const x = Math.max(at.x(region.begin), LEFT);
      if (at.x(region.end) > LEFT + 50 && x < LEFT + frame.width - 40) g.fillText(region.name, x + 3, floor);
    }
    const timed = !counted();
    if (timed) g.fillText(seconds(rounded(Math.max(at.from, 0), at.to) / 1e6), LEFT, floor);
    g.textAlign = "right";
    g.fillText(isPlan() ? howMany(p.length, "step") : timed ? seconds(at.to / 1e6) : howMany(p.length, "event"), LEFT + frame.width, floor);
    const x = at.x(p.peakAt + (isPlan() ? 0.5 : 0));
    if (x >= LEFT && x <= LEFT + frame.width) {
      const right = x > LEFT + frame.width / 2;
      g.fillStyle = ctx.colour("hot");
      g.textAlign = right ? "right" : "left";
      g.fillText(`peak: ${size(p.plan.peak.bytes)} needed at once`, x + (right ? 4 : -4), 10);
    }
    g.textAlign = "left";
  }

  // Pairs of arrays: overwritten in place, and placed where another was.
  function partners(p, number) {
    const inPlace = [], shared = [];
    if (p.previous[number] >= 0) inPlace.push([p.previous[number], number]);
    if (p.next[number] >= 0) inPlace.push([number, p.next[number]]);
    const storage = p.plan.storage[number];
    if (isPlan() && storage >= 0) {
      for (const other of coShared(p, storage, true)) shared.push([p.members[other].at(-1), number]);
      for (const other of coShared(p, storage, false)) shared.push([number, p.members[other][0]]);
    }
    return { inPlace, shared };
  }
  function lifetime(p, number) {
    const { begin, end } = p.graph.arrays;
    if (!isPlan()) return `${seconds(begin[number] / 1e6)} to ${end[number] >= p.graph.length ? "the end" : seconds(end[number] / 1e6)}`;
    return begin[number] + 1 === end[number] ? `step ${end[number]}` : `steps ${begin[number] + 1} to ${end[number]}`;
  }
  function sentence(number) {
    const p = chosen(), { arrays } = p.graph;
    const place = p.plan.storage[number] < 0 ? ", a view: no separate memory" : "";
    return `${nameOf(p.graph, number)}: ${size(arrays.bytes[number])}, ${KINDS[arrays.kind[number]][1]}, ${lifetime(p, number)}${place}`;
  }

  function fillStrip() {
    const { plans, check } = ctx.payload;
    const highest = Math.max(...plans.map((each) => each.total), check.xla ?? 0, 1);
    strip.hidden = plans.length < 2;
    strip.replaceChildren(
      ...plans.map((plan, i) => {
        const checked = plan === chosen().plan;
        const canvas = h("canvas", { width: 300, height: 180, "aria-hidden": "true" });
        const less = isPlan() && i ? than(plans[0].total, plan.total) : isPlan() ? "no sharing" : "peak";
        const box = h(
          "button",
          { type: "button", role: "radio", "aria-checked": String(checked), tabindex: checked ? "0" : "-1", onclick: () => choosePlan(plan.name), "data-plan": plan.name },
          canvas, h("b", null, plan.name), h("span", null, size(isPlan() ? plan.total : plan.peak.bytes)), h("small", null, less),
        );
        requestAnimationFrame(() => thumbnail(canvas, ready[plan.name], highest));
        return box;
      }),
      ...(isPlan() ? [xla(highest)].flat() : []),
    );
    unmeasured.hidden = strip.hidden || !isPlan() || check.xla !== null;
    unmeasured.replaceChildren(h("b", null, "XLA "), check.note ?? "");
  }
  function xla(highest) {
    const { check, plans } = ctx.payload;
    if (check.xla === null) return []; // a note below says why
    const bar = h("div", { class: "mx-space" }, h("div", { class: "mx-dashed", style: `height:${(100 * check.xla) / highest}%` }));
    return h("div", { class: "mx-xla", title: check.note }, bar, h("b", null, "XLA"), h("span", null, size(check.xla)), h("small", null, `on ${check.platform}: ${than(plans[0].total, check.xla)}`));
  }
  function thumbnail(canvas, p, highest) {
    if (!canvas.isConnected) return;
    const g = canvas.getContext("2d"), high = (p.plan.total / highest) * canvas.height;
    g.fillStyle = ctx.colour("c7");
    g.globalAlpha = 0.45;
    g.fillRect(0, canvas.height - high, canvas.width, high);
    g.globalAlpha = 1;
    const at = scales({ left: 0, top: canvas.height - high, width: canvas.width, height: high }, p.start, p.length, 0, p.plan.total);
    drawBoxes(g, p, at, { ...inks(), text: null }, { most: Infinity });
  }
  strip.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const { plans } = ctx.payload, place = plans.indexOf(chosen().plan);
    choosePlan(plans[(place + by + plans.length) % plans.length].name);
    strip.querySelector('[aria-checked="true"]').focus();
  });

  function fillSide() {
    const p = chosen(), { plan, graph } = p, number = ctx.state.selected;
    details.replaceChildren(...(number === null || number === undefined ? overview(plan) : describe(p, number)));
    const alive = aliveAt(p, now());
    const level = levelAt(p.curve, now());
    heading.textContent = `Alive at ${now() === p.peakAt ? "the peak, " : ""}${when(now())}: ${howMany(alive.length, "array")}, ${size(level)}`;
    list.setAttribute("aria-label", heading.textContent);
    list.replaceChildren(
      ...alive.slice(0, LISTED).map((n) => {
        const kind = graph.arrays.kind[n];
        return h(
          "li",
          { role: "option", id: freshId("alive"), "aria-selected": String(n === number), "data-number": n, onclick: () => select(n) },
          h("span", { class: "mx-kind", style: `background:var(--mx-c${KINDS[kind][0]})` }, kind), ` ${size(graph.arrays.bytes[n])}`,
          h("small", null, nameOf(graph, n), isPlan() ? "" : [" ", breakable(lineOf(graph, n))]),
        );
      }),
      ...(alive.length > LISTED ? [h("li", { role: "option", "aria-disabled": "true", "aria-selected": "false" }, `the largest ${LISTED} of ${alive.length}`)] : []),
    );
    const active = list.querySelector('[aria-selected="true"]');
    if (active) list.setAttribute("aria-activedescendant", active.id);
    else list.removeAttribute("aria-activedescendant");
  }
  list.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const rows = [...list.querySelectorAll("[data-number]")];
    const place = rows.findIndex((row) => row.getAttribute("aria-selected") === "true");
    const next = rows[Math.min(Math.max(place + by, 0), rows.length - 1)];
    if (!next) return;
    select(Number(next.dataset.number));
    list.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  });
  function lineOf(graph, n) {
    const source = sourceOf(ctx.payload, graph, n);
    return source ? `${source[0].split("/").at(-1)}:${source[1]}: ${source[2]}` : "";
  }
  function lineCell(graph, n) {
    const source = sourceOf(ctx.payload, graph, n);
    return source && h("div", null, `${source[0].split("/").at(-1)}:${source[1]}`, h("br"), code(source[2]));
  }
  function overview(plan) {
    const rows = isPlan()
      ? [["arena", size(plan.total)], ["lower bound", size(plan.bound)], ...Object.entries(plan.user).map(([name, bytes]) => [`your ${name}`, size(bytes)]), ["workspace (estimate)", size(plan.workspace)]]
      : [["peak", size(plan.peak.bytes)], ["arrays", (plan.of ?? 0).toLocaleString("en-US")]];
    const more = plan.dependencies ? [h("p", null, `${plan.dependencies} pairs of steps are ordered only because they share memory.`)] : [];
    const limited = plan.of > plan.storage.length ? [h("p", null, `showing the ${plan.storage.length.toLocaleString("en-US")} largest of ${howMany(plan.of, "array")}`)] : [];
    const kinds = Object.keys(KINDS).filter((kind) => chosen().graph.arrays.kind.includes(kind));
    const legend = h("p", null, kinds.map((kind) => [h("span", { class: "mx-kind", style: `background:var(--mx-c${KINDS[kind][0]})` }, kind), ` ${KINDS[kind][1]} `, h("br")]));
    legend.append("— the line: bytes needed");
    return [h("h2", null, plan.name), factsOf(rows), ...more, ...limited, legend];
  }
  function describe(p, number) {
    const { graph, plan } = p, { arrays, steps } = graph, { strings } = ctx.payload;
    const storage = plan.storage[number];
    const { inPlace, shared } = partners(p, number);
    const go = (n) => link(nameOf(graph, n), () => select(n));
    const listed = (text, numbers) => (numbers.length ? [h("h2", null, text), h("p", null, numbers.slice(0, 8).map((n) => [go(n), " "]), numbers.length > 8 ? `and ${numbers.length - 8} more` : "")] : []);
    const rows = [
      ["operator", strings[steps.op[arrays.step[number]]]],
      ...(steps.node ? [["name", steps.node[arrays.step[number]]]] : []),
      ["array", `${strings[arrays.dtype[number]]} ${strings[arrays.shape[number]]}`],
      ["bytes", arrays.bytes[number].toLocaleString("en-US")],
      ["kind", `${arrays.kind[number]}, ${KINDS[arrays.kind[number]][1]}`],
      ["lives", lifetime(p, number)],
      ...(isPlan() ? [["storage", storage < 0 ? "none: a view" : `${storage}, at ${plan.offset[storage].toLocaleString("en-US")}`]] : []),
      ["line", lineCell(graph, number) || "unknown: MIXNET_SOURCE_LINES=1 records source lines of symbols in scripts"],
    ];
    return [
      h("h2", null, nameOf(graph, number)),
      ...why(ctx.payload, `${plan.graph}/${number}`),
      factsOf(rows),
      ...listed("reuses, in place (—)", inPlace.filter(([, b]) => b === number).map(([a]) => a)),
      ...listed("reused by, in place (—)", inPlace.filter(([a]) => a === number).map(([, b]) => b)),
      ...listed("reuses the memory of (- -)", shared.filter(([, b]) => b === number).map(([a]) => a)),
      ...listed("memory reused by (- -)", shared.filter(([a]) => a === number).map(([, b]) => b)),
    ];
  }

  return (cause) => {
    const byEvent = !isPlan() && Boolean(ctx.state.events);
    if (cause === "payload" || byEvent !== wasByEvent) {
      if (byEvent !== wasByEvent) picture.fit();
      wasByEvent = byEvent;
      ready = Object.fromEntries(ctx.payload.plans.map((plan) => [plan.name, prepare(ctx.payload, plan, byEvent)]));
      unit.textContent = isPlan() ? "steps" : byEvent ? "events" : "ms";
      one.hidden = !isPlan();
      events.hidden = isPlan();
      events.setAttribute("aria-pressed", String(byEvent));
      ctx.side.classList.toggle("mx-tall", ctx.payload.plans.length > 1);
    }
    if (cause !== "state") ink = underlay = null;
    const p = chosen();
    if (ctx.state.window !== shownWindow) {
      shownWindow = ctx.state.window ?? null;
      nextWindow = shownWindow;
    }
    one.setAttribute("aria-pressed", String(Boolean(ctx.state.one)));
    title.textContent = isPlan() ? `${ctx.payload.name}, ${ctx.payload.train ? "training" : "prediction"}` : `live memory on ${p.plan.name}`;
    fillStrip();
    fillSide();
    const number = ctx.state.selected;
    ctx.say(number === null || number === undefined ? `${p.plan.name}: ${size(p.plan.total)}, peak ${size(p.plan.peak.bytes)} at ${when(p.peakAt)}` : sentence(number));
    picture.redraw();
    const selection = JSON.stringify([ctx.state.selected ?? null, ctx.state.at ?? null]);
    if (selection !== shownSelection) revealSelected();
    shownSelection = selection;
  };
});
