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

// Where a line of a program may break: between tokens, not inside a name or a number.
export const tokens = (text) => text.replace(/([([{,=:+*/-])(?=[A-Za-z_"'([{])/g, "$1\u200b").replace(/\.(?=[A-Za-z_])/g, "\u200b.").split("\u200b");

// A line of a program as the children of an element.
export const breakable = (text) => tokens(String(text ?? "")).flatMap((part, i) => (i ? [h("wbr"), part] : [part]));

export const code = (text) => h("code", null, breakable(text));

let count = 0;
// An id that no other element of the page has.
export function freshId(stem) {
  count += 1;
  return `mx-${stem}-${count}-${Math.random().toString(36).slice(2, 7)}`;
}

export function button(text, label, onclick, props) {
  return h("button", { type: "button", "aria-label": label, title: label, onclick, ...props }, text);
}

// A button that looks like a link: text that leads to what it names.
export function link(text, onclick, props) {
  return h("button", { type: "button", class: "mx-link", onclick, ...props }, text);
}

// Saves what is at an address as a file.
export function download(href, name) {
  h("a", { href, download: name }).click();
}

// A key pressed without Ctrl, Meta or Alt, which belong to the page around a view.
export const isPlain = (event) => !event.ctrlKey && !event.metaKey && !event.altKey;

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

// A table of [name, value]; facts without a value are left out.
export function factsOf(pairs) {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h("table", null, h("tbody", null, known.map(([name, value]) => h("tr", null, h("th", { scope: "row" }, name), h("td", null, value)))));
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
