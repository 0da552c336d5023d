// HybridizeStepper: stages from code to what runs; a selection marks the same thing in each of them.
import { button, freshId, h, isPlain, select } from "./core/dom.js";
import { howMany, short } from "./core/format.js";
import { lines } from "./core/lines.js";
import { view } from "./core/view.js";
import { details, overview } from "./stepper/details.js";
import { called, dedented, difference, marker, matches, rowsOf, selectionOf, thingsAt, timeOf, visible } from "./stepper/model.js";
import { picture } from "./stepper/picture.js";
import { drawRow } from "./stepper/rows.js";

export * from "./stepper/model.js";

export default view("HybridizeStepper", (ctx) => {
  const program = () => ctx.payload.programs[ctx.state.program ?? 0];
  const cache = new Map(); // rows by program and stage: made once
  const rows = (index) => {
    const key = `${ctx.state.program ?? 0}/${index}`;
    if (!cache.has(key)) {
      const rowsOfStage = rowsOf(ctx.payload, program(), index);
      for (const row of rowsOfStage) if (row.kind === "group") row.names = row.things.map((n) => called(program(), program().things[n].name));
      cache.set(key, rowsOfStage);
    }
    return cache.get(key);
  };
  const shown = () => visible(program(), ctx.state.all);
  const current = () => Math.min(ctx.state.stage ?? 0, program().stages.length - 1);
  const before = (index) => shown().filter((i) => i < index).pop() ?? index;
  const other = () => Math.min(ctx.state.other ?? before(current()), program().stages.length - 1);
  const go = (index) => ctx.choose({ stage: index });
  const step = (by) => {
    const list = shown(), at = list.indexOf(current());
    const next = at >= 0 ? list[at + by] : list.filter((i) => (by > 0 ? i > current() : i < current())).at(by > 0 ? 0 : -1);
    if (next !== undefined) go(next);
  };

  // Toolbar.
  const back = button("◀ back", "back one stage ( [ )", () => step(-1));
  const forward = button("step ▶", "step forward one stage ( ] )", () => step(1));
  const find = h("input", { type: "search", placeholder: "search ( / )", "aria-label": "search in this stage", oninput: () => look(0), onkeydown: searchKey });
  const all = button("all passes", "all passes, including those that change nothing ( a )", () => ctx.choose({ all: !ctx.state.all }));
  const compare = button("compare", "compare two stages side by side ( c )", () => ctx.choose({ compare: !ctx.state.compare, other: null }));
  const drawn = button("picture", "picture of the graph, or the list of its operations ( g )", () => ctx.choose({ list: !ctx.state.list }));
  const clear = button("clear", "clear the selection ( Esc )", () => unselect());
  const segments = h("span");
  ctx.bar.append(back, forward, compare, all, drawn, clear, find, segments);

  // The stages as tabs, the words of the stage, and the panes.
  const panel = freshId("panel");
  const rail = h("div", { role: "tablist", "aria-label": "stages", class: "mx-rail", onkeydown: railKey });
  const words = h("div", { class: "mx-words" });
  const pick = (index, i) => ctx.choose(selectionOf(program(), rows(index), index, i));
  const source = lines(ctx, { label: "source lines", pick: pickLine });
  const main = lines(ctx, { label: "this stage", pick: (i) => pick(current(), i) });
  const aside = lines(ctx, { label: "stage to compare with", pick: (i) => pick(other(), i + lostRows(other())) });
  const heads = { source: h("h2", null, "source"), main: h("h2"), aside: h("div") };
  const panes = {
    source: h("div", { class: "mx-pane mx-pane-source" }, heads.source, source.element),
    aside: h("div", { class: "mx-pane" }, heads.aside, aside.element),
    main: h("div", { class: "mx-pane" }, heads.main, main.element),
  };
  ctx.stage.append(rail, words, h("div", { class: "mx-panes", role: "tabpanel", id: panel, "aria-label": "stage" }, panes.source, panes.aside, panes.main));

  const canvas = picture(ctx, { pick: (i) => pick(current(), i) });
  panes.main.append(canvas.canvas);

  let sourceRows = [];
  function pickLine(i) {
    const row = sourceRows[i];
    if (row.kind === "source") ctx.choose({ things: thingsAt(program(), row.file, row.line), line: [row.file, row.line], group: null, origin: null });
  }
  const unselect = () => ctx.choose({ things: [], line: null, group: null, origin: null });

  // In a comparison the stage before does not show again what its own pass took out: those rows come first.
  const lostRows = (index) => rows(index).filter((row) => row.kind === "gone").length;

  // Search.
  let results = [], at = 0, hits = new Set();
  function look(by) {
    const list = rows(current());
    results = matches(list, find.value);
    hits = new Set(results);
    if (find.value && results.length) {
      if (!canvas.canvas.hidden) ctx.choose({ list: true }); // the list shows what was found
      at = by ? (at + by + results.length) % results.length : 0;
      main.go(results[at]);
      ctx.say(`${at + 1} of ${howMany(results.length, "row")} with “${find.value}” in ${program().stages[current()].title}; Enter: next, Shift+Enter: previous`);
    } else if (find.value) ctx.say(`nothing with “${find.value}” in ${program().stages[current()].title}`);
    main.redraw();
  }
  function searchKey(event) {
    event.stopPropagation();
    if (event.key === "Enter") look(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      find.value = "";
      look(0);
      main.element.focus();
    }
  }

  function railKey(event) {
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      step(event.key === "ArrowRight" ? 1 : -1);
      event.preventDefault();
      event.stopPropagation();
    }
  }
  const keys = {
    "[": () => step(-1), "]": () => step(1), "/": () => find.focus(), c: () => compare.click(), a: () => all.click(), g: () => drawn.click(), Escape: unselect,
  };
  ctx.root.addEventListener("keydown", (event) => {
    if (event.target.matches("input, select") || !isPlain(event) || !(event.key in keys)) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  });
  ctx.keys([["[ ]", "step back, forward"], ["← →", "on the stages: the same"], ["↑ ↓ Enter", "in a list: move, select"], ["/", "search"], ["c", "compare two stages"], ["a", "all passes"], ["g", "graph as a picture or as a list"], ["Esc", "clear the selection"]]);

  function drawRail() {
    const stages = program().stages;
    const focused = rail.contains(document.activeElement);
    const most = Math.max(...stages.map((stage) => stage.seconds ?? 0), 1e-9);
    rail.replaceChildren(
      ...shown().map((i) => {
        const stage = stages[i], here = i === current();
        return h(
          "button",
          { type: "button", role: "tab", "aria-selected": String(here), "aria-controls": panel, tabindex: here ? "0" : "-1", class: `mx-tab${stage.changed === false ? " mx-same" : ""}`, onclick: () => go(i) },
          h("span", null, stage.title, stage.changed ? h("b", { title: "this pass changed something" }, " Δ") : null),
          h("small", null, stage.changed === false ? "nothing to do" : timeOf(stage, program()) || " "),
          h("i", { style: `width:${Math.max(((stage.seconds ?? 0) / most) * 100, stage.seconds ? 2 : 0)}%` }),
        );
      }),
    );
    if (focused) rail.querySelector('[aria-selected="true"]')?.focus();
  }

  function drawWords() {
    const stage = program().stages[current()], list = shown();
    const time = timeOf(stage, program());
    words.replaceChildren(
      h("p", null, h("b", null, stage.title), `${list.includes(current()) ? `, stage ${list.indexOf(current()) + 1} of ${list.length}` : ""}${time ? `, ${time}` : ""}. ${stage.why}`),
      h("p", { class: "mx-what" }, h("b", null, "Here: "), `${stage.what || "the key of this trace, and why it was made"}.`),
    );
  }

  let last = {};
  function drawPanes() {
    const state = ctx.state, p = program(), width = String(p.stages[current()].of ?? 0).length;
    const compared = Boolean(state.compare) && p.stages.length > 1;
    panes.aside.hidden = !compared;
    panes.source.hidden = compared || !sourceRows.length;
    const show = (pane, index, keep, marks, skip = 0) => {
      const list = rows(index).slice(skip), every = marker(rows(index), index, state), chosenThings = new Set(state.things ?? []);
      const marked = (i) => every(i + skip);
      const mark = (i) => (marks ? marks[i + skip] : list[i].mark);
      pane.show(
        {
          count: list.length,
          wraps: ["group", "note"].includes(list[0]?.kind), // sentences
          render: (i) => drawRow(marks ? { ...list[i], mark: mark(i) } : list[i], i, width, chosenThings),
          classes: (i) => [marked(i) ? "mx-marked" : "", pane === main && hits.has(i) ? "mx-hit" : "", `mx-r-${list[i].kind}`, mark(i) === "−" ? "mx-lost" : mark(i) ? "mx-new" : ""].join(" "),
        },
        keep,
      );
      const first = list.findIndex((_, i) => marked(i));
      const mine = state.origin?.[0] === index;
      if (first >= 0 && (!mine || !keep) && (last.chosen !== chosen(state) || !keep)) pane.reveal(mine ? state.origin[1] - skip : first);
    };
    let between = {};
    const graphs = [p.stages[other()], p.stages[current()]].every((stage) => stage.graph !== undefined);
    if (compared && graphs) between = difference(rows(other()), rows(current()));
    const key = `${state.program}/${current()}`;
    heads.main.textContent = p.stages[current()].title;
    show(main, current(), last.main === key, between.right);
    const isGraph = p.stages[current()].graph !== undefined;
    const list = rows(current()), inStage = marker(list, current(), state);
    const pictured = isGraph && !compared && !state.list && canvas.show(key, list, inStage);
    canvas.canvas.hidden = !pictured;
    main.element.hidden = pictured;
    drawn.disabled = !isGraph || compared;
    drawn.setAttribute("aria-pressed", String(pictured));
    if (pictured && last.chosen !== chosen(state)) {
      const first = list.findIndex((_, i) => inStage(i));
      if (first >= 0) canvas.reveal(first);
    }
    if (compared) {
      heads.aside.replaceChildren(select("compare with", shown().map((i) => [String(i), p.stages[i].title]), String(other()), (value) => ctx.choose({ other: Number(value) })));
      const asideKey = `${state.program}/${other()}`;
      show(aside, other(), last.aside === asideKey, between.left, lostRows(other()));
      last.aside = asideKey;
    }
    const chosenThings = new Set(state.things ?? []);
    const linesOf = new Set([...chosenThings].flatMap((n) => (p.things[n]?.lines ?? []).map(([f, l]) => `${f}:${l}`)));
    const isMarked = (i) => {
      const row = sourceRows[i];
      return state.line ? state.line[0] === row.file && state.line[1] === row.line : linesOf.has(`${row.file}:${row.line}`);
    };
    source.show({ wraps: true, count: sourceRows.length, render: (i) => drawRow(sourceRows[i], i, String(sourceRows.at(-1).line ?? "").length), classes: (i) => `${isMarked(i) ? "mx-marked" : ""} mx-r-${sourceRows[i].kind}` }, last.program === state.program && last.rows === sourceRows);
    const first = sourceRows.findIndex((_, i) => isMarked(i));
    if (first >= 0 && last.chosen !== chosen(state)) source.reveal(first);
    last = { ...last, main: key, chosen: chosen(state), program: state.program, rows: sourceRows };
  }
  const chosen = (state) => JSON.stringify([state.things, state.group, state.line, state.origin]);

  return (cause) => {
    const state = ctx.state, p = program();
    if (cause === "theme") return canvas.redraw();
    if (cause === "payload") {
      cache.clear();
      last = {};
      sourceRows = ctx.payload.source.flatMap(({ file, lines: text }, n) => [{ kind: "file", text: file }, ...dedented(text).map(([line, words_]) => ({ kind: "source", file: n, line, text: words_ }))]);
      // As wide as its lines, where there is room.
      panes.source.style.setProperty("--mx-wide", `${Math.max(160, 56 + 7.3 * Math.max(0, ...sourceRows.map((row) => row.text.length)))}px`);
    }
    const many = ctx.payload.programs.length > 1;
    segments.replaceChildren(
      ...(many ? [select("program", ctx.payload.programs.map((each, i) => [String(i), `${i + 1}. ${each.name} (until: ${each.until})`]), String(state.program ?? 0), (value) => ctx.choose({ program: Number(value), stage: 1, other: null, things: [], group: null, line: null, origin: null }))] : []),
    );
    all.setAttribute("aria-pressed", String(Boolean(state.all)));
    compare.setAttribute("aria-pressed", String(Boolean(state.compare)));
    const some = Boolean(state.things?.length || state.line || state.origin);
    clear.disabled = !some;
    const list = shown();
    back.disabled = current() <= list[0];
    forward.disabled = current() >= list.at(-1);
    results = matches(rows(current()), find.value);
    hits = new Set(results);
    drawRail();
    drawWords();
    drawPanes();
    ctx.side.replaceChildren(...(some ? details({ payload: ctx.payload, program: p, state, stages: list, rows, go }) : overview(ctx.payload, p)));
    const stage = p.stages[current()];
    if (!some) ctx.say(short(`${stage.title}: ${stage.what || stage.why}`, 140));
    else {
      const marked = marker(rows(current()), current(), state), count = rows(current()).filter((_, i) => marked(i)).length;
      ctx.say(`${howMany(count, "row")} of ${stage.title} marked`);
    }
  };
});
