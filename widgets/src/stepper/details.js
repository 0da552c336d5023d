// The side panel: what is selected and where it is in every stage; or, with nothing selected, the totals.
import { button, code, h, tableOf } from "../core/dom.js";
import { bytes, count, howMany, seconds } from "../core/format.js";
import { why } from "../core/why.js";
import { called, marker } from "./model.js";

const MOST = 8;

export function overview(payload, program) {
  const times = Object.entries(program.times);
  const rows = times.map(([name, value]) => [name.replace("_", " "), seconds(value)]);
  const { memory, cost } = program;
  return [
    h("h2", null, `${payload.kind} ${payload.name}`),
    ...why(payload, "all"),
    h("p", null, "Step through the stages with the buttons or [ and ]. Select any row: it is marked in every stage and listed here."),
    rows.length ? tableOf(["stage", "time"], rows, "Times") : null,
    Object.keys(memory).length ? tableOf(["memory", "bytes"], Object.entries(memory).map(([name, value]) => [name, bytes(value)]), "According to XLA") : null,
    cost.flops ? h("p", null, `XLA estimates ${count(cost.flops)} floating-point operations and ${bytes(cost.bytes ?? 0)} moved.`) : null,
  ].filter(Boolean);
}

export function details({ payload, program, state, stages, rows, go }) {
  const { things = [], group, line, origin } = state;
  const parts = [];
  if (line) {
    const text = payload.source[line[0]].lines.find(([number]) => number === line[1])?.[1].trim();
    parts.push(h("h2", null, `line ${line[1]}`), code(text), h("p", null, things.length ? `${howMany(things.length, "operation")} ${things.length === 1 ? "comes" : "come"} from it.` : "No operation comes from this line."));
  }
  if (group !== null && group !== undefined) parts.push(...groupText(program, group));
  const from = origin && rows(origin[0])[origin[1]];
  if (from?.kind === "gone") parts.push(h("h2", null, from.name), h("p", null, `${from.note} by this pass.`));
  if (from?.kind === "node") parts.push(...nodeText(from));
  if (!from || from.kind !== "node" || things.length !== 1) {
    for (const n of things.slice(0, MOST)) parts.push(thingText(program, program.things[n]));
    if (things.length > MOST) parts.push(h("p", null, `and ${things.length - MOST} more`));
  } else parts.push(thingText(program, program.things[things[0]], true));
  const places = stages.map((index) => {
    const list = rows(index), marked = marker(list, index, state);
    return [index, list.filter((_, i) => marked(i)).length];
  });
  const pieces = group !== null && group !== undefined ? [group] : [...new Set(things.flatMap((n) => program.things[n].groups ?? []))];
  parts.push(...pieces.slice(0, MOST).flatMap((n) => why(payload, `${payload.programs.indexOf(program)}/${n}`)));
  const listed = places.filter(([, number]) => number > 0);
  parts.push(h("h3", null, "Where it appears"), h("div", { class: "mx-places" }, listed.map(([index, number]) => button(`${program.stages[index].title} · ${number}`, `${program.stages[index].title} · ${number} marked: go there`, () => go(index)))));
  if (!listed.length) parts.push(h("p", null, "It appears in no other stage."));
  return parts;
}

function nodeText(row) {
  const facts = [["name", row.label ? row.name : ""], ["operator", row.op || "input"], ["makes", row.outputs], ["bytes", bytes(row.bytes)], ["part", row.part], ["reads", row.inputs.join(", ")], ["attributes", row.attributes], ["this pass", row.note]];
  return [h("h2", null, row.label ?? row.name), tableOf(["fact", "of this row"], facts.filter(([, text]) => text))];
}

function thingText(program, part, brief = false) {
  const text = (i) => program.strings[i];
  const where = (part.lines ?? []).map(([, line]) => line);
  const facts = [];
  if (where.length) facts.push(`line ${where.join(", ")}`);
  if (part.groups?.length) facts.push(`runs in piece ${part.groups.map((n) => n + 1).join(", ")}`);
  if (part.vanished !== undefined) facts.push(text(part.vanished));
  if (brief) return h("p", null, facts.join("; "));
  return h("p", null, h("b", null, called(program, part.name)), `: ${[[...new Set([text(part.op) || "input", part.part])].join(", "), ...facts].join("; ")}`);
}

function groupText(program, index) {
  const group = program.groups[index];
  return [
    h("h2", null, `piece ${index + 1}: ${group.kind}`),
    h("p", null, `${group.name} computes ${group.things.length ? howMany(group.things.length, "operation") : "no operations"} of yours, reads ${bytes(group.in)} and writes ${bytes(group.out)}.`),
    group.reads.length ? h("p", null, `It reads the results of piece ${group.reads.map((n) => n + 1).join(", ")}.`) : null,
    group.inputs.length ? h("p", null, `It reads ${group.inputs.join(", ")}.`) : null,
    group.inferred ? h("p", null, "XLA created it without recording its origin; the operations listed are those next to it.") : null,
  ].filter(Boolean);
}
