// The numbers of what is chosen: facts, values, a histogram; or of everything.
import { factsOf, h } from "../core/dom.js";
import { bytes, count, digits, howMany, percent, seconds } from "../core/format.js";
import { why } from "../core/why.js";
import { PARAMETER, PARTS } from "../graph/model.js";
import { aliveAt, arrayOf, label } from "./model.js";

const shapes = (g, row) => g.outs[g.nodes.outputs[row]].map((k) => g.specs[k]);
// A value of an array; what is not finite comes as text.
const number = (value) => (typeof value === "number" ? digits(value) : value);
const sum = (list) => list.reduce((total, each) => total + each, 0);

export function ofAll(x) {
  const { p } = x, { graph: g, memory } = p, both = memory?.plans.find((plan) => plan.name === "both");
  const weights = sum(x.names.map((_, row) => (g.nodes.part[row] === PARAMETER ? sum(shapes(g, row).map((spec) => spec[2])) : 0)));
  const run = p.engine?.runs[0];
  return [
    h("h3", null, g.title),
    ...why(p, "all"),
    factsOf([
      ["operations", x.steps.length], ["FLOPs", count(sum(g.nodes.flops))], ["parameters", weights ? bytes(weights) : null],
      ["peak", both && bytes(both.peak.bytes)], ["arena", both && bytes(both.total)],
      ["pieces that run", p.pieces.filter((each) => each.parent === undefined).length || null], ["the run took", run && seconds(run.span / 1e9)],
    ]),
    ...[...p.notes, ...g.notes].map((text) => h("p", null, text)),
    g.error ? h("p", { class: "mx-error" }, `✗ ${g.error.text}`) : null,
    h("p", null, "Select a line, a box, an array or a piece, or move the slider: all panes follow."),
  ].filter(Boolean);
}

export function ofRow(x, row, rows, at) {
  const { p } = x, g = p.graph, specs = shapes(g, row), run = p.engine?.runs[0], task = x.taskOf.get(row);
  const op = g.nodes.op[row] < 0 ? PARTS[g.nodes.part[row]] : g.strings[g.nodes.op[row]];
  const pieces = p.pieces.flatMap((piece, i) => (piece.rows.includes(row) && piece.parent === undefined ? [i + 1] : []));
  const alive = p.memory && at !== null && at !== undefined ? aliveAt(p.memory, 0, at) : null;
  const array = p.memory ? arrayOf(x, 0, row) : -1;
  const source = g.nodes.source[row] < 0 ? null : g.sources[g.nodes.source[row]];
  return [
    h("h3", null, label(x, row)),
    ...why(p, row), ...(array === undefined || array < 0 ? [] : why(p.memory, `0/${array}`)), ...(task === undefined ? [] : why(p.engine, `0/${task}`)),
    rows.length > 1 ? h("p", null, `the first of ${rows.length} selected operations; together ${count(sum(rows.map((i) => g.nodes.flops[i])))} FLOPs`) : null,
    ...(p.numbers?.[row] ?? []).flatMap((stats, i, all) => values(stats, all.length > 1 ? `values of output ${i}` : "values")),
    h("h3", null, "facts"),
    factsOf([
      ["operator", op], ["name", label(x, row) === x.names[row] ? null : x.names[row]],
      ["makes", specs.map(([shape, dtype, size]) => h("div", null, `${shape.join("×") || "scalar"} ${dtype}, ${bytes(size)}`))],
      ["FLOPs", g.nodes.flops[row] ? count(g.nodes.flops[row]) : null],
      ["ran", task === undefined ? null : seconds(run.ops.ran[task] / 1e9)],
      ["runs in piece", pieces.slice(0, 6).join(", ") + (pieces.length > 6 ? " …" : "")],
      ["alive in this step", alive && `${howMany(alive.count, "array")}, ${bytes(alive.sum)}`],
      ["line", source && `${g.strings[source[0]].split(/[\\/]/).pop()}:${source[1]}`],
    ]),
  ].filter(Boolean);
}

function values([low, high, mean, deviation, zeros, nans, infinities, bins, first], title) {
  const most = Math.max(...bins, 1), bad = [nans && `${count(nans)} NaN`, infinities && `${count(infinities)} infinite`].filter(Boolean).join(", ");
  return [
    h("h3", null, title),
    bins.length ? h("div", { class: "mx-bins", role: "img", "aria-label": `histogram from ${number(low)} to ${number(high)}` }, bins.map((n) => h("i", { style: `height:${(100 * n) / most}%` }))) : null,
    factsOf([
      ["range", low === null ? "no finite number" : `${number(low)} … ${number(high)}`], ["mean", low === null ? null : `${number(mean)} ± ${number(deviation)}`],
      ["zeros", zeros ? percent(zeros) : "none"], ["not finite", bad ? h("b", { class: "mx-error" }, bad) : "none"], ["first values", first.map(number).join(", ")],
    ]),
  ];
}
