// A list of rows of one height, of which only those in sight are in the page: a million lines cost nothing. A short
// list can wrap its rows instead, so that none is cut.
import { freshId, h, isPlain } from "./dom.js";

export const ROW = 20; // pixels, as in mx.css
const WRAPPED = 300; // rows that wrap at most: all of them are in the page

// The rows that a window needs: [first, after the last].
export function inSight(top, height, count, row = ROW, more = 8) {
  return [Math.max(0, Math.floor(top / row) - more), Math.min(count, Math.ceil((top + height) / row) + more)];
}

// lines(ctx, {label, pick, key}); pick(i) is a click or Enter, key(event) true if the view handled it.
// `show({count, render, classes, wraps})`: render(i) gives a row's children, classes(i) its classes; `wraps`: rows are as
// high as their text needs, where there are few.
export function lines(ctx, { label, pick, key }) {
  const id = freshId("lines");
  const sheet = h("div", { role: "presentation", class: "mx-sheet" });
  const element = h("div", { class: "mx-lines", role: "listbox", tabindex: "0", "aria-label": label, id }, sheet);
  let data = { count: 0, render: () => [], classes: () => "" }, active = 0, frame = 0;
  const wraps = () => Boolean(data.wraps) && data.count <= WRAPPED;
  const paint = () => {
    frame = 0;
    const all = wraps(), [first, last] = all ? [0, data.count] : inSight(element.scrollTop, element.clientHeight || 400, data.count);
    sheet.style.height = all ? "" : `${data.count * ROW}px`;
    element.classList.toggle("mx-wraps", all);
    const rows = [];
    for (let i = first; i < last; i += 1) {
      const marks = data.classes(i);
      rows.push(
        h("div", {
          role: "option", id: `${id}-${i}`, "data-row": i, class: `mx-row1 ${marks}${i === active ? " mx-active" : ""}`, style: `top:${i * ROW}px`,
          "aria-selected": String(marks.includes("mx-marked")), "aria-setsize": data.count, "aria-posinset": i + 1,
        }, data.render(i)),
      );
    }
    sheet.replaceChildren(...rows);
    if (active >= first && active < last) element.setAttribute("aria-activedescendant", `${id}-${active}`);
    else element.removeAttribute("aria-activedescendant");
  };
  const redraw = () => {
    if (!frame) frame = requestAnimationFrame(paint);
  };
  const reveal = (i, middle = true) => {
    const row = wraps() ? sheet.children[i] : null, tall = row?.offsetHeight ?? ROW;
    const top = row?.offsetTop ?? i * ROW, height = element.clientHeight || 400;
    if (top < element.scrollTop || top + tall > element.scrollTop + height - 14) {
      element.scrollTop = Math.max(0, middle ? top - height / 3 : top < element.scrollTop ? top : top + tall - height + 16);
    }
    redraw();
  };
  const go = (i) => {
    active = Math.max(0, Math.min(data.count - 1, i));
    reveal(active, false);
  };
  element.addEventListener("scroll", redraw);
  element.addEventListener("click", (event) => {
    const row = event.target.closest("[data-row]");
    if (!row) return;
    active = Number(row.dataset.row);
    redraw();
    pick?.(active);
  });
  element.addEventListener("keydown", (event) => {
    if (!isPlain(event)) return;
    const page = Math.max(1, Math.floor(element.clientHeight / ROW) - 1);
    const moves = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: data.count - 1 };
    if (event.key in moves) go(moves[event.key]);
    else if (event.key === "Enter" || event.key === " ") pick?.(active);
    else if (!key?.(event)) return;
    event.preventDefault();
    event.stopPropagation(); // JupyterLab's own shortcuts
  });
  const resized = new ResizeObserver(redraw);
  resized.observe(element);
  ctx.onClose(() => {
    resized.disconnect();
    cancelAnimationFrame(frame);
  });
  return {
    element, redraw, reveal, go,
    get active() {
      return active;
    },
    show(next, keep = false) {
      data = next;
      if (!keep) {
        active = 0;
        element.scrollTop = 0;
      }
      redraw();
    },
  };
}
