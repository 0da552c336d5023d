// What the stepper knows without a page: rows of a stage, what they stand for, what differs.
import { bytes, howMany, seconds } from "../core/format.js";
import { addTo } from "../core/maps.js";

const RECORD = { name: 0, op: 1, inputs: 2, outputs: 3, attributes: 4, bytes: 5, part: 6, things: 7 };
export const PARTS = { i: "input", f: "forward", b: "backward" };

// Stages to step through: those that change nothing only if asked for.
export function visible(program, all) {
  return program.stages.map((_, i) => i).filter((i) => all || program.stages[i].changed !== false);
}

// [[number, first, last, ...]] as rows from 0: a map from row to numbers.
export function byRow(pairs) {
  const numbers = new Map();
  for (const [number, ...runs] of pairs) {
    for (let k = 0; k < runs.length; k += 2) {
      for (let line = runs[k]; line <= runs[k + 1]; line += 1) addTo(numbers, line - 1, number);
    }
  }
  return numbers;
}

// What a node is called in the program (conv2 of self.conv2), or the end of its own name.
export const called = (program, name) => program.labels?.[name] ?? name.slice(name.lastIndexOf("/") + 1);

function graphRow(program, number) {
  const record = program.records[number], text = (i) => program.strings[i];
  return {
    name: text(record[RECORD.name]), label: program.labels?.[text(record[RECORD.name])], op: text(record[RECORD.op]), inputs: record[RECORD.inputs].map(text), outputs: text(record[RECORD.outputs]),
    attributes: text(record[RECORD.attributes]), bytes: record[RECORD.bytes], part: PARTS[record[RECORD.part]], things: record[RECORD.things], mark: "", note: "",
  };
}

// What a pass did, by name: {mark, note}; and the rows that are gone.
export function marksOf(program, stage) {
  const c = stage.changes, text = (i) => program.strings[i], marks = new Map(), removed = [];
  if (!c) return { marks, gone: removed };
  for (const n of c.rewired) marks.set(text(n), { mark: "↪", note: "reads other inputs" });
  for (const [n, before, after] of c.changed) marks.set(text(n), { mark: "~", note: `was ${text(before)}, is ${text(after)}` });
  for (const n of c.added) marks.set(text(n), { mark: "+", note: "added" });
  for (const [n, into] of c.expanded) {
    into.forEach((m) => marks.set(text(m), { mark: "+", note: `from ${called(program, text(n))}` }));
    removed.push({ name: text(n), mark: "−", note: `expanded into ${howMany(into.length, "node")}` });
  }
  for (const [n, into] of c.merged) removed.push({ name: text(n), mark: "−", note: `merged into ${called(program, text(into))}` });
  for (const n of c.removed) removed.push({ name: text(n), mark: "−", note: "removed" });
  return { marks, gone: removed };
}

// The rows of a stage: each has `things` (what a selection of it marks) and `text` (what a search reads).
export function rowsOf(payload, program, index) {
  const stage = program.stages[index];
  if (stage.graph !== undefined) return graphRows(program, stage, index);
  if (stage.text !== undefined) {
    const things = byRow(stage.things), groups = stage.groups ? byRow(stage.groups) : new Map();
    const own = new Map(stage.groups ? program.groups.map((group, i) => [group.line - 1, i]) : []);
    const rows = stage.text.split("\n").map((text, i) => ({ kind: "line", text, things: things.get(i) ?? [], groups: groups.get(i) ?? [], own: own.get(i) }));
    for (const row of rows) if (row.own !== undefined) row.things = [...new Set([...row.things, ...program.groups[row.own].things])];
    if (rows.length < stage.of) rows.push(note(`… ${howMany(stage.of - rows.length, "more line")}: mx.stages(...).program.${stage.kind} has all of them`));
    return rows;
  }
  if (stage.kind === "plan") return planRows(program, stage);
  if (stage.kind === "run") return runRows(program);
  return keyRows(payload);
}

const note = (text) => ({ kind: "note", text, things: [] });

function graphRows(program, stage) {
  const { marks, gone: removed } = marksOf(program, stage);
  const rows = program.graphs[stage.graph].map((number) => {
    const row = graphRow(program, number);
    Object.assign(row, marks.get(row.name));
    return { kind: "node", ...row, text: `${row.label ?? ""} ${row.name} ${row.op} ${row.inputs.join(" ")} ${row.outputs} ${row.attributes} ${row.note}` };
  });
  const lost = removed.map((row) => ({ kind: "gone", op: "", inputs: [], outputs: "", things: [], ...row, text: `${row.name} ${row.note}` }));
  return [...lost, ...rows];
}

