// The board of boxes: arrays in an arena (steps to the right, bytes upwards), or tasks on threads (time to the right).
import { factsOf, h, isPlain } from "../core/dom.js";
import { bytes, ticks } from "../core/format.js";
import { dependencies, judge, rests, starts } from "./rules.js";

export function planeBoard(ctx, game) {
  const { kind, items, threads = 0 } = ctx.payload, isMemory = kind === "memory";
  const field = h("div", { class: "mx-field-of-boxes", role: "group", "aria-label": isMemory ? "arena: steps to the right, bytes upwards" : "threads: time to the right" });
  const left = h("div", { class: "mx-axis-left", "aria-hidden": "true" }), below = h("div", { class: "mx-axis-below", "aria-hidden": "true" });
  ctx.stage.append(h("div", { class: `mx-plane mx-${kind}` }, left, field, below));
  const high = isMemory ? 360 : Math.max(120, 64 * threads);
  field.style.height = `${high}px`;
  const edges = isMemory ? [] : dependencies(items);
  const steps = isMemory ? Math.max(...items.map((each) => each.end)) : 0;
  const first = judge(ctx.payload, ctx.payload.start).score;
  let most = first; // what the board is high, or long: it grows, and shrinks when nothing is dragged
  const candidates = (place, i) => (isMemory ? rests(ctx.payload, place, i) : starts(ctx.payload, place, i));
  const along = (place, i) => (isMemory ? place[i] : place[i][1]);
  const moved = (place, i, at, thread = place[i][0]) => place.map((each, j) => (j !== i ? each : isMemory ? at : [thread, at]));
  const sentence = (place, i) => (isMemory ? `${items[i].name} at ${bytes(place[i])}` : `${items[i].name} on thread ${place[i][0] + 1} at ${place[i][1]}`);
  const put = (next, i, remember) => game.put(next, sentence(next, i), remember);
  const nearest = (list, at) => list.reduce((a, b) => (Math.abs(b - at) < Math.abs(a - at) ? b : a));

  const boxes = items.map((each, i) => {
    const box = h("button", { type: "button", class: `mx-box mx-fill${i % 7}`, "data-item": i, onclick: () => game.choose(i), onfocus: () => game.selected() !== i && game.choose(i), onkeydown: (event) => key(event, i) });
    drag(box, i);
    return box;
  });
  field.replaceChildren(...boxes);

  function drag(box, i) {
    let from = null;
    box.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      box.setPointerCapture(event.pointerId);
      from = { x: event.clientX, y: event.clientY, place: game.place(), remembered: false, most };
    });
    box.addEventListener("pointermove", (event) => {
      if (!from) return;
      const area = field.getBoundingClientRect(), place = game.place();
      const shift = isMemory ? ((from.y - event.clientY) / area.height) * from.most : ((event.clientX - from.x) / area.width) * from.most;
      const at = nearest(candidates(place, i), along(from.place, i) + shift);
      const thread = isMemory ? 0 : Math.min(threads - 1, Math.max(0, Math.floor(((event.clientY - area.top) / area.height) * threads)));
      const next = moved(place, i, at, thread);
      if (JSON.stringify(next) === JSON.stringify(place)) return;
      put(next, i, !from.remembered);
      from.remembered = true;
    });
    const end = () => {
      from = null;
      if (judge(ctx.payload, game.place()).score < most) update(judge(ctx.payload, game.place()));
    };
    box.addEventListener("pointerup", end);
    box.addEventListener("pointercancel", end);
    box.isDragged = () => from !== null;
  }

  function key(event, i) {
    const place = game.place(), own = along(place, i), list = candidates(place, i);
    const more = () => list.find((each) => each > own) ?? own, less = () => list.findLast((each) => each < own) ?? own;
    const thread = (step) => moved(place, i, own, Math.min(threads - 1, Math.max(0, place[i][0] + step)));
    const free = () => list.find((at) => !judge(ctx.payload, moved(place, i, at)).conflicts.some((each) => each.items.includes(i))) ?? own;
    const actions = isMemory
      ? { ArrowUp: () => moved(place, i, more()), ArrowDown: () => moved(place, i, less()) }
      : { ArrowRight: () => moved(place, i, more()), ArrowLeft: () => moved(place, i, less()), ArrowDown: () => thread(1), ArrowUp: () => thread(-1) };
    actions.Home = () => moved(place, i, free());
    if (!actions[event.key] || !isPlain(event)) return;
    event.preventDefault();
    event.stopPropagation();
    put(actions[event.key](), i);
  }

  function update(verdict, cause) {
    const place = game.place(), wrong = new Set(verdict.conflicts.flatMap((each) => each.items));
    if (verdict.score > most || !boxes.some((each) => each.isDragged())) most = Math.max(verdict.score, isMemory ? first / 2 : first, 1);
    boxes.forEach((box, i) => {
      const each = items[i], at = along(place, i);
      const [x, width, y, height] = isMemory
        ? [each.begin / steps, (each.end - each.begin) / steps, 1 - (at + each.size) / most, each.size / most]
        : [at / most, each.time / most, place[i][0] / threads, 1 / threads];
      box.style.cssText = `left:${100 * x}%;width:${100 * width}%;top:${100 * y}%;height:${100 * height}%`;
      box.replaceChildren(h("span", null, height * high >= 15 ? `${wrong.has(i) ? "! " : ""}${each.name}` : ""));
      const facts = isMemory ? `${bytes(each.size)}, steps ${each.begin + 1} to ${each.end}, at ${bytes(at)}` : `time ${each.time}, thread ${place[i][0] + 1}, from ${at} to ${at + each.time}`;
      box.title = `${each.name}: ${facts}`;
      box.setAttribute("aria-label", `${box.textContent || each.name}: ${facts}${wrong.has(i) ? "; conflict" : ""}`);
      box.setAttribute("aria-pressed", String(game.selected() === i));
      box.classList.toggle("mx-wrong", wrong.has(i));
    });
    const chosen = game.selected();
    if (!isMemory) boxes.forEach((box, i) => box.classList.toggle("mx-before", edges.some(([earlier, later]) => later === chosen && earlier === i)));
    const percent = (share) => `${(100 * share).toFixed(2)}%`;
    if (isMemory) {
      left.replaceChildren(...ticks(0, most, 5).map((each) => h("span", { style: `top:${percent(1 - each / most)}` }, bytes(each))));
      if (cause) below.replaceChildren(...ticks(1, steps, 8).map((each) => h("span", { style: `left:${percent((each - 0.5) / steps)}` }, each === 1 ? "step 1" : String(each))));
    } else {
      if (cause) left.replaceChildren(...Array.from({ length: threads }, (_, i) => h("span", { style: `top:${percent((i + 0.5) / threads)}` }, `thread ${i + 1}`)));
      below.replaceChildren(...ticks(0, most, 8).map((each) => h("span", { style: `left:${percent(each / most)}` }, String(each))));
    }
    left.style.height = `${high}px`;
  }

  function about(i) {
    const each = items[i], place = game.place();
    if (isMemory) return [h("h3", null, each.name), factsOf([["size", bytes(each.size)], ["needed", `steps ${each.begin + 1} to ${each.end}`], ["at", bytes(place[i])]])];
    const waits = edges.filter(([, later]) => later === i).map(([, , why]) => h("li", null, why));
    return [h("h3", null, each.name), factsOf([["time", each.time], ["reads", each.reads.join(", ") || "nothing"], ["writes", each.writes.join(", ") || "nothing"], ["runs", `thread ${place[i][0] + 1}, ${place[i][1]} to ${place[i][1] + each.time}`]]), waits.length ? h("h3", null, "Waits for the marked tasks") : "", h("ul", { class: "mx-wrongs" }, waits)];
  }

  const keys = isMemory
    ? [["drag, ↑ ↓", "to the next free place above or below"], ["Home", "down to the lowest place without a conflict"]]
    : [["drag, ← →", "to the previous or next start time"], ["↑ ↓", "to another thread"], ["Home", "to the earliest start without a conflict"]];
  return { update, about, keys };
}
