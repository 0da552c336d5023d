
// ---- the page -----------------------------------------------------------------------------------

const page = JSON.parse(document.getElementById("data").textContent);
const run = engineOf(page.program, document.getElementById("constants").textContent);
const $ = (id) => document.getElementById(id);
const make = (tag, className, text) => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
};
const { channels, height, width } = page;
const pad = $("pad"), ink = pad.getContext("2d", { willReadFrequently: true });
const MOST_MAPS = 32, MOST_SCORES = 10, SHOWN = 280;
let isDrawn = true; // by hand; else a picture that is taken as it is

// ---- input --------------------------------------------------------------------------------------

function empty() {
  ink.fillStyle = "#000";
  ink.fillRect(0, 0, SHOWN, SHOWN);
  isDrawn = true;
}

const within = (x, most) => Math.min(Math.max(x, 0), most);
// Grey pixels of a drawing: its box is so large as the network's pictures have it, and lies about its centre of mass.
function centred() {
  const { data } = ink.getImageData(0, 0, SHOWN, SHOWN);
  let left = SHOWN, right = -1, top = SHOWN, bottom = -1, mass = 0, mx = 0, my = 0;
  for (let y = 0; y < SHOWN; y++) {
    for (let x = 0; x < SHOWN; x++) {
      const grey = data[4 * (y * SHOWN + x)];
      if (grey < 16) continue;
      left = Math.min(left, x); right = Math.max(right, x);
      top = Math.min(top, y); bottom = Math.max(bottom, y);
      mass += grey; mx += grey * x; my += grey * y;
    }
  }
  const canvas = make("canvas");
  canvas.width = width; canvas.height = height;
  const to = canvas.getContext("2d", { willReadFrequently: true });
  to.fillStyle = "#000";
  to.fillRect(0, 0, width, height);
  if (mass) {
    const side = Math.max(right - left, bottom - top) + 1;
    const scale = page.fill * Math.min(width, height) / side;
    const wide = (right - left + 1) * scale, tall = (bottom - top + 1) * scale;
    to.imageSmoothingQuality = "high";
    to.drawImage(pad, left, top, right - left + 1, bottom - top + 1,
      within(width / 2 - (mx / mass - left + 0.5) * scale, width - wide),
      within(height / 2 - (my / mass - top + 0.5) * scale, height - tall), wide, tall);
  }
  return to.getImageData(0, 0, width, height).data;
}

function whole() {
  const canvas = make("canvas");
  canvas.width = width; canvas.height = height;
  const to = canvas.getContext("2d", { willReadFrequently: true });
  to.imageSmoothingQuality = "high";
  to.drawImage(pad, 0, 0, width, height);
  return to.getImageData(0, 0, width, height).data;
}

// Pixels as planes, one for each channel, of numbers from 0 to 1.
function planesOf(pixels) {
  const size = width * height, numbers = new Float32Array(channels * size);
  for (let i = 0; i < size; i++) {
    const [r, g, b] = pixels.subarray(4 * i, 4 * i + 3);
    const planes = channels === 1 ? [0.299 * r + 0.587 * g + 0.114 * b] : [r, g, b];
    planes.forEach((each, c) => { numbers[c * size + i] = each / 255; });
  }
  return numbers;
}

// Planes as the network takes them: moved and divided.
const numbersOf = (planes) => Float32Array.from(planes, (each, i) => {
  const c = Math.floor(i / (width * height));
  return (each - page.mean[c]) / page.std[c];
});

async function open(file) {
  const picture = await createImageBitmap(file);
  const side = Math.min(picture.width, picture.height);
  ink.imageSmoothingQuality = "high";
  ink.drawImage(picture, (picture.width - side) / 2, (picture.height - side) / 2, side, side, 0, 0, SHOWN, SHOWN);
  isDrawn = false;
  if (page.draw && channels === 1) invertIfLight();
  predict();
}

// Where one draws light on dark, a picture of dark on light is turned over.
function invertIfLight() {
  const picture = ink.getImageData(0, 0, SHOWN, SHOWN), { data } = picture;
  let edge = 0;
  for (let i = 0; i < SHOWN; i++) edge += data[4 * i] + data[4 * (SHOWN * (SHOWN - 1) + i)];
  if (edge / (2 * SHOWN) < 128) return;
  for (let i = 0; i < data.length; i++) if (i % 4 !== 3) data[i] = 255 - data[i];
  ink.putImageData(picture, 0, 0);
  isDrawn = true;
}

// ---- drawing by hand ----------------------------------------------------------------------------

