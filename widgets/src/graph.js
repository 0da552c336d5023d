// GraphView: boxes that open, search, overlays, details, export.
import { button, h, isPlain, select } from "./core/dom.js";
import { howMany, short } from "./core/format.js";
import { surface } from "./core/surface.js";
import { view } from "./core/view.js";
import { details } from "./graph/details.js";
import { PARAMETER, above, arrange, onPath, openBlocks, overlays, overlayText, read, search, shapeOf } from "./graph/model.js";
import { paint, palette, shades, strips } from "./graph/paint.js";
import { SvgContext } from "./graph/svgtext.js";

const LEAST = 0.8; // the smallest scale that a graph is first shown at
const MOST_LISTED = 400; // items of the list for screen readers

export default view("GraphView", (ctx) => {
  let fresh = true, g, sight, bands, shade, colours, path, matches, hits = [], foundAt = -1, drawnAs = "", shown, open = new Set();
  ctx.drawn = () => [`data:image/svg+xml,${encodeURIComponent(svg())}`, g.p.title.replace(/[^\w.-]+/g, "_")]; // as it is opened now
  const title = h("b"), box = h("input", { type: "search", placeholder: "search ( / )", "aria-label": "search by name, operator or attribute", size: 16, oninput: () => find(box.value), onkeydown: typed });
  const chooser = h("span"), weights = h("input", { type: "checkbox", onchange: () => ctx.choose({ parameters: weights.checked }) }), shapes = h("input", { type: "checkbox", onchange: () => ctx.choose({ shapes: shapes.checked }) });
  const tree = h("ul", { class: "mx-hidden", role: "tree", "aria-label": "visible boxes" });
  const measure = button("Measure", "run each operation separately: times, storages, XLA groups", () => {
    ctx.say("measuring …");
    ctx.send({ do: "measure" });
  });
  ctx.bar.append(
    title, box, chooser, h("label", { class: "mx-field" }, weights, h("span", null, "parameters")),
    h("label", { class: "mx-field" }, shapes, h("span", null, "shapes")),
    button("Open all", "open all blocks", () => ctx.choose({ open: g.parents.map((_, b) => b) })),
    button("Close all", "close all blocks", () => ctx.choose({ open: [] })),
    ...(ctx.isStatic ? [] : [measure]),
  );
  const overlay = () => (overlays(g).some(([key]) => key === ctx.state.overlay) ? ctx.state.overlay : g.p.facts.change ? "change" : "none");
  const item = () => {
    const name = ctx.state.selected;
    if (name === null || name === undefined) return null;
    return g.byName.has(name) ? g.byName.get(name) : g.byPath.has(name) ? ~g.byPath.get(name) : null;
  };
  const selected = () => sight.at.get(item() ?? undefined);
  const nameOf = (each) => (each < 0 ? g.paths[~each] : g.names[each]);
  const picture = surface(ctx, {
    label: "graph; arrow keys follow the edges, Enter opens a block, slash searches",
    height: 460,
    bounds: () => ({ x: 0, y: 0, width: sight.width, height: sight.height }),
    draw: (canvas, camera, size) => {
      if (!colours.fg) colours = palette(ctx); // before it is on the page a view has no colours
      if (fresh && camera.kx < LEAST) {
        // A large graph starts at its top, large enough to be read; one that is too wide at its first box.
        fresh = false;
        const wrong = sight.boxes[sight.at.get(g.p.error?.node)]; // the place of an error comes first
        const wide = size.width / LEAST, start = wrong ?? (sight.width > wide ? sight.boxes[first()] : undefined);
        const x = (start ? start.x + start.w / 2 : sight.width / 2) - wide / 2;
        const left = sight.width > wide ? Math.min(Math.max(x, -12), sight.width - wide + 12) : x;
        return picture.moveTo({ kx: LEAST, ky: LEAST, x: left, y: wrong ? wrong.y - size.height / LEAST / 2 : -12 }, true);
      }
      fresh = false;
      paint(g, scene(canvas), { camera, size });
      overview(camera, size);
      if (pending) {
        pending = false;
        reveal(true);
      }
    },
    hit(x, y) {
      let best = null;
      const list = bands.boxes[bands.strip(y)] ?? [];
      for (const i of list) {
        const b = sight.boxes[i];
        if (x >= b.x && x <= b.x + b.w && y >= b.y && y <= b.y + b.h && (best === null || b.depth > sight.boxes[best].depth)) best = i;
      }
      return best === null ? null : sight.list[best];
    },
    hover: (at) => at !== null && at !== undefined && ctx.say(tell(at)),
    pick: (at, event) => {
      if (at !== null && at < 0 && item() === at && event?.timeStamp - clicked < 450) toggle(~at);
      else ctx.choose({ selected: at === null ? null : nameOf(at) });
      clicked = event?.timeStamp ?? 0;
    },
    key,
    refit: () => (fresh = pending = true),
  });
  let clicked = 0, revealed, pending = false; // pending: something to look at, as soon as there is a picture
  const map = h("canvas", { class: "mx-map", "aria-hidden": "true", onpointerdown: travel });
  ctx.stage.append(map, tree);
  function travel(event) {
    const at = map.getBoundingClientRect(), k = sight.height / at.height, camera = picture.camera;
    const w = picture.canvas.clientWidth / camera.kx, tall = picture.canvas.clientHeight / camera.ky;
    picture.moveTo({ ...camera, x: (event.clientX - at.left - at.width / 2) * k + sight.width / 2 - w / 2, y: (event.clientY - at.top) * k - tall / 2 });
  }
  function typed(event) {
    if (event.key === "Enter") {
      event.preventDefault();
      step(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      box.value = "";
      find("");
      picture.canvas.focus();
    }
    event.stopPropagation();
  }
  ctx.keys([
    ["arrows", "to the box above, below, next to it"], ["Enter", "open or close a block"], ["/", "search; Enter: next match"],
    ["n", "next match"], ["o", "next overlay"], ["+ - 0", "zoom in, out, fit"], ["Shift arrows", "move the picture"], ["Esc", "clear the selection"],
  ]);

  function scene(canvas) {
    return { ctx: canvas, shapes: ctx.state.shapes, sight, colours, shade, bands, selected: selected(), path, matches, kindOfPiece: (piece) => sight.edges[piece.edges[0]].kind };
  }

  function tell(at) {
    const f = sight.faces[sight.at.get(at)];
    if (at < 0) return `block ${g.paths[~at]}${f ? `, ${f.second}` : ""}${open.has(~at) ? ", open" : ", closed"}`;
    const shown = overlay() === "none" ? "" : overlayText(g, at, overlay());
    return [g.names[at], g.op(at) ?? "input", shapeOf(g, at), g.specs[at][0]?.[1], shown].filter(Boolean).join(" · ");
  }

  function toggle(block) {
    const next = new Set(open);
    if (!next.delete(block)) next.add(block);
    ctx.choose({ open: [...next], selected: g.paths[block] });
  }

  // Selects anything, opening what it lies in.
  function go(each) {
    each = shownFor(each);
    ctx.choose({ selected: nameOf(each), open: [...new Set([...open, ...above(g, each)])] });
    reveal();
  }
  // A parameter that is not shown is found at the operation that reads it.
  function shownFor(each) {
    return each >= 0 && g.part[each] === PARAMETER && !ctx.state.parameters ? (g.outputs[each][0] ?? each) : each;
  }
  function reveal(own = false) {
    const i = selected() ?? matches?.values().next().value;
    if (i === undefined || !picture.camera) return;
    const b = sight.boxes[i];
    // Too small to read: come nearer.
    if (picture.camera.kx < 0.5) {
      const size = picture.canvas, k = 0.9;
      picture.moveTo({ kx: k, ky: k, x: b.x + b.w / 2 - size.clientWidth / k / 2, y: b.y + Math.min(b.h, 300) / 2 - size.clientHeight / k / 2 }, own);
    } else picture.reveal({ x: b.x, y: b.y, width: b.w, height: Math.min(b.h, 300) }, own);
  }

  // What is found, or marked from outside (state.marked, names), inside of closed blocks marks the block.
  function mark() {
    const outside = (ctx.state.marked ?? []).map((name) => g.byName.get(name)).filter((i) => i !== undefined);
    const all = box.value ? hits : outside;
    matches = all.length || box.value ? new Set(all.map((i) => sight.stands[shownFor(i)])) : null;
  }
  function find(text) {
    hits = search(g, text);
    foundAt = -1;
    mark();
    if (text) ctx.say(`${hits.length} found${hits.length ? `: ${short(hits.slice(0, 4).map((i) => g.names[i]).join(", "), 90)}` : ""}`);
    picture.redraw();
  }
  function step(by) {
    if (!hits.length) return;
    foundAt = (foundAt + by + hits.length) % hits.length;
    go(hits[foundAt]);
    const at = hits[foundAt], reader = shownFor(at);
    ctx.say(`${foundAt + 1} of ${hits.length}: ${tell(at)}${reader === at ? "" : `, read by ${g.names[reader]}`}`);
  }

  function key(event) {
    if (!isPlain(event)) return false;
    const at = item(), i = selected();
    if (event.key === "/") {
      box.focus();
      return true;
    }
    if (event.key === "n") return step(1), true;
    if (event.key === "o") {
      const all = overlays(g).map(([name]) => name);
      ctx.choose({ overlay: all[(all.indexOf(overlay()) + 1) % all.length] });
      return true;
    }
    if (event.key === "Escape") return ctx.choose({ selected: null }), true;
    if (event.key === "Enter" || event.key === " ") {
      if (at !== null && at < 0) toggle(~at);
      return true;
    }
    if (!event.key.startsWith("Arrow") || event.shiftKey) return false;
    const next = i === undefined ? first() : neighbour(i, event.key);
    if (next !== undefined) {
      ctx.choose({ selected: nameOf(sight.list[next]) });
      reveal();
    }
    return true;
  }
  const first = () => (sight.roots.length ? sight.roots.reduce((a, b) => (sight.boxes[b].y < sight.boxes[a].y ? b : a)) : undefined);
  // Up and down along edges, to the nearest; left and right to the next box of the same height; into open blocks.
  function neighbour(i, name) {
    const me = sight.boxes[i], middle = (b) => b.x + b.w / 2;
    const nearest = (list) => list.reduce((a, b) => (a === undefined || distance(b) < distance(a) ? b : a), undefined);
    const distance = (j) => Math.hypot((middle(sight.boxes[j]) - middle(me)) / 3, sight.boxes[j].y - me.y);
    if (name === "ArrowUp" || name === "ArrowDown") {
      const down = name === "ArrowDown";
      if (down && sight.children[i]?.length) return nearest(sight.children[i]);
      const ends = [];
      for (const { from, to } of sight.edges) {
        for (const [a, b] of [[from, to], [to, from]])
          if (a === i && (down ? sight.boxes[b].y > me.y : sight.boxes[b].y < me.y)) ends.push(b);
      }
      return nearest(ends);
    }
    const way = name === "ArrowRight" ? 1 : -1;
    return nearest([...sight.boxes.keys()].filter((j) => {
      const b = sight.boxes[j];
      return b.depth === me.depth && b.y < me.y + me.h && b.y + b.h > me.y && (middle(b) - middle(me)) * way > 0;
    }));
  }

  // Where one is, when not all is in sight.
  let mapKey = "";
  const base = h("canvas"); // the boxes; only the frame moves
  function overview(camera, size) {
    const tall = 110, k = tall / sight.height, wide = Math.min(180, Math.max(24, sight.width * k));
    const all = camera.x <= 0 && camera.y <= 0 && camera.x + size.width / camera.kx >= sight.width && camera.y + size.height / camera.ky >= sight.height;
    map.hidden = all;
    if (all) return;
    const scale = window.devicePixelRatio || 1, m = map.getContext("2d");
    const now = `${drawnAs}${colours.bg}${scale}`;
    if (mapKey !== now) {
      mapKey = now;
      map.width = base.width = wide * scale;
      map.height = base.height = tall * scale;
      map.style.width = `${wide}px`;
      map.style.height = `${tall}px`;
      const c = base.getContext("2d");
      c.scale(scale, scale);
      c.fillStyle = colours.panel;
      c.fillRect(0, 0, wide, tall);
      c.fillStyle = colours.line;
      c.beginPath();
      sight.boxes.forEach((b, i) => !sight.children[i] && c.rect((b.x - sight.width / 2) * k + wide / 2, b.y * k, Math.max(1, b.w * k), Math.max(0.7, b.h * k)));
      c.fill();
    }
    m.setTransform(scale, 0, 0, scale, 0, 0);
    m.drawImage(base, 0, 0, wide, tall);
    m.strokeStyle = colours.focus;
    m.lineWidth = 1.5;
    m.strokeRect((camera.x - sight.width / 2) * k + wide / 2, camera.y * k, (size.width / camera.kx) * k, (size.height / camera.ky) * k);
  }

  function listed() {
    const rows = sight.list.slice(0, MOST_LISTED).map((each, i) =>
      h("li", {
        role: "treeitem", "aria-level": sight.boxes[i].depth + 1, "aria-selected": String(each === item()),
        "aria-expanded": each < 0 ? String(open.has(~each)) : null,
      }, tell(each)),
    );
    if (sight.list.length > MOST_LISTED) rows.push(h("li", { role: "treeitem", "aria-level": 1 }, `and ${sight.list.length - MOST_LISTED} more`));
    tree.replaceChildren(...rows);
  }

  function svg() {
    const canvas = new SvgContext(sight.width, sight.height, colours.bg, g.p.title);
    paint(g, { ...scene(canvas), matches: null }, null);
    return String(canvas);
  }

  function controls() {
    title.textContent = short(g.p.title, 40);
    title.title = g.p.title;
    chooser.replaceChildren(select("show", overlays(g), overlay(), (value) => ctx.choose({ overlay: value })));
    weights.checked = Boolean(ctx.state.parameters);
    shapes.checked = Boolean(ctx.state.shapes);
    measure.hidden = Boolean(g.p.facts.time) || !g.p.live;
  }

  // All that follows from what is open and which overlay is on; done anew only when one of these changes.
  function layout(anew) {
    const now = JSON.stringify([ctx.state.open, ctx.state.parameters, overlay()]);
    if (now === drawnAs && !anew) return false;
    drawnAs = now;
    open = openBlocks(g, ctx.state);
    const old = picture.camera && !anew ? anchor() : null;
    sight = arrange(g, open, Boolean(ctx.state.parameters), overlay());
    bands = strips(sight);
    shade = shades(g, sight, overlay());
    mark();
    if (old) keep(old);
    else if (anew || shown !== ctx.state.open) {
      fresh = anew;
      picture.fit();
    }
    shown = ctx.state.open;
    return true;
  }
  // The selected box stays where it is on the screen while others open and close.
  function anchor() {
    const i = selected();
    return i === undefined ? null : { each: item(), x: (sight.boxes[i].x + sight.boxes[i].w / 2 - picture.camera.x) * picture.camera.kx, y: (sight.boxes[i].y - picture.camera.y) * picture.camera.ky };
  }
  function keep({ each, x, y }) {
    const i = sight.at.get(each), c = picture.camera;
    if (i === undefined) return picture.fit();
    picture.moveTo({ ...c, x: sight.boxes[i].x + sight.boxes[i].w / 2 - x / c.kx, y: sight.boxes[i].y - y / c.ky });
  }

  return (cause) => {
    let anew = false;
    if (cause === "payload") {
      anew = g?.p.title !== ctx.payload.title || g.n !== ctx.payload.names.length; // else: the same graph, measured
      g = read(ctx.payload);
      hits = box.value ? search(g, box.value) : [];
    }
    if (cause !== "state" || !colours) colours = palette(ctx);
    if (cause === "payload") drawnAs = "";
    const changed = layout(anew);
    mark();
    if (cause === "state" && ctx.state.reveal !== revealed) {
      revealed = ctx.state.reveal; // from outside: look there
      pending = true;
    }
    const at = item();
    path = at === null || !sight.at.has(at) ? null : onPath(sight, g, at);
    controls();
    ctx.side.replaceChildren(...details(g, at, go, toggle, open, overlay()).flat(Infinity).filter(Boolean));
    if (changed || cause === "state") listed();
    if (at !== null && sight.at.has(at)) ctx.say(tell(at));
    else if (cause === "payload" && g.p.error) ctx.say(`✗ shapes do not match: ${g.p.error.text.split("\n")[0]}`);
    else if (changed) ctx.say(`${howMany(sight.list.length, "box")}. ${shade.told}`);
    picture.redraw();
  };
});
