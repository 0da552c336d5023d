// How the rows of each kind of stage are drawn.
import { code, h } from "../core/dom.js";
import { bytes } from "../core/format.js";

const cell = (kind, ...children) => h("span", { class: `mx-cell-${kind}` }, ...children);

// The children of a row; `width` is the number of digits of line numbers, `chosen` the selected things.
export function drawRow(row, i, width, chosen) {
  if (row.kind === "line") return [cell("no", String(i + 1).padStart(width)), code(row.text)];
  if (row.kind === "node") return node(row);
  if (row.kind === "gone") return [cell("mark", row.mark), h("s", null, row.name), cell("dim", row.note)];
  if (row.kind === "storage") return [cell("size", bytes(row.size)), bars(row, chosen), cell("dim", row.names.join(", ") || "—")];
  if (row.kind === "group") return group(row);
  if (row.kind === "source") return [cell("no", String(row.line).padStart(width)), code(row.text)];
  if (row.kind === "head" || row.kind === "file") return [h("b", null, row.text)];
  return [h("span", { class: "mx-note" }, row.text)];
}

function node(row) {
  const cut = row.label ? 0 : row.name.lastIndexOf("/") + 1;
  return [
    cell("mark", row.mark),
    row.op ? cell(`op mx-part-${row.part[0]}`, row.op) : cell("op mx-part-i", "input"),
    h("span", null, cut ? cell("dim", row.name.slice(0, cut)) : null, row.label ?? row.name.slice(cut), row.label ? cell("dim", ` ${row.name}`) : null),
    row.inputs.length ? cell("dim", `← ${row.inputs.map((each) => each.slice(each.lastIndexOf("/") + 1)).join(", ")}`) : null,
    cell("out", row.outputs),
  ];
}

// The life of each array in a piece of memory; boxes that touch are told apart by their border.
function bars(row, chosen) {
  const unit = 100 / Math.max(row.steps, 1);
  return h(
    "span",
    { class: "mx-cell-bars", "aria-hidden": "true" },
    row.boxes.map((box, k) =>
      h("i", { class: `${k % 2 ? "mx-odd" : ""}${chosen?.has(box.thing) ? " mx-chosen" : ""}`, title: `${bytes(box.nbytes)}, operations ${box.first} to ${box.last}`, style: `left:${box.first * unit}%;width:${(box.last - box.first + 1) * unit}%` }),
    ),
  );
}

const LETTERS = { fusion: "F", kernel: "K", "library call": "L", copy: "C", loop: "O", branch: "B", call: "A", collective: "N" };

function group({ group: each, names }) {
  return [
    cell(`kind mx-kind-${(LETTERS[each.kind] ?? "K").toLowerCase()}`, `${each.parent === undefined ? "" : "in loop or call: "}${each.kind}`),
    h("span", null, names?.join(" + ") || each.name),
    cell("dim", `reads ${bytes(each.in)}, writes ${bytes(each.out)}`),
  ];
}
