// The board of operations: a graph whose nodes are joined to groups by dragging one onto another.
import { button, factsOf, h, isPlain, s } from "../core/dom.js";
import { bytes } from "../core/format.js";
import { layered } from "../core/layered.js";
import { letter, makers, numbered } from "./rules.js";

const W = 116, H = 42;

export function graphBoard(ctx, game) {
  const { items, values } = ctx.payload, maker = makers(items);
  const edges = items.flatMap((each, to) => each.reads.filter((value) => maker.has(value)).map((value) => ({ from: maker.get(value), to, value })));
  const plan = layered({ boxes: items.map(() => ({ w: W, h: H })), edges });
  const lines = s("svg", { width: plan.width, height: plan.height, "aria-hidden": "true" });
  const sheet = h("div", { class: "mx-sheet", style: `width:${plan.width}px;height:${plan.height}px` }, lines);
  ctx.stage.append(h("div", { class: "mx-nodes", role: "group", "aria-label": "operations; drag one onto another to fuse both" }, sheet), h("p", { class: "mx-legend" }, h("i", { class: "mx-thick" }), " through memory", h("i", { class: "mx-thin" }), " stays in the kernel; inputs and outputs of the graph always move"));
  const paths = plan.paths.map((points) => {
    let d = `M${points[0]},${points[1]}`;
    for (let k = 2; k < points.length; k += 2) {
      const [x0, y0, x, y] = [points[k - 2], points[k - 1], points[k], points[k + 1]];
      d += (k / 2) % 2 ? `L${x},${y}` : `C${x0},${(y0 + y) / 2} ${x},${(y0 + y) / 2} ${x},${y}`;
    }
    return s("path", { d, fill: "none" });
  });
  lines.append(...paths);
  const nodes = items.map((each, i) => {
    const node = h("button", { type: "button", class: "mx-box", "data-item": i, style: `left:${plan.x[i]}px;top:${plan.y[i]}px;width:${W}px;height:${H}px`, onclick: () => game.choose(i), onfocus: () => game.selected() !== i && game.choose(i), onkeydown: (event) => key(event, i) });
    drag(node, i);
    return node;
  });
  sheet.append(...nodes);

  const join = (i, other) => game.put(numbered(game.place().map((group, j) => (j === i ? game.place()[other] : group))), `${items[i].name} joins ${items[other].name}`);
  const leave = (i) => game.put(numbered(game.place().map((group, j) => (j === i ? -1 : group))), `${items[i].name} on its own`);

  function drag(node, i) {
    let from = null, moved = false;
    node.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      node.setPointerCapture(event.pointerId);
      from = { x: event.clientX, y: event.clientY };
      moved = false;
    });
    node.addEventListener("pointermove", (event) => {
      if (!from) return;
      const dx = event.clientX - from.x, dy = event.clientY - from.y;
      moved ||= Math.hypot(dx, dy) > 6;
      if (!moved) return;
      node.style.transform = `translate(${dx}px,${dy}px)`;
      node.classList.add("mx-lifted");
      const over = target(event, i);
      nodes.forEach((each, j) => each.classList.toggle("mx-target", j === over));
    });
    const end = (event) => {
      if (!from) return;
      from = null;
      node.style.transform = "";
      node.classList.remove("mx-lifted");
      nodes.forEach((each) => each.classList.remove("mx-target"));
      if (!moved || event.type !== "pointerup") return;
      const over = target(event, i);
      if (over === null) leave(i);
      else join(i, over);
    };
    node.addEventListener("pointerup", end);
    node.addEventListener("pointercancel", end);
  }
  // The node that lies under the pointer, but for the one that is dragged.
  function target(event, i) {
    const box = sheet.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const over = items.findIndex((_, j) => j !== i && x >= plan.x[j] - 6 && x <= plan.x[j] + W + 6 && y >= plan.y[j] - 6 && y <= plan.y[j] + H + 6);
    return over < 0 ? null : over;
  }
  const neighbours = (i) => [...new Set(edges.flatMap((each) => (each.to === i ? [each.from] : each.from === i ? [each.to] : [])))].sort((a, b) => a - b);
  const above = (i) => neighbours(i).filter((j) => j < i), under = (i) => neighbours(i).filter((j) => j > i);

  function key(event, i) {
    const isElsewhere = (j) => game.place()[j] !== game.place()[i];
    const actions = { ArrowUp: () => above(i).filter(isElsewhere), ArrowDown: () => under(i).filter(isElsewhere) };
    if (!isPlain(event)) return;
    if (event.key === "Delete" || event.key === "Backspace") leave(i);
    else if (actions[event.key]) {
      const [other] = actions[event.key]();
      if (other === undefined) ctx.say(`${items[i].name}: nothing to join there`);
      else join(i, other);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function update(verdict) {
    const group = numbered(game.place()), wrong = new Set(verdict.conflicts.flatMap((each) => each.items));
    nodes.forEach((node, i) => {
      const each = items[i], name = letter(group[i]);
      const size = each.writes.reduce((sum, value) => sum + values[value].bytes, 0);
      const facts = `group ${name}, ${each.op}, ${each.kind === "library" ? "library call" : each.kind}, writes ${bytes(size)}`;
      node.className = `mx-box mx-fill${group[i] % 7}${wrong.has(i) ? " mx-wrong" : ""} mx-of-${each.kind}`;
      node.title = `${each.name}: ${facts}`;
      node.setAttribute("aria-pressed", String(game.selected() === i));
      const shown = `${wrong.has(i) ? "! " : ""}${name} · ${each.name}`;
      node.replaceChildren(h("span", null, shown), h("small", null, bytes(size)), wrong.has(i) ? h("span", { class: "mx-hidden" }, "conflict") : "");
    });
    edges.forEach(({ from, to }, k) => paths[k].setAttribute("class", group[from] === group[to] ? "mx-thin" : "mx-thick"));
  }

  function about(i) {
    const each = items[i], group = numbered(game.place()), sizes = (list) => list.map((value) => `${values[value].name} ${bytes(values[value].bytes)}`).join(", ") || "nothing";
    const members = items.filter((_, j) => j !== i && group[j] === group[i]).map((other) => other.name);
    const others = [...new Map(neighbours(i).filter((j) => group[j] !== group[i]).map((j) => [group[j], j]))];
    return [
      h("h3", null, each.name),
      factsOf([["operator", each.op], ["kind", { library: "library call: runs alone", reduction: "reduction: its readers wait for all of it", pointwise: "elementwise" }[each.kind]], ["reads", sizes(each.reads)], ["writes", sizes(each.writes)], ["runs with", members.join(", ") || "nothing"]]),
      h("p", null, others.map(([of, j]) => button(`Join ${letter(of)} (${items[j].name})`, `Join ${letter(of)} (${items[j].name})`, () => join(i, j))), members.length ? button("Take out", "Take out of its group", () => leave(i)) : ""),
    ];
  }

  const keys = [["drag", "onto another node: fuse both; onto empty space: on its own"], ["↑ ↓", "join an operation it reads, or one that reads it"], ["Delete", "on its own"], ["Enter", "details, and buttons to join it"]];
  return { update, about, keys };
}
