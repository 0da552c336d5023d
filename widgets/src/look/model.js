// What is chosen in mx.look, and what that is in each pane; without a page.
import { addTo } from "../core/maps.js";

// index(payload): tables from rows of the graph to steps, tasks, arrays, pieces, and back.
export function index(p) {
  const names = p.graph.names, byName = new Map(names.map((name, i) => [name, i]));
  const plans = p.memory?.plans ?? [], run = p.engine?.runs[0];
  // Rows of the steps of each graph of the memory plans; without a plan the operations in their order.
  const schedules = (p.memory?.graphs ?? []).map(({ steps }) => steps.name.map((name) => byName.get(name) ?? -1));
  const steps = schedules[0] ?? names.flatMap((_, i) => (p.graph.nodes.op[i] < 0 ? [] : [i]));
  const tasks = run ? run.ops.name.map((text) => byName.get(run.strings[text]) ?? -1) : [];
  return {
    p, names, byName, schedules, steps, tasks,
    stepOf: new Map(steps.map((row, at) => [row, at])),
    taskOf: new Map(tasks.map((row, i) => [row, i])),
    graphOf: (plan) => plans.find((each) => each.name === plan)?.graph ?? 0,
  };
}

export const label = (x, row) => x.p.labels[x.names[row]] ?? x.names[row];

// The rows that a selection stands for: of a line, a piece, several operations (a block), or one.
export function rowsOf(x, { line, piece, rows, node }) {
  if (line) {
    const all = x.p.places.flatMap((places, row) => (places.some(([f, l]) => f === line[0] && l === line[1]) ? [row] : []));
    const operations = all.filter((row) => x.p.graph.nodes.op[row] >= 0); // not their parameters, which the same line made
    return operations.length ? operations : all;
  }
  if (piece !== null && piece !== undefined) return x.p.pieces[piece]?.rows ?? [];
  if (rows?.length) return rows;
  return node === null || node === undefined ? [] : [node];
}

// The row that stands for several: the first operation of the schedule among them.
export function leader(x, rows) {
  const timed = rows.filter((row) => x.stepOf.has(row)).sort((a, b) => x.stepOf.get(a) - x.stepOf.get(b));
  return timed[0] ?? rows[0] ?? null;
}

// The state after a choice: {line}, {piece}, {rows}, {node}, or {at}; the time goes along where the chosen has one.
export function chosen(x, state, choice) {
  const blank = { line: null, piece: null, rows: null, node: null, array: null };
  if ("at" in choice) {
    const at = Math.min(Math.max(choice.at, 0), x.steps.length - 1);
    return { ...blank, at, node: x.steps[at] ?? null };
  }
  const next = { ...blank, ...choice };
  const first = leader(x, rowsOf(x, next));
  return { ...next, node: first, at: x.stepOf.get(first) ?? state.at };
}

// The number of the array in memory that a row makes, in a graph of the memory plans; -1 for none.
export function arrayOf(x, graph, row) {
  const step = x.schedules[graph]?.indexOf(row) ?? -1;
  return step < 0 ? -1 : x.p.memory.graphs[graph].arrays.step.indexOf(step);
}

// The row that makes an array.
export function rowOfArray(x, graph, array) {
  return x.schedules[graph][x.p.memory.graphs[graph].arrays.step[array]];
}

// Bytes of the chosen plan that are needed at each step of its graph: those of all arrays that live then.
export function aliveAt(memory, graph, step) {
  const { begin, end, bytes } = memory.graphs[graph].arrays;
  let sum = 0, count = 0;
  begin.forEach((from, n) => {
    if (from <= step && step < end[n]) {
      sum += bytes[n];
      count += 1;
    }
  });
  return { sum, count };
}

// What the reader is told above the panes: [panes that are missing for it, text], each text once.
export function noted({ missing, notes }) {
  const panes = new Map();
  for (const [name, text] of Object.entries(missing)) addTo(panes, text, name);
  return [...[...panes].map(([text, names]) => [names, text]), ...notes.filter((text) => !panes.has(text)).map((text) => [[], text])];
}