function planRows(program, stage) {
  if (!stage.plan) return [note(`no plan: ${stage.missing}`)];
  const p = stage.plan;
  const saved = p.alone ? Math.round((1 - p.total / p.alone) * 100) : 0;
  const head = [note(`${bytes(p.total)} for intermediate results; ${bytes(p.alone)} without sharing (${saved}% saved); at least ${bytes(p.least)} · arguments ${bytes(p.arguments)}`)];
  if (program.memory.temporaries !== undefined) head.push(note(`XLA's own plan: ${bytes(program.memory.temporaries)} temporaries, ${bytes(program.memory.outputs)} outputs`));
  head.push(note("One row is one piece of memory, from the first operation (left) to the last (right); a box is the lifetime of one array in it."));
  return [
    ...head,
    ...p.storages.map((size, storage) => {
      const boxes = p.arrays.filter((each) => each[0] === storage).map(([, first, last, nbytes, owner]) => ({ first, last, nbytes, thing: owner }));
      const things = [...new Set(boxes.map((box) => box.thing).filter((n) => n >= 0))];
      const names = things.map((n) => called(program, program.things[n].name));
      return { kind: "storage", size, steps: p.steps, boxes, things, names, text: `${bytes(size)} ${names.join(" ")}` };
    }),
  ];
}

function runRows(program) {
  return program.groups.map((group, i) => ({
    kind: "group", group, groups: [i], own: i, things: group.things,
    text: `${group.kind} ${group.name} ${group.things.map((n) => `${called(program, program.things[n].name)} ${program.things[n].name}`).join(" ")} ${group.inputs.join(" ")}`,
  }));
}

function keyRows(payload) {
  const { cache } = payload;
  const rows = [];
  const say = (text, kind = "note") => rows.push({ kind, text, things: [] });
  say(`A ${payload.kind}, ${payload.kind === "function" ? "" : payload.training ? "training, " : "predicting, "}on ${payload.context}`);
  payload.notes.forEach((text) => say(text));
  say("The key: the recorded graph is valid while these stay the same", "head");
  cache.inputs.forEach((text) => say(`  ${text}`));
  if (cache.arguments) say(`  other arguments ${cache.arguments}`);
  if (payload.kind !== "function") say(`  mode ${payload.training ? "training" : "predicting"}`);
  if (cache.parameters.length) say(`${howMany(cache.parameters.length, "parameter")} (part of the key)`, "head");
  cache.parameters.forEach((text) => say(`  ${text}`));
  say(cache.known ? "This key has been compiled before: a call runs immediately" : "Why it has to be traced", "head");
  if (!cache.known) cache.reasons.forEach((text) => say(`  ${text}`));
  if (cache.entries.length) say(`Compiled so far: ${cache.entries.length} cache entries, and why each was needed`, "head");
  cache.entries.forEach(({ key, reasons }, i) => say(`  ${i + 1}. ${key}  —  ${reasons.join("; ") || "nothing differs from the previous entry"}`));
  return rows;
}

// The things that come from a line: [file, line].
export function thingsAt(program, file, line) {
  return program.things.flatMap((part, i) => ((part.lines ?? []).some(([f, l]) => f === file && l === line) ? [i] : []));
}

// Which rows are marked by a selection {things, group, origin: [stage, row]}.
export function marker(rows, index, selection) {
  const chosen = new Set(selection.things ?? []);
  const { group, origin } = selection;
  return (i) => {
    const row = rows[i];
    if (origin && origin[0] === index && origin[1] === i) return true;
    if (group !== undefined && group !== null && row.groups) return row.groups.includes(group);
    return row.things.some((n) => chosen.has(n));
  };
}

// What a click on a row selects.
export function selectionOf(program, rows, index, i) {
  const row = rows[i];
  const group = row.own ?? (row.things.length ? null : row.groups?.[0] ?? null);
  return { origin: [index, i], line: null, group, things: group === null ? row.things : program.groups[group].things };
}

// Two graphs by name: for the rows of each, what the other has not, or has in another way.
export function difference(before, after) {
  const key = (row) => `${row.op}|${row.inputs.join()}|${row.attributes}`;
  const old = new Map(before.filter((r) => r.kind === "node").map((r) => [r.name, r])), now = new Map(after.filter((r) => r.kind === "node").map((r) => [r.name, r]));
  const left = before.map((row) => {
    if (row.kind !== "node" || now.has(row.name)) return "";
    return "−";
  });
  const right = after.map((row) => {
    if (row.kind !== "node") return row.mark ?? "";
    if (!old.has(row.name)) return "+";
    return key(old.get(row.name)) === key(row) ? "" : "~";
  });
  return { left, right };
}

// Rows whose words contain what is looked for.
export function matches(rows, words) {
  const query = words.trim().toLowerCase();
  return query ? rows.flatMap((row, i) => (row.text.toLowerCase().includes(query) ? [i] : [])) : [];
}

export function timeOf(stage, program) {
  if (stage.kind === "run") return stage.seconds === null || stage.seconds === undefined ? "not run" : `${seconds(stage.seconds)} a run`;
  return stage.seconds ? seconds(stage.seconds) : "";
}

// Lines [number, text] without the indentation that all of them have.
export function dedented(lines) {
  const indents = lines.filter(([, text]) => text.trim()).map(([, text]) => text.length - text.trimStart().length);
  const common = indents.length ? Math.min(...indents) : 0;
  return lines.map(([number, text]) => [number, text.slice(common)]);
}
