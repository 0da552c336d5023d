// Numbers for people, by one rule, which is that of mixnet/units.py: three digits, and the unit that leaves one to
// three of them before the point; units are powers of 1,000, for bytes too. A minute and more has two units.
const scaled = (number, units) => {
  for (const unit of units.slice(0, -1)) {
    const text = digits(number);
    if (Math.abs(text) < 1000) return `${text} ${unit}`;
    number /= 1000;
  }
  return `${digits(number)} ${units.at(-1)}`;
};

export function bytes(size) {
  return scaled(Math.abs(size) < 999.5 ? Math.round(size) : size, ["B", "kB", "MB", "GB", "TB"]);
}

export function count(number) {
  if (Math.abs(number) >= 1e15) return digits(number);
  return scaled(number, ["", "k", "M", "G", "T"]).trim();
}

// A number of things, in the plural unless it is 1: 1 box, 2 boxes. The plural is regular.
export function howMany(number, of) {
  return `${number.toLocaleString("en-US")} ${number === 1 ? of : plural(of)}`;
}

function plural(of) {
  if (/[^aeiou]y$/.test(of)) return `${of.slice(0, -1)}ies`;
  return `${of}${/(s|x|ch|sh)$/.test(of) ? "es" : "s"}`;
}

export function seconds(time) {
  if (time === 0) return "0 s";
  if (time < 0) return `-${seconds(-time)}`;
  if (time >= 59.95 && time < Infinity) {
    const whole = Math.round(time);
    const [unit, size, smaller, part] = [["d", 24, "h", 3600], ["h", 60, "min", 60], ["min", 60, "s", 1]].find((each) => whole >= each[1] * each[3]);
    const parts = Math.round(whole / part), rest = parts % size;
    return `${((parts - rest) / size).toLocaleString("en-US")} ${unit}${rest ? ` ${rest} ${smaller}` : ""}`;
  }
  for (const [scale, unit] of [[1e-6, "ns"], [1e-3, "µs"], [1, "ms"]]) {
    const number = digits((time / scale) * 1000);
    if (number < 1000) return `${number} ${unit}`;
  }
  return `${digits(time)} s`;
}

export function percent(share) {
  return `${Number((100 * share).toFixed(1))}%`;
}

// A difference as a share, with its sign.
export function signedPercent(share) {
  const text = percent(share);
  return share > 0 && text !== "0%" ? `+${text}` : text;
}

export function digits(number) {
  const rounded = Number(number.toPrecision(3)), far = Math.abs(rounded);
  if (!Number.isFinite(rounded) || rounded === 0) return String(Math.abs(rounded) === 0 ? 0 : rounded);
  if (far >= 1e-4 && far < 1e6) return String(rounded);
  const [number_, power] = rounded.toExponential().split("e");
  return `${number_}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}

// What is but the error of rounding beside numbers of this size is 0.
export function rounded(number, size) {
  return Math.abs(number) < 1e-9 * size ? 0 : number;
}

// Round numbers from low to high, about `most`: steps of 1, 2 or 5 times a power of ten.
export function ticks(low, high, most = 5) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const ten = 10 ** Math.floor(Math.log10(span / most));
  const step = ten * [1, 2, 5, 10, 20].find((factor) => span / (ten * factor) <= most);
  const marks = [];
  for (let k = Math.ceil(low / step - 1e-9); k <= high / step + 1e-9; k += 1) marks.push(k * step);
  return marks;
}

// The same for seconds: from a second on, steps that are round on a clock.
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
export function timeTicks(low, high, most = 5) {
  const span = high - low;
  if (!(span > most)) return ticks(low, high, most);
  const step = STEPS.find((each) => span / each <= most);
  return step ? ticks(low / step, high / step, span / step).map((k) => k * step) : ticks(low / 86400, high / 86400, most).map((day) => day * 86400);
}

// Texts of times along an axis: what three digits cannot tell apart is told by its distance from the first.
export function timeTexts(times) {
  const texts = times.map(seconds);
  return new Set(texts).size === texts.length ? texts : times.map((t, k) => (k ? `+${seconds(t - times[0])}` : texts[0]));
}

export function short(text, length) {
  return text.length <= length ? text : `${text.slice(0, length - 1).replace(/[\s._]+$/, "")}…`;
}

// A name in at most `length` characters: its beginning and its end, as names differ in their ends.
export function shorterName(name, length) {
  const end = Math.floor((length - 1) / 2);
  return name.length <= length ? name : `${name.slice(0, length - 1 - end)}…${name.slice(name.length - end)}`;
}

// A text cut to the pixels that there are for it, in the font that is set.
export function fitted(g, text, room) {
  const wide = g.measureText(text).width;
  if (wide <= room) return text;
  let length = Math.max(Math.ceil((text.length * room) / wide), 1);
  while (length > 1 && g.measureText(short(text, length)).width > room) length -= 1;
  return short(text, length);
}

// How many letters of usual width are as wide as a text, where it cannot be measured.
export function columns(text) {
  let sum = 0;
  for (const each of text) sum += each > "\u2e7f" || "MW@".includes(each) ? 1.6 : 1;
  return sum;
}

export function shape(extents) {
  return extents.length ? extents.join("×") : "scalar";
}
