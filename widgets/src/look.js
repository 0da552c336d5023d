// Look: the panes of other views side by side, with one selection and one time.
import { button, h, isPlain } from "./core/dom.js";
import { bytes, howMany } from "./core/format.js";
import { lines } from "./core/lines.js";
import { view } from "./core/view.js";
import graphView from "./graph.js";
import { LEGENDS } from "./look/legends.js";
import { aliveAt, arrayOf, chosen, index, label, noted, rowOfArray, rowsOf } from "./look/model.js";
import { ofAll, ofRow } from "./look/numbers.js";
import { part } from "./look/part.js";
import { playground } from "./look/play.js";
import memoryView from "./memory.js";
import { dedented } from "./stepper/model.js";
import { drawRow } from "./stepper/rows.js";
import timelineView from "./timeline.js";

const PANES = {
  source: "source", graph: "graph", numbers: "numbers", memory: "memory: bytes over steps", engine: "engine: tasks over time", runs: "what runs",
};
const PACE = 600; // milliseconds of a step when it plays

export default view("Look", (ctx) => {
  let x = index(ctx.payload), parts = {}, timer = 0, sourceRows = [], runRows = [], shown = {}, reveals = 0;
  const choose = (choice) => ctx.choose(chosen(x, ctx.state, choice));

  // One time for all panes.
  const slider = h("input", { type: "range", min: 0, step: 1, "aria-label": "step of the schedule", oninput: () => choose({ at: Number(slider.value) }) });
  const place = h("output", { class: "mx-place" });
  const play = button("play", "play, pause: go through the steps", () => (timer ? pause() : start()));
  const clear = button("clear", "clear the selection ( Esc )", () => choose({ node: null }));
  const back = button("◀", "one step back ( [ )", () => step(-1)), forward = button("▶", "one step forward ( ] )", () => step(1));
  ctx.bar.append(back, play, forward, h("label", { class: "mx-field mx-time" }, h("span", null, "step"), slider), place, clear);
  const step = (by) => choose({ at: (ctx.state.at ?? (by > 0 ? -1 : x.steps.length)) + by });
  function start() {
    if ((ctx.state.at ?? 0) >= x.steps.length - 1) choose({ at: 0 });
    timer = setInterval(() => ((ctx.state.at ?? 0) >= x.steps.length - 1 ? pause() : step(1)), PACE);
    play.textContent = "pause";
  }
  function pause() {
    clearInterval(timer);
    timer = 0;
    play.textContent = "play";
  }
  ctx.onClose(pause);

  // The panes.
  const bodies = {}, boxes = {}, legends = {};
  const notes = h("p", { class: "mx-empty" });
  const grid = h("div", { class: "mx-look" }, Object.entries(PANES).map(([name, title]) => {
    bodies[name] = h("div", { class: "mx-body" });
    const large = button("⤢", `${name}: large, with all its tools`, () => ctx.choose({ wide: ctx.state.wide === name ? null : name }), { "aria-pressed": "false" });
    legends[name] = h("p", { class: "mx-legend" });
    boxes[name] = { large, element: h("section", { class: "mx-part", "data-pane": name, "aria-label": title }, h("h2", null, h("span", null, title), large), bodies[name], legends[name]) };
    return boxes[name].element;
  }));
  const experiments = playground(ctx);
  ctx.stage.append(experiments.element, notes, grid);
  const source = lines(ctx, { label: "source lines", pick: (i) => sourceRows[i].kind === "source" && choose({ line: [sourceRows[i].file, sourceRows[i].line] }) });
  const runs = lines(ctx, { label: "pieces that run", pick: (i) => runRows[i].kind === "group" && choose({ piece: i }) });
  bodies.source.append(source.element);
  bodies.runs.append(runs.element);
  bodies.numbers.setAttribute("tabindex", "0");
  bodies.numbers.setAttribute("role", "group");
  bodies.numbers.setAttribute("aria-label", "numbers of the selection");

  const keys = { "[": () => step(-1), "]": () => step(1), " ": () => play.click(), Escape: () => clear.click() };
  ctx.root.addEventListener("keydown", (event) => {
    if (event.target.matches("input, select, button") && event.key === " ") return;
    if (!isPlain(event) || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
  ctx.keys([["[ ]", "one step back, forward"], ["space", "play, pause"], ["click, Enter", "select: all panes follow"], ["⤢", "enlarge a pane, with its own tools and keys"], ["Esc", "clear the selection"]]);

  function build() {
    const before = x.p.graph.names;
    x = index(ctx.payload);
    const { graph, memory, engine } = ctx.payload;
    const tasks = engine && { ...engine, runs: engine.runs.map((run) => ({ ...run, strings: run.strings.map(called) })) };
    experiments.update();
    shown = {};
    if (parts.graph && JSON.stringify(before) === JSON.stringify(graph.names)) {
      parts.graph.renew(graph); // the same network with other numbers
      if (engine) parts.engine?.renew(tasks);
      return panes();
    }
    for (const each of Object.values(parts)) each.close();
    parts = {};
    for (const name of ["graph", "memory", "engine"]) bodies[name].replaceChildren();
    parts.graph = part(graphView, bodies.graph, graph, { selected: null, ...(graph.facts.values && { overlay: "values" }) }, (before, after) => {
      if (after.selected === before.selected) return;
      if (after.selected === null) choose({ node: null });
      else if (x.byName.has(after.selected)) choose({ node: x.byName.get(after.selected) });
      else choose({ rows: inBlock(after.selected), block: after.selected });
    });
    if (memory) {
      parts.memory = part(memoryView, bodies.memory, inProgram(memory), { plan: "both", selected: null }, (before, after) => {
        const g = x.graphOf(after.plan);
        if (after.selected !== before.selected && after.selected !== null) return choose({ node: rowOfArray(x, g, after.selected), array: after.selected });
        if (after.at !== before.at && after.at !== null && after.at !== undefined) return choose({ node: x.schedules[g][Math.floor(after.at)] });
        follow();
      });
    }
    if (engine) {
      parts.engine = part(timelineView, bodies.engine, tasks, { selected: null, hops: 1, critical: false, replay: null, query: "" }, (before, after) => {
        if (JSON.stringify(after.selected) !== JSON.stringify(before.selected)) choose({ node: after.selected ? x.tasks[after.selected[1]] : null });
      });
    }
    panes();
    slider.max = Math.max(x.steps.length - 1, 0);
  }
  // What is not there yet may come with another payload.
  function panes() {
    const { missing } = ctx.payload;
    notes.replaceChildren(...noted(ctx.payload).flatMap(([panes, text]) => [panes.length ? h("b", null, `${panes.map((name) => PANES[name].split(":")[0]).join(", ")}: `) : "", text, " "]));
    notes.hidden = !notes.textContent;
    // A pane with nothing in it leaves its place to others.
    for (const name of Object.keys(PANES)) {
      boxes[name].element.hidden = name in missing;
      grid.classList.toggle(`mx-no-${name}`, name in missing);
      legends[name].replaceChildren(...(LEGENDS[name]?.(ctx.payload) ?? []));
      legends[name].hidden = !legends[name].childElementCount;
    }
    sourceRows = ctx.payload.source.flatMap(({ file, lines: text }, n) => [{ kind: "file", text: file }, ...dedented(text).map(([line, words]) => ({ kind: "source", file: n, line, text: words }))]);
    if (!sourceRows.length) sourceRows = [{ kind: "note", text: "No source lines are known." }];
    runRows = ctx.payload.pieces.map((group) => ({ kind: "group", group, names: group.rows.map((row) => label(x, row)) }));
  }
  // Names of operations as the program has them.
  const called = (name) => ctx.payload.labels[name] ?? name;
  const inProgram = (memory) => ({ ...memory, graphs: memory.graphs.map((g) => ({ ...g, steps: { ...g.steps, name: g.steps.name.map(called) } })) });
  // The rows of a block of the graph, by its path; a fold "unit ×3" is one too.
  function inBlock(path) {
    const { blocks, nodes } = ctx.payload.graph, paths = [];
    blocks.parent.forEach((parent, b) => paths.push((parent < 0 ? "" : `${paths[parent]}/`) + blocks.label[b] + (blocks.repeat[b] ? ` ×${blocks.repeat[b]}` : "")));
    const inside = (b) => b >= 0 && (paths[b] === path || inside(blocks.parent[b]));
    return nodes.block.flatMap((b, row) => (inside(b) && nodes.op[row] >= 0 ? [row] : []));
  }

  function follow() {
    const { state } = ctx, rows = rowsOf(x, state), set = new Set(rows), node = state.node ?? null;
    const key = JSON.stringify([node, state.line, state.piece, state.block]);
    if (shown.key !== key) reveals += 1;
    parts.graph.follow({ selected: state.block ?? (rows.length === 1 ? x.names[rows[0]] : null), marked: rows.map((row) => x.names[row]), reveal: reveals });
    if (parts.memory) {
      const g = x.graphOf(parts.memory.state.plan), row = node !== null && x.stepOf.has(node) ? node : null;
      const array = row === null ? -1 : (state.array ?? arrayOf(x, g, row)), at = x.schedules[g].indexOf(x.steps[state.at]);
      parts.memory.follow({ selected: array < 0 ? null : array, at: at < 0 ? null : at });
    }
    const task = x.taskOf.get(node);
    parts.engine?.follow({ selected: task === undefined ? null : [0, task] });
    const marks = new Set(rows.flatMap((row) => ctx.payload.places[row].map(([f, l]) => `${f}:${l}`)));
    const lit = (i) => (state.line ? sourceRows[i].file === state.line[0] && sourceRows[i].line === state.line[1] : marks.has(`${sourceRows[i].file}:${sourceRows[i].line}`));
    const width = String(sourceRows.at(-1).line ?? "").length;
    list(source, sourceRows, lit, (i) => drawRow(sourceRows[i], i, width), key);
    list(runs, runRows, (i) => runRows[i].group.rows.some((row) => set.has(row)), (i) => drawRow(runRows[i], i, 0), key);
    bodies.numbers.replaceChildren(...(node === null ? ofAll(x) : ofRow(x, node, rows, state.at)));
    if (shown.key !== key) bodies.numbers.scrollTop = 0;
    shown.key = key;
    return { rows, node };
  }
  function list(pane, rows, lit, render, key) {
    pane.show({ count: rows.length, render, wraps: true, classes: (i) => `${lit(i) ? "mx-marked" : ""} mx-r-${rows[i].kind}` }, shown.key !== undefined);
    const first = rows.findIndex((_, i) => lit(i));
    if (first < 0 || shown.key === key) return;
    if (shown.key === undefined) requestAnimationFrame(() => requestAnimationFrame(() => pane.reveal(first))); // once there is a page
    else pane.reveal(first);
  }

  return (cause) => {
    if (cause === "payload") build();
    if (cause === "theme") return;
    const { state } = ctx, { rows, node } = follow(), at = state.at ?? null;
    for (const [name, { large, element }] of Object.entries(boxes)) {
      element.classList.toggle("mx-wide", state.wide === name);
      large.setAttribute("aria-pressed", String(state.wide === name));
    }
    slider.value = at ?? 0;
    const name = at === null ? "" : label(x, x.steps[at]);
    slider.setAttribute("aria-valuetext", at === null ? "none" : `${at + 1} of ${x.steps.length}: ${name}`);
    place.textContent = at === null ? `of ${x.steps.length}` : `${at + 1} of ${x.steps.length}: ${name}${ctx.payload.memory ? `, ${bytes(aliveAt(ctx.payload.memory, 0, at).sum)} alive` : ""}`;
    back.disabled = !at;
    forward.disabled = at !== null && at >= x.steps.length - 1;
    clear.disabled = node === null;
    play.disabled = x.steps.length < 2;
    ctx.say(node === null ? `${ctx.payload.graph.title}: ${howMany(x.steps.length, "operation")}` : `${label(x, node)}${rows.length > 1 ? ` and ${rows.length - 1} more` : ""}: marked in every pane`);
  };
});
