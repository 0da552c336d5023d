// Numbers for people.
export function bytes(size) {
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (Math.abs(size) < 1000) return `${unit === "B" ? Math.round(size) : digits(size)} ${unit}`;
    size /= 1000;
  }
  return `${digits(size)} TB`;
}

export function count(number) {
  for (const unit of ["", " k", " M", " G"]) {
    if (Math.abs(number) < 1000) return `${digits(number)}${unit}`;
    number /= 1000;
  }
  return `${digits(number)} T`;
}

export function seconds(time) {
  for (const [scale, unit] of [[1e-6, "ns"], [1e-3, "µs"], [1, "ms"]]) {
    if (Math.abs(time) < scale) return `${digits((time / scale) * 1000)} ${unit}`;
  }
  return `${digits(time)} s`;
}

export function digits(number) {
  return String(Number(number.toPrecision(3)));
}

export function short(text, length) {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

export function shape(extents) {
  return extents.length ? extents.join("×") : "scalar";
}
