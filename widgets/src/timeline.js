// EngineTimeline: lanes of threads, bars of operations; the dependencies of the one that is selected; replay.
import { button, factsOf, freshId, h, isPlain, slider } from "./core/dom.js";
import { fitted, howMany, seconds, short, timeTexts, timeTicks } from "./core/format.js";
import { surface } from "./core/surface.js";
import { view } from "./core/view.js";
import { why } from "./core/why.js";
import { EVENTS, adjacency, criticalPath, edges, endOf, events, heldBy, lastEvent, neighbourhood, startOf } from "./timeline/graph.js";
import { AXIS, BAR, firstAfter, layout, visible } from "./timeline/layout.js";

export const LETTERS = "CKIMO", WORDS = ["compute", "copy", "I/O", "communication", "other"];
const time = (ns) => seconds(ns / 1e9);
const LISTED = 200; // entries of the list of operations
const REPLAY = 10; // seconds of a whole replay

export default view("EngineTimeline", (ctx) => {
  let runs, placed, span, graphs, all, colours, matches = [], near = null, playing = 0, occupied = [], shownSelection; // the one that was brought into sight
  const graph = (r) => {
    const facts = (graphs[r] ??= {});
    if (!facts.edges) {
      facts.edges = edges(runs[r]);
      facts.by = adjacency(facts.edges, runs[r].ops.pushed.length);
    }
    return facts;
  };
  const path = (r) => (graph(r).path ??= new Set(runs[r].chain ?? criticalPath(runs[r], graph(r).edges)));
  const text = (r, column, i) => runs[r].strings[runs[r].ops[column][i]] ?? "";
  const variable = (r, v) => runs[r].strings[runs[r].vars.name[v]];
  const until = () => (playing ? playing.t : ctx.state.replay == null ? Infinity : (all[ctx.state.replay]?.[0] ?? -1));

  // ---- tools
  const search = h("input", { type: "search", placeholder: "search", "aria-label": "search operations by name", size: 12 });
  search.addEventListener("input", () => ctx.choose({ query: search.value }));
  search.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") canvas.canvas.focus();
  });
  const hops = h("span"), critical = button("longest chain", "show the longest chain of dependent operations", () => ctx.choose({ critical: !ctx.state.critical }));
  const play = button("play", "play the replay", toggle), place = h("input", { type: "range", min: -1, step: 1, "aria-label": "position in the replay" });
  place.addEventListener("input", () => seek(Number(place.value)));
  const leave = button("✕", "leave the replay", () => (pause(), ctx.choose({ replay: null })));
  ctx.bar.append(
    search, hops, critical,
    h("span", { class: "mx-field", role: "group", "aria-label": "replay" }, h("span", null, "replay"),
      button("◀", "one event back", () => step(-1)), play, button("▶", "one event forward", () => step(1)), place, leave),
  );
  ctx.bar.append(h("span", { class: "mx-field" }, h("span", null, WORDS.slice(0, 4).map((word, k) => `${LETTERS[k]} ${word}`).join(" · "), " · ┄ queued for variables · ▬ waiting for a thread · ! failed")));

  // ---- replay
  function seek(to) {
    pause();
    ctx.choose({ replay: Math.min(Math.max(to, -1), all.length - 1) });
  }
  const here = () => (playing ? lastEvent(all, playing.t) : (ctx.state.replay ?? (all.length ? all.length - 1 : -1)));
  function step(by) {
    seek(ctx.state.replay == null && !playing ? (by > 0 ? 0 : all.length - 2) : here() + by);
  }
  function pause() {
    if (!playing) return;
    cancelAnimationFrame(playing.frame);
    clearTimeout(playing.timer);
    const at = lastEvent(all, playing.t);
    playing = 0;
    ctx.choose({ replay: at });
  }
  function toggle() {
    if (playing) return pause();
    if (!all.length) return ctx.say("nothing to replay");
    const at = ctx.state.replay;
    playing = { t: at == null || at >= all.length - 1 ? 0 : Math.max(all[at]?.[0] ?? 0, 0) };
    // Who wants no motion gets one event a second instead of a moving line.
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    let before = performance.now();
    const next = (now) => {
      if (!playing) return;
      if (still) {
        const k = lastEvent(all, playing.t) + 1;
        playing.t = all[Math.min(k, all.length - 1)][0];
      } else {
        playing.t += ((now - before) / 1000) * (span / REPLAY);
        before = now;
      }
      place.value = lastEvent(all, playing.t);
      tellEvent();
      canvas.redraw();
      if (playing.t >= all.at(-1)[0]) return pause();
      if (still) playing.timer = setTimeout(() => next(0), 1000);
      else playing.frame = requestAnimationFrame(next);
    };
    playing.frame = requestAnimationFrame(next);
    controls();
  }
  ctx.onClose(pause);
  function tellEvent() {
    const at = here(), event = all[at];
    if (!event) return ctx.say("replay: before the first event");
    const [t, kind, i, r] = event;
    ctx.say(`replay ${at + 1} of ${all.length}: ${time(t)} ${EVENTS[kind]} ${short(text(r, "name", i), 60)} (${runs[r].name})`);
  }

  // ---- picture
  const canvas = surface(ctx, {
    label: "timeline of the engine; n and p select operations",
    height: 380,
    axes: "x",
    bounds: () => ({ x: 0, y: 0, width: Math.max(span, 1) / 1000, height: placed.height }),
    draw,
    hit(x, y) {
      const t = x * 1000, slack = 3000 / canvas.camera.kx; // three pixels around a narrow bar
      for (let r = 0; r < runs.length; r++) {
        const { ops } = runs[r];
        for (const lane of placed.runs[r].lanes) {
          if (y < lane.y || y > lane.y + lane.height) continue;
          for (const [lines, tall, begin, end] of [[lane.bars, BAR, startOf, endOf], [lane.waits, 5, (o, i) => o.pushed[i], startOf]]) {
            for (const line of lines) {
              if (y < line.y || y > line.y + tall) continue;
              let best = null;
              for (const i of around(line, t)) {
                const far = Math.max(begin(ops, i) - t, t - end(ops, i), 0);
                if (far <= slack && (!best || far < best.far)) best = { far, at: [r, i] };
              }
              if (best) return best.at;
            }
          }
        }
      }
      return null;
    },
    hover(at) {
      canvas.canvas.style.cursor = at ? "pointer" : "";
      if (at && !playing) ctx.say(line(at));
    },
    pick(at) {
      shownSelection = JSON.stringify(at); // it is where the pointer is
      ctx.choose({ selected: at });
    },
    key(event) {
      const done = {
        n: () => go(1), p: () => go(-1), d: dependency, c: () => critical.click(),
        "[": () => step(-1), "]": () => step(1), " ": toggle, "/": () => search.focus(),
        Escape: () => ctx.choose({ selected: null, critical: false, replay: null }),
      }[event.key];
      if (!done || !isPlain(event)) return false;
      done();
      return true;
    },
  });
  ctx.keys([
    ["n p", "next, previous operation (among matches)"], ["d", "go to the operation it waited for"], ["c", "longest chain"],
    ["[ ]", "one event back, forward"], ["space", "play, pause"], ["/", "search; Enter goes through the matches"],
    ["arrows + - 0", "move, zoom, fit"], ["Esc", "clear the selection"],
  ]);

  const around = (line, t) => {
    const k = firstAfter(line.ends, t);
    return line.items.slice(Math.max(k - 1, 0), k + 2);
  };

  function draw(g, camera, size) {
    const scale = g.getTransform().d / camera.ky;
    g.setTransform(scale, 0, 0, scale, 0, -camera.y * camera.ky * scale); // pixels along x: times may be tiny
    const k = camera.kx / 1000, px = (t) => (t - camera.x * 1000) * k;
    const t0 = camera.x * 1000, t1 = t0 + size.width / k, now = until();
    const low = camera.y, high = camera.y + size.height;
    colours ??= Object.fromEntries([..."01234"].flatMap((n) => [[`c${n}`, ctx.colour(`c${n}`)]]).concat(["fg", "dim", "bg", "line", "hot", "panel"].map((n) => [n, ctx.colour(n)])));
    const fade = near || matches.length ? 0.5 : 1;
    const marks = [];
    occupied = [];
    g.textBaseline = "middle";
    g.strokeStyle = colours.line;
    g.lineWidth = 0.5;
    const times = timeTicks(Math.max(t0, 0) / 1e9, Math.min(t1, span) / 1e9, Math.max(Math.floor(size.width / 110), 2));
    g.globalAlpha = 0.6;
    for (const t of times) {
      g.beginPath();
      g.moveTo(px(t * 1e9), low + AXIS);
      g.lineTo(px(t * 1e9), high);
      g.stroke();
    }
    g.globalAlpha = 1;
    placed.runs.forEach((heading, r) => {
      const run = runs[r], { ops } = run;
      const shown = Math.min(t1, now);
      g.font = "600 13px system-ui, sans-serif";
      g.fillStyle = colours.fg;
      g.fillText(fitted(g, run.name, size.width - 100) + `: ${time(run.span)}`, 6, heading.y + 10);
      for (const lane of heading.lanes) {
        if (lane.y > high || lane.y + lane.height < low) continue;
        g.font = "11px system-ui, sans-serif";
        g.fillStyle = colours.dim;
        write(g, fitted(g, lane.name, named(size)), 6, lane.y + 9);
        for (const row of lane.bars) {
          let fill = "";
          g.globalAlpha = fade;
          visible(row, t0, shown, k, (x0, x1, i, joined) => {
            const colour = colours[`c${ops.kind[i]}`];
            if (fill !== colour) g.fillStyle = fill = colour;
            const left = Math.max(x0, -5), right = Math.min(x1, size.width + 5);
            g.fillRect(left, row.y, Math.max(right - left, 1), BAR - 3);
            if (!joined && right - left > 3) {
              g.strokeRect(left + 0.5, row.y + 0.5, right - left - 1, BAR - 4);
              if (right - left > 9) marks.push([left, right - left, row.y, r, i, fade]);
            }
          });
        }
        g.globalAlpha = fade;
        g.fillStyle = colours.dim;
        for (const row of lane.waits) {
          visible(row, t0, shown, k, (x0, x1, i, joined) => {
            if (joined) return g.fillRect(x0, row.y + 1, x1 - x0, 1);
            waiting(g, px, ops, i, row.y, now, x1, size.width);
          });
        }
        g.globalAlpha = 1;
      }
    });
    label(g, marks, size);
    chosen(g, px, now, size);
    // The axis stays where it is.
    g.globalAlpha = 1;
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.fillStyle = colours.panel;
    g.fillRect(0, 0, size.width, AXIS - 2);
    g.fillStyle = colours.dim;
    g.font = "11px system-ui, sans-serif";
    timeTexts(times).forEach((text, k) => {
      const x = px(times[k] * 1e9), wide = g.measureText(text).width; // the last one stands before its line where there is no room behind it
      g.fillText(text, x + 3 + wide > size.width ? x - wide - 3 : x + 3, 10);
    });
    if (now < Infinity) {
      g.strokeStyle = g.fillStyle = colours.hot;
      g.lineWidth = 1.5;
      g.beginPath();
      g.moveTo(px(now), 0);
      g.lineTo(px(now), size.height);
      g.stroke();
    }
  }

  // A text, and where it stands: names of variables are written between such texts.
  function write(g, words, x, y) {
    g.fillText(words, x, y);
    if (near) occupied.push([x, x + g.measureText(words).width, y]);
  }
  const free = (left, right, y) => occupied.every(([from, to, at]) => right < from || left > to || Math.abs(y - at) > 13);

  const named = (size) => size.width * 0.6; // what names of lanes may take of a line

  // Dashes: queued for variables. A thin bar: waiting for a thread.
  function waiting(g, px, ops, i, y, now, x1, width) {
    const ready = Math.min(ops.pushed[i] + ops.queued[i], now);
    const from = Math.max(px(ops.pushed[i]), -5), middle = Math.min(Math.max(px(ready), -5), width + 5), to = Math.min(x1, width + 5);
    for (let x = from; x < middle; x += 7) g.fillRect(x, y + 1, Math.min(4, middle - x), 1);
    if (to - middle > 0.5) g.fillRect(middle, y, to - middle, 3);
  }

  function label(g, marks, size) {
    g.font = "11px system-ui, sans-serif";
    g.fillStyle = colours.fg;
    for (const [x, width, y, r, i, fade] of marks.slice(0, 400)) {
      const left = Math.max(x, 0);
      const room = Math.min(x + width, size.width) - left;
      g.globalAlpha = fade < 1 ? 0.6 : 1;
      if (room > 9) write(g, caption(g, r, i, room), left + (room < 16 ? 1 : 3), y + 8);
    }
    g.globalAlpha = 1;
  }

  // The letter of its kind, and the name if there is room: colour alone says nothing.
  function caption(g, r, i, room) {
    const { ops } = runs[r], letter = `${ops.error[i] >= 0 ? "!" : ""}${LETTERS[ops.kind[i]]}`;
    return room < 34 ? letter : fitted(g, `${letter} ${text(r, "name", i)}`, room - 4);
  }

  // What is selected, found or on the longest chain, over the rest.
  function chosen(g, px, now, size) {
    const outline = (r, i, colour, wide) => {
      const { ops } = runs[r], begin = startOf(ops, i), x0 = px(begin), x1 = px(Math.min(endOf(ops, i), now));
      if (begin > now || x1 < -5 || x0 > size.width + 5) return;
      const y = placed.runs[r].lanes[ops.lane[i]].bars[ops.depth[i]].y;
      const left = Math.max(x0, -5), width = Math.max(Math.min(x1, size.width + 5) - left, 2);
      g.fillStyle = colours[`c${ops.kind[i]}`];
      g.fillRect(left, y, width, BAR - 3);
      g.strokeStyle = colour;
      g.lineWidth = wide;
      g.strokeRect(left, y, width, BAR - 3);
      const from = Math.max(left, 0), room = Math.min(left + width, size.width) - from;
      if (room > 9) {
        g.fillStyle = colours.fg;
        write(g, caption(g, r, i, room), from + (room < 16 ? 1 : 3), y + 8);
      }
    };
    g.font = "11px system-ui, sans-serif";
    if (ctx.state.critical && !near) {
      runs.forEach((_, r) => {
        let last = -Infinity; // below a pixel one frame stands for many
        for (const i of path(r)) {
          const x1 = px(endOf(runs[r].ops, i));
          if (x1 - last < 1) continue;
          last = x1;
          outline(r, i, colours.hot, 2);
        }
      });
    }
    let last = -Infinity;
    for (const [r, i] of matches) {
      const x = px(startOf(runs[r].ops, i));
      if (Math.abs(x - last) < 1) continue;
      last = x;
      outline(r, i, colours.fg, 1.5);
    }
    if (!near) return;
    const [r, i] = ctx.state.selected, { ops } = runs[r], links = graph(r).edges;
    for (const at of near.ops) outline(r, at, colours.fg, 1.2);
    const middle = (at) => placed.runs[r].lanes[ops.lane[at]].bars[ops.depth[at]].y + BAR / 2 - 1.5;
    g.strokeStyle = colours.fg;
    g.lineWidth = 1.2;
    let count = 0;
    const notes = [];
    for (const k of near.edges) {
      if ((count += 1) > 300) break;
      const a = links.from[k], b = links.to[k];
      if (startOf(ops, b) > now) continue;
      const x0 = px(endOf(ops, a)), x1 = px(startOf(ops, b)), y0 = middle(a), y1 = middle(b), bend = Math.max(Math.min((x1 - x0) / 2, 40), 12);
      g.beginPath();
      g.moveTo(x0, y0);
      g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
      g.stroke();
      g.fillStyle = colours.fg;
      g.beginPath();
      g.moveTo(x1, y1);
      g.lineTo(x1 - 6, y1 - 3.5);
      g.lineTo(x1 - 6, y1 + 3.5);
      g.fill();
      // Variables' names, later, where they hide no other name.
      const at = [(x0 + x1) / 2, (y0 + y1) / 2];
      if ((a === i || b === i) && Math.abs(y1 - y0) > BAR) notes.push([short(variable(r, links.via[k]), 24), ...at]);
    }
    g.textAlign = "center";
    const begin = 10 + Math.min(Math.max(...placed.runs[r].lanes.map((lane) => g.measureText(lane.name).width)), named(size)); // behind the names of the lanes
    for (const [whole, middle, at] of notes) {
      const name = fitted(g, whole, size.width - begin - 6);
      const wide = g.measureText(name).width + 6;
      const x = Math.min(Math.max(middle, begin + wide / 2), size.width - wide / 2);
      const y = [0, -7, 7, -14, 14, -21, 21].map((by) => at + by).find((each) => free(x - wide / 2, x + wide / 2, each));
      if (y === undefined) continue;
      occupied.push([x - wide / 2, x + wide / 2, y]);
      g.fillStyle = colours.bg;
      g.fillRect(x - wide / 2, y - 7, wide, 14);
      g.fillStyle = colours.fg;
      g.fillText(name, x, y);
    }
    g.textAlign = "start";
    const x0 = px(ops.pushed[i]), y = middle(i) + BAR / 2 + 1;
    g.fillStyle = colours.hot;
    waiting(g, px, ops, i, y, now, px(Math.min(startOf(ops, i), now)), size.width);
    if (x0 < size.width) outline(r, i, colours.hot, 2.5);
  }

  // ---- selecting
  function line([r, i]) {
    const { ops } = runs[r];
    return `${text(r, "name", i)}: ran ${time(ops.ran[i])} on ${runs[r].lanes[ops.lane[i]].name}, after ${time(ops.queued[i])} for variables and ${time(ops.waited[i])} for a thread`;
  }
  function go(by) {
    const list = matches.length ? matches : runs.flatMap((run, r) => run.ops.pushed.map((_, i) => [r, i]));
    if (!list.length) return;
    const s = ctx.state.selected, at = s ? list.findIndex(([r, i]) => r === s[0] && i === s[1]) : by > 0 ? -1 : 0;
    choose(list[(at + by + list.length) % list.length]);
  }
  const choose = (at) => ctx.choose({ selected: at });
  // Whoever selected it: by a key, in the list, in another view, in Python.
  function reveal([r, i]) {
    const { ops } = runs[r], lane = placed.runs[r].lanes[ops.lane[i]];
    canvas.reveal({ x: startOf(ops, i) / 1000, y: lane.y, width: ops.ran[i] / 1000, height: lane.height });
  }
  function dependency() {
    const s = ctx.state.selected;
    if (!s) return;
    const edge = heldBy(runs[s[0]], graph(s[0]).edges, graph(s[0]).by, s[1]);
    const first = edge >= 0 ? edge : graph(s[0]).by.into[s[1]][0];
    if (first === undefined) ctx.say("it did not wait for another operation in this view");
    else choose([s[0], graph(s[0]).edges.from[first]]);
  }

  // ---- details
  function details() {
    const [r, i] = ctx.state.selected, run = runs[r], { ops, deps } = run, { edges: dependencies, by } = graph(r);
    const jump = (other, via) => button(short(text(r, "name", other), 34), `select ${text(r, "name", other)}`, () => choose([r, other]), via && { title: via });
    const uses = (mode) => deps.op.flatMap((op, k) => (op === i && deps.mode[k] === mode ? [k] : []));
    const row = (k) => {
      const links = [...new Set(by.into[i].filter((e) => dependencies.via[e] === deps.var[k]).map((e) => dependencies.from[e]))];
      const after = [...new Set(by.out[i].filter((e) => dependencies.via[e] === deps.var[k]).map((e) => dependencies.to[e]))];
      const some = (title, ops) => ops.length > 0 && h("div", null, title, ops.slice(0, 5).map((other) => [" ", jump(other)]), ops.length > 5 && ` and ${ops.length - 5} more`);
      return h("li", null, h("b", null, short(variable(r, deps.var[k]), 60)), ` v${deps.version[k]}`, some("after", links), some("before", after));
    };
    const section = (title, mode) => (uses(mode).length ? [h("h3", null, title), h("ul", { class: "mx-uses" }, uses(mode).map(row))] : []);
    const lastEdge = heldBy(run, dependencies, by, i);
    const cause = lastEdge >= 0 ? `for ${short(variable(r, dependencies.via[lastEdge]), 30)}` : "";
    const facts = [["pushed", time(ops.pushed[i])], ["queued", `${time(ops.queued[i])} ${cause}`], ["waited", `${time(ops.waited[i])} for a thread`], ["ran", time(ops.ran[i])],
      ["thread", run.lanes[ops.lane[i]].name], ["resource", text(r, "resource", i)], ["priority", ops.priority[i]], ["line", text(r, "source", i)], ["engine", run.name]];
    ctx.side.replaceChildren(
      button("← all", "← all operations", () => ctx.choose({ selected: null })),
      h("h2", null, text(r, "name", i)),
      ...why(ctx.payload, `${r}/${i}`),
      factsOf(facts),
      ...(ops.error[i] >= 0 ? [h("p", { class: "mx-error" }, `! ${text(r, "error", i)}`)] : []),
      ...section("reads", 0), ...section("writes", 1),
    );
  }
  const id = freshId("op");
  function list() {
    const every = matches.length || ctx.state.query ? matches : runs.flatMap((run, r) => run.ops.pushed.slice(0, LISTED).map((_, i) => [r, i]));
    const shown = every.slice(0, LISTED), total = matches.length || ctx.state.query ? matches.length : runs.reduce((sum, run) => sum + run.ops.pushed.length, 0);
    let at = 0;
    const options = shown.map(([r, i], k) => h("li", { role: "option", id: `${id}-${k}`, "aria-selected": "false", onclick: () => choose([r, i]) },
      `${LETTERS[runs[r].ops.kind[i]]} ${short(text(r, "name", i), 40)} · ${time(runs[r].ops.ran[i])}`));
    const mark = (to) => {
      options[at]?.setAttribute("aria-selected", "false");
      at = Math.min(Math.max(to, 0), options.length - 1);
      options[at]?.setAttribute("aria-selected", "true");
      options[at]?.scrollIntoView({ block: "nearest" });
      box.setAttribute("aria-activedescendant", `${id}-${at}`);
    };
    const box = h("ul", { class: "mx-list", role: "listbox", tabindex: "0", "aria-label": "operations in push order", onkeydown: (event) => {
      const act = { ArrowDown: () => mark(at + 1), ArrowUp: () => mark(at - 1), Home: () => mark(0), End: () => mark(options.length - 1), Enter: () => shown[at] && choose(shown[at]) }[event.key];
      if (!act) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    } }, options);
    ctx.side.replaceChildren(h("h2", null, howMany(total, "operation")), options.length ? box : h("p", null, ctx.state.query ? "nothing found" : "nothing was pushed"),
      ...(total > shown.length ? [h("p", null, `the first ${shown.length}; search for others`)] : []));
  }

  function find() {
    const query = (ctx.state.query ?? "").trim().toLowerCase();
    matches = [];
    if (query) {
      runs.forEach((run, r) => {
        const good = run.strings.map((each) => each.toLowerCase().includes(query));
        run.ops.name.forEach((name, i) => good[name] && matches.push([r, i]));
      });
    }
  }

  function controls() {
    const replaying = playing || ctx.state.replay != null;
    play.textContent = playing ? "pause" : "play";
    play.setAttribute("aria-label", playing ? "pause the replay" : "play the replay");
    play.setAttribute("title", playing ? "pause the replay" : "play the replay");
    place.max = Math.max(all.length - 1, 0);
    place.value = here();
    leave.disabled = !replaying;
    critical.setAttribute("aria-pressed", String(!!ctx.state.critical));
  }

  let last = {};
  return (cause) => {
    if (cause === "payload") {
      runs = ctx.payload.runs;
      graphs = [];
      placed = layout(runs);
      span = Math.max(1, ...runs.map((run) => run.span));
      all = events(runs);
      canvas.canvas.style.height = `${Math.min(Math.max(placed.height + 6, 160), 520)}px`;
      hops.replaceChildren(slider("dependencies", { min: 1, max: 3, step: 1, value: ctx.state.hops ?? 1, show: (n) => howMany(n, "hop") }, (n) => ctx.choose({ hops: n })));
      canvas.fit();
    }
    if (cause === "theme") colours = null;
    const { state } = ctx, chosen = state.selected;
    const valid = chosen && runs[chosen[0]]?.ops.pushed[chosen[1]] !== undefined;
    near = valid ? neighbourhood(graph(chosen[0]).edges, graph(chosen[0]).by, chosen[1], state.hops ?? 1) : null;
    const now = JSON.stringify([state.selected, state.query, cause === "payload"]);
    if (last.query !== state.query || cause === "payload") find();
    if (last.now !== now || cause === "payload") valid ? details() : list();
    last = { now, query: state.query };
    if (search.value !== (state.query ?? "")) search.value = state.query ?? "";
    controls();
    if (state.replay != null) tellEvent();
    else if (valid) ctx.say(line(chosen));
    else if (state.query) ctx.say(`${matches.length} found`);
    else ctx.say(runs.map(note).join("; "));
    canvas.redraw();
    const selected = JSON.stringify(chosen ?? null);
    if (selected !== shownSelection && valid) reveal(chosen);
    shownSelection = selected;
  };

  function note(run, r) {
    const shown = run.ops.pushed.length;
    if (!run.of) return `${run.name}: nothing was pushed`;
    const part = shown < run.of ? `operations ${run.first.toLocaleString("en")} to ${(run.first + shown).toLocaleString("en")} of ${run.of.toLocaleString("en")}` : howMany(shown, "operation");
    const chain = ctx.state.critical ? `, longest chain ${time([...path(r)].reduce((sum, i) => sum + run.ops.ran[i], 0))}` : "";
    return `${run.name}: ${part}${chain}`;
  }
});
