// Elements in one expression: h("div", {class: "x", onclick: f}, child, "text").
const SVG = "http://www.w3.org/2000/svg";

function fill(element, props, children) {
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function s(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

let count = 0;
// An id that no other element of the page has.
export function freshId(stem) {
  count += 1;
  return `mx-${stem}-${count}-${Math.random().toString(36).slice(2, 7)}`;
}

export function button(text, label, onclick, props) {
  return h("button", { type: "button", "aria-label": label, title: label, onclick, ...props }, text);
}

// A labelled <select>; options are [value, text].
export function select(label, options, value, onchange) {
  const box = h(
    "select",
    { "aria-label": label, onchange: (event) => onchange(event.target.value) },
    options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)),
  );
  return h("label", { class: "mx-field" }, h("span", null, label), box);
}

// A labelled slider that shows its value; `show` gives the text.
export function slider(label, { min, max, step, value, show = String }, oninput) {
  const out = h("output", null, show(value));
  const box = h("input", {
    type: "range", min, max, step, value, "aria-label": label, "aria-valuetext": show(value),
    oninput: (event) => {
      const number = Number(event.target.value);
      out.textContent = show(number);
      event.target.setAttribute("aria-valuetext", show(number));
      oninput(number);
    },
  });
  return h("label", { class: "mx-field" }, h("span", null, label), box, out);
}

export function tableOf(header, rows, caption) {
  return h(
    "table",
    null,
    caption && h("caption", null, caption),
    h("thead", null, h("tr", null, header.map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", null, rows.map((row) => h("tr", null, row.map((cell) => h("td", null, cell))))),
  );
}