let last = null;
const place = (event) => {
  const box = pad.getBoundingClientRect();
  return [((event.clientX - box.left) / box.width) * SHOWN, ((event.clientY - box.top) / box.height) * SHOWN];
};
function stroke(event) {
  const now = place(event);
  ink.strokeStyle = "#fff";
  ink.lineWidth = 22;
  ink.lineCap = ink.lineJoin = "round";
  ink.beginPath();
  ink.moveTo(...last);
  ink.lineTo(...now);
  ink.stroke();
  last = now;
  soon();
}
if (page.draw) {
  pad.addEventListener("pointerdown", (event) => {
    if (!isDrawn) empty();
    pad.setPointerCapture(event.pointerId);
    last = place(event);
    stroke(event);
  });
  pad.addEventListener("pointermove", (event) => { if (last) stroke(event); });
  for (const name of ["pointerup", "pointercancel"]) pad.addEventListener(name, () => { last = null; });
} else {
  pad.style.cursor = "default";
}
let waiting = false;
function soon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; predict(); });
}

$("clear").addEventListener("click", () => { empty(); forget(); });
$("file").addEventListener("change", (event) => { if (event.target.files[0]) open(event.target.files[0]); });
for (const name of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(name, (event) => {
    event.preventDefault();
    $("board").classList.toggle("over", name === "dragover");
    if (name === "drop" && event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
  });
}

// ---- output -------------------------------------------------------------------------------------

// Scores as shares of one: those of a network that ends with softmax are it already.
function shares(scores) {
  const total = scores.reduce((a, b) => a + b, 0);
  if (scores.every((each) => each >= 0 && each <= 1) && Math.abs(total - 1) < 1e-3) return [...scores];
  const most = Math.max(...scores), grown = Array.from(scores, (each) => Math.exp(each - most));
  const all = grown.reduce((a, b) => a + b, 0);
  return grown.map((each) => each / all);
}

const COLOURS = { low: [176, 78, 20], high: [24, 104, 178] };
// Nothing is the ground's colour; numbers below 0 are orange, above 0 blue.
function paint(canvas, data, rows, columns, most) {
  canvas.width = columns; canvas.height = rows;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches, ground = dark ? [13, 17, 23] : [246, 247, 249];
  const context = canvas.getContext("2d"), picture = context.createImageData(columns, rows);
  for (let i = 0; i < Math.min(rows * columns, data.length); i++) {
    const share = most > 0 ? Math.min(Math.abs(data[i]) / most, 1) : 0;
    const colour = data[i] < 0 ? COLOURS.low : COLOURS.high;
    for (let c = 0; c < 3; c++) {
      const strong = dark ? Math.min(colour[c] * 1.3 + 40, 255) : colour[c];
      picture.data[4 * i + c] = ground[c] + (strong - ground[c]) * share;
    }
    picture.data[4 * i + 3] = 255;
  }
  context.putImageData(picture, 0, 0);
}

const short = (x) => (Number.isFinite(x) ? Number(x.toPrecision(3)).toString() : String(x));
const mostOf = (data) => { let most = 0; for (const x of data) if (Math.abs(x) > most) most = Math.abs(x); return most; };

function showMaps(maps, layer) {
  maps.replaceChildren();
  const shape = layer.shape.slice(1), most = mostOf(layer.data);
  if (shape.length === 3 && shape[1] * shape[2] > 1) {
    const [count, rows, columns] = shape, size = rows * columns;
    const side = Math.max(36, Math.min(64, Math.floor(560 / Math.min(count, 12))));
    for (let c = 0; c < Math.min(count, MOST_MAPS); c++) {
      const canvas = make("canvas");
      paint(canvas, layer.data.subarray(c * size, (c + 1) * size), rows, columns, most);
      canvas.style.width = `${(side * columns) / Math.max(rows, columns)}px`;
      canvas.style.height = `${(side * rows) / Math.max(rows, columns)}px`;
      maps.append(canvas);
    }
    if (count > MOST_MAPS) maps.append(make("span", "more", `and ${count - MOST_MAPS} more`));
    return;
  }
  const size = layer.data.length, columns = Math.min(size, 64), rows = Math.ceil(size / columns);
  const shownRows = Math.min(rows, 12), canvas = make("canvas");
  paint(canvas, layer.data, shownRows, columns, most);
  const cell = size <= 16 ? 24 : 9;
  canvas.style.width = `${columns * cell}px`;
  canvas.style.height = `${shownRows * cell}px`;
  canvas.style.maxWidth = "100%";
  maps.append(canvas);
  if (rows > shownRows) maps.append(make("span", "more", `the first ${shownRows * columns} of ${size}`));
}

const cards = page.program.layers.map((layer) => {
  const card = make("article", "layer"), head = make("header");
  const [, shape] = page.program.specs[layer.output];
  head.append(make("h2", "", layer.op), make("span", "dim", layer.name), make("span", "dim", shape.slice(1).join(" × ")));
  const range = make("span", "dim range"), maps = make("div", "maps");
  head.append(range);
  card.append(head, maps);
  $("layers").append(card);
  return { card, maps, range };
});

// The graph: a line from layer to layer; what skips layers goes round them.
function drawEdges() {
  const svg = $("edges"), top = $("layers").getBoundingClientRect().top;
  const middle = cards.map(({ card }) => { const box = card.getBoundingClientRect(); return box.top + 22 - top; });
  const parts = [];
  page.program.layers.forEach((layer, i) => {
    for (const from of layer.inputs) {
      const start = from < 0 ? 0 : middle[from], end = middle[i];
      const far = i - from > 1 ? Math.min(26, 8 + 3 * (i - from)) : 0;
      parts.push(`<path d="M32 ${start}C${32 - far} ${start + 14} ${32 - far} ${end - 14} 32 ${end}"/>`);
    }
  });
  svg.innerHTML = parts.join("") + middle.map((y) => `<circle cx="32" cy="${y}" r="7"/>`).join("");
}

function showScores(output) {
  const all = shares(Array.from(output.data)), order = all.map((_, i) => i).sort((a, b) => all[b] - all[a]);
  $("best").textContent = page.labels[order[0]];
  $("sure").textContent = `${(100 * all[order[0]]).toFixed(1)}%`;
  const shown = all.length <= MOST_SCORES ? all.map((_, i) => i) : order.slice(0, MOST_SCORES);
  $("scores").replaceChildren(...shown.map((i) => {
    const row = make("li", i === order[0] ? "first" : ""), bar = make("span", "bar"), fill = make("i");
    fill.style.width = `${100 * all[i]}%`;
    bar.append(fill);
    const name = make("span", "name", page.labels[i]);
    name.title = page.labels[i]; // a long one is cut
    row.append(name, bar, make("span", "number", `${(100 * all[i]).toFixed(1)}%`));
    return row;
  }));
}

function predict() {
  $("hint").textContent = "";
  show(numbersOf(planesOf(isDrawn ? centred() : whole())));
}

// ---- examples -----------------------------------------------------------------------------------

function pictureOf(planes) {
  const canvas = make("canvas"), size = width * height;
  canvas.width = width; canvas.height = height;
  const context = canvas.getContext("2d"), picture = context.createImageData(width, height);
  for (let i = 0; i < size; i++) {
    for (let c = 0; c < 3; c++) picture.data[4 * i + c] = 255 * planes[(channels === 1 ? 0 : c) * size + i];
    picture.data[4 * i + 3] = 255;
  }
  context.putImageData(picture, 0, 0);
  return canvas;
}

function choose(planes) {
  $("hint").textContent = "";
  ink.imageSmoothingEnabled = false;
  ink.drawImage(pictureOf(planes), 0, 0, SHOWN, SHOWN);
  ink.imageSmoothingEnabled = true;
  isDrawn = false;
  show(numbersOf(planes)); // its own numbers, not those of the pixels on the screen
}

$("examples").hidden = page.examples.length === 0;
page.examples.forEach((planes, i) => {
  const button = make("button");
  button.type = "button";
  button.setAttribute("aria-label", `Example ${i + 1}`);
  button.append(pictureOf(planes));
  button.addEventListener("click", () => choose(planes));
  $("examples").append(button);
});

function show(numbers) {
  const small = $("small");
  small.width = width; small.height = height;
  small.getContext("2d").drawImage(pictureOf(Float32Array.from(numbers, (each, i) => {
    const c = Math.floor(i / (width * height));
    return each * page.std[c] + page.mean[c];
  })), 0, 0);
  const result = run(numbers);
  result.layers.forEach((layer, i) => {
    showMaps(cards[i].maps, layer);
    let low = Infinity, high = -Infinity;
    for (const x of layer.data) { if (x < low) low = x; if (x > high) high = x; }
    cards[i].range.textContent = `${short(low)} to ${short(high)}`;
  });
  showScores(result.outputs[0]);
  drawEdges();
  return result;
}

function forget() {
  $("hint").textContent = page.draw ? "Draw here, or drop a picture" : "Drop a picture here";
  $("best").textContent = "–";
  $("sure").textContent = "";
  $("scores").replaceChildren();
  for (const { maps, range } of cards) { maps.replaceChildren(); range.textContent = ""; }
  drawEdges();
}

$("facts").textContent = `${page.program.layers.length} layers, ${page.parameters.toLocaleString("en")} parameters, input ${channels} × ${height} × ${width}`;
empty();
if (page.examples.length) choose(page.examples[0]); else forget();
addEventListener("resize", drawEdges);
// For programs and tests: numbers in, numbers out.
globalThis.mixnetPage = {
  run: (numbers) => run(Float32Array.from(numbers)),
  show: (numbers) => show(Float32Array.from(numbers)),
};
