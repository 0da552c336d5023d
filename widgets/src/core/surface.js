// A canvas with a camera: pan by dragging or arrow keys, zoom by wheel, pinch or + - 0. Draws once per frame
// at most, and only when something changed.
import { h, isPlain } from "./dom.js";
import { broughtIn, clampCamera, fitCamera, zoomAt } from "./camera.js";

// surface(ctx, {label, height, draw, hit, pick, hover, key, bounds})
//   label    what a screen reader says of the picture
//   draw(g, camera, size)  draws in world coordinates (the camera is applied); `size` is {width, height} in pixels
//   bounds() {x, y, width, height} of everything, in world coordinates
//   hit(x, y)  what lies there, or null
//   pick(thing), hover(thing, event)  a click or Enter; the pointer over something (null: nothing)
//   key(event)  true if the view handled it (before the camera does)
//   refit()   called before everything is fitted anew to another width
//   axes      "xy" (default) or "x": what zooms (a timeline stretches along x alone)
export function surface(ctx, options) {
  const { label, height = 420, draw, bounds, hit, pick, hover, key, refit, axes = "xy" } = options;
  const canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": label, class: "mx-canvas", "data-pans": axes, style: `height:${height}px` });
  ctx.stage.append(canvas);
  const g = canvas.getContext("2d");
  let camera = null, size = { width: 0, height: 0 }, frame = 0, moved = false, sought = null; // moved: looks where somebody wanted
  const self = {
    canvas,
    drawTime: 0, // milliseconds of the last drawing: what the tests of speed read
    get camera() {
      return camera;
    },
    redraw() {
      if (!frame) frame = requestAnimationFrame(paint);
    },
    fit() {
      camera = null;
      moved = false;
      self.redraw();
    },
    // `own`: nobody asked for it, so that another width may show everything again.
    moveTo(next, own = false) {
      moved ||= !own;
      camera = clampCamera(next, bounds(), size, axes);
      self.redraw();
    },
    // Brings a box of the world into sight, without zooming; before there is a picture, with the first one.
    reveal(box, own = false) {
      if (!camera) return void (sought = [box, own]);
      const x = broughtIn(camera.x, size.width / camera.kx, box.x, box.width);
      const y = broughtIn(camera.y, size.height / camera.ky, box.y, box.height);
      if (x !== camera.x || y !== camera.y) self.moveTo({ ...camera, x, y }, own);
    },
    toWorld(event) {
      const box = canvas.getBoundingClientRect();
      return { x: (event.clientX - box.left) / camera.kx + camera.x, y: (event.clientY - box.top) / camera.ky + camera.y };
    },
  };
  function paint() {
    frame = 0;
    const width = canvas.clientWidth, tall = canvas.clientHeight;
    if (!width || !tall) return;
    if (camera && size.width && width !== size.width) resize(width);
    const scale = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(tall * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(tall * scale);
    }
    size = { width, height: tall };
    camera ??= fitCamera(bounds(), size, axes);
    if (sought) {
      const [box, own] = sought;
      sought = null;
      self.reveal(box, own);
    }
    const began = performance.now();
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.clearRect(0, 0, width, tall);
    g.setTransform(scale * camera.kx, 0, 0, scale * camera.ky, -camera.x * camera.kx * scale, -camera.y * camera.ky * scale);
    draw(g, camera, size);
    self.drawTime = performance.now() - began;
    canvas.dataset.drawTime = self.drawTime.toFixed(2);
    canvas.dataset.first ??= Math.round(performance.now());
    canvas.dataset.frames = Number(canvas.dataset.frames ?? 0) + 1;
  }
  // In another width all is shown anew; what somebody looks at stays: its middle, or along x its whole stretch.
  function resize(width) {
    if (!moved) {
      camera = null;
      refit?.();
    } else if (axes === "x") camera = { ...camera, kx: (camera.kx * width) / size.width };
    else camera = { ...camera, x: camera.x + (size.width - width) / camera.kx / 2 };
  }
  const pointers = new Map();
  let travelled = 0;
  canvas.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, event);
    canvas.setPointerCapture?.(event.pointerId);
    travelled = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!camera) return;
    const before = pointers.get(event.pointerId);
    if (!before) {
      const at = self.toWorld(event);
      hover?.(hit?.(at.x, at.y) ?? null, event);
      return;
    }
    pointers.set(event.pointerId, event);
    if (pointers.size === 2) {
      const [a, b] = [...pointers.values()];
      const other = a === event ? b : a;
      const far = Math.hypot(event.clientX - other.clientX, event.clientY - other.clientY);
      const was = Math.hypot(before.clientX - other.clientX, before.clientY - other.clientY);
      if (was > 0) self.moveTo(zoomAt(camera, self.toWorld(event), far / was, axes));
    } else {
      const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
      travelled += Math.abs(dx) + Math.abs(dy);
      self.moveTo({ ...camera, x: camera.x - dx / camera.kx, y: camera.y - dy / camera.ky });
    }
  });
  const lift = (event) => {
    const was = pointers.delete(event.pointerId);
    if (was && event.type === "pointerup" && travelled < 5 && camera) {
      const at = self.toWorld(event);
      pick?.(hit?.(at.x, at.y) ?? null, event);
    }
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", () => hover?.(null, null));
  canvas.addEventListener(
    "wheel",
    (event) => {
      // A page scrolls on: the picture zooms once it has the focus, or with Ctrl.
      if (!camera || (document.activeElement !== canvas && !event.ctrlKey)) return;
      event.preventDefault();
      self.moveTo(zoomAt(camera, self.toWorld(event), Math.exp(-event.deltaY / 400), axes));
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", (event) => {
    if (!camera) return;
    const middle = { x: camera.x + size.width / camera.kx / 2, y: camera.y + size.height / camera.ky / 2 };
    const step = event.shiftKey ? 0.5 : 0.1;
    const pan = (dx, dy) => self.moveTo({ ...camera, x: camera.x + (dx * size.width) / camera.kx, y: camera.y + (dy * size.height) / camera.ky });
    const actions = {
      "+": () => self.moveTo(zoomAt(camera, middle, 1.25, axes)),
      "=": () => self.moveTo(zoomAt(camera, middle, 1.25, axes)),
      "-": () => self.moveTo(zoomAt(camera, middle, 0.8, axes)),
      0: () => self.fit(),
      ArrowLeft: () => pan(-step, 0),
      ArrowRight: () => pan(step, 0),
      ArrowUp: () => pan(0, -step),
      ArrowDown: () => pan(0, step),
    };
    if (key?.(event)) {
      event.preventDefault();
      event.stopPropagation();
    } else if (event.key in actions && isPlain(event)) {
      event.preventDefault();
      event.stopPropagation(); // JupyterLab's own shortcuts
      actions[event.key]();
    }
  });
  const resized = new ResizeObserver(() => self.redraw());
  resized.observe(canvas);
  ctx.onClose(() => {
    resized.disconnect();
    cancelAnimationFrame(frame);
  });
  return self;
}
