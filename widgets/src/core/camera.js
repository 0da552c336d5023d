// Where one looks: world point (x, y) at the upper left corner, kx and ky pixels for each unit of the world.

export function fitCamera(box, size, axes = "xy", margin = 12) {
  const across = (size.width - 2 * margin) / Math.max(box.width, 1e-9);
  const down = (size.height - 2 * margin) / Math.max(box.height, 1e-9);
  const kx = axes === "x" ? across : Math.min(across, down, 1.5);
  const ky = axes === "x" ? 1 : kx;
  const x = box.x - (size.width / kx - box.width) / 2;
  const y = axes === "x" ? box.y - margin : box.y - Math.max(margin / ky, (size.height / ky - box.height) / 2);
  return { x, y, kx, ky };
}

// Where a window of some length begins once [low, low + extent] lies in it: where it did if it lies there already, or
// reaches across it; else with the middle of both at one place.
export function broughtIn(at, length, low, extent) {
  const high = low + extent, end = at + length;
  const isInside = low >= at && high <= end, isAcross = low <= at && high >= end;
  return isInside || isAcross ? at : low + extent / 2 - length / 2;
}

export function zoomAt(camera, at, factor, axes = "xy") {
  const kx = Math.min(Math.max(camera.kx * factor, 1e-7), 1e7);
  const ky = axes === "x" ? camera.ky : Math.min(Math.max(camera.ky * factor, 1e-7), 1e7);
  return { kx, ky, x: at.x - ((at.x - camera.x) * camera.kx) / kx, y: at.y - ((at.y - camera.y) * camera.ky) / ky };
}

// Keeps some of the world in sight, and the zoom within reason.
export function clampCamera(camera, box, size, axes = "xy") {
  const fit = fitCamera(box, size, axes);
  const kx = Math.min(Math.max(camera.kx, fit.kx / 4), Math.max(fit.kx, 1) * (axes === "x" ? 1e5 : 8));
  const ky = axes === "x" ? camera.ky : kx;
  const keep = (at, low, length, view) => Math.min(Math.max(at, low - 0.8 * view), low + length - 0.2 * view);
  return { kx, ky, x: keep(camera.x, box.x, box.width, size.width / kx), y: keep(camera.y, box.y, box.height, size.height / ky) };
}
