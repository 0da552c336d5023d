// The part of ScalingView that draws who sends how many bytes to whom.
import { h, s, select, slider, tableOf } from "../core/dom.js";
import { bytes, howMany } from "../core/format.js";
import { arrow, KINDS, links, MOST, places, transfers } from "./topology.js";

const RADIUS = 20, LABELLED = 12;
const DOES = { add: "the receiver adds", copy: "the receiver keeps the sum", push: "gradients", pull: "values" };

// Neighbours of the same kind that send and receive the same are one row: "worker 0 … 7".
export function merged(rows) {
  const runs = [];
  for (const [name, ...sizes] of rows) {
    const last = runs.at(-1), kind = name.split(" ")[0];
    if (last && last.kind === kind && last.sizes.join() === sizes.join()) last.to = name;
    else runs.push({ kind, from: name, to: name, sizes });
  }
  return runs.map(({ from, to, sizes }) => [from === to ? from : `${from} … ${to.split(" ").at(-1)}`, ...sizes]);
}

// chosenSizes(): {devices, servers, bytes}, as the sliders say; bytes is null where nobody moved that one.
export function exchanges(ctx, chosenSizes) {
  const picture = s("svg", { viewBox: "-6 0 572 282", class: "mx-sends", role: "img" });
  const head = h("div", { class: "mx-bar-like" }), words = h("p", null), table = h("div");
  const element = h("div", { class: "mx-parts" }, h("h2", null, "Who sends what to whom"), head, words, h("div", { class: "mx-sends-row" }, picture, table));
  let kindBox = null, stepBox = null, key = "", sends = [];

  const chosen = () => ctx.state.exchange ?? {};
  const kind = () => chosen().kind ?? (chosenSizes().servers ? "server" : ctx.payload.topology.kind);
  const choose = (change) => ctx.choose({ exchange: { ...chosen(), ...change } });

  function scaled() {
    const { topology } = ctx.payload, { bytes: size } = chosenSizes();
    if (size === null) return topology;
    const all = topology.arrays.reduce((sum, each) => sum + each.bytes, 0), factor = size / all;
    const times = (each) => ({ ...each, bytes: Math.round(each.bytes * factor) });
    return { ...topology, arrays: topology.arrays.map(times), buckets: topology.buckets.map(times) };
  }

  function fillHead(steps) {
    kindBox = select("exchange", KINDS, kind(), (value) => choose({ kind: value, step: 0 }));
    stepBox = slider("step of the exchange", { min: 0, max: steps, step: 1, value: Math.min(chosen().step ?? 0, steps), show: (n) => (n ? `${n} of ${stepBox ? stepBox.querySelector("input").max : steps}` : "all") }, (step) => choose({ step }));
    head.replaceChildren(kindBox, stepBox);
  }

  function draw() {
    element.hidden = !ctx.payload.topology;
    if (element.hidden) return;
    const { devices } = chosenSizes(), topology = kind(), servers = topology === "server" ? chosenSizes().servers || ctx.payload.topology.servers || 2 : 0;
    const fits = devices <= MOST.workers && servers <= MOST.servers;
    const of = scaled(), name = (i) => (i < devices ? `worker ${i}` : `server ${i - devices}`);
    const now = JSON.stringify([topology, devices, servers, of.buckets, of.arrays]);
    if (now !== key) {
      key = now;
      sends = fits ? transfers(topology, devices, servers, of) : [];
    }
    const steps = sends.reduce((last, each) => Math.max(last, each.step + 1), 0);
    if (!kindBox) fillHead(steps);
    const step = Math.min(chosen().step ?? 0, steps), input = stepBox.querySelector("input");
    kindBox.querySelector("select").value = topology;
    input.max = steps;
    if (Number(input.value) !== step) input.value = step;
    const text = step ? `${step} of ${steps}` : "all";
    stepBox.querySelector("output").textContent = text;
    input.setAttribute("aria-valuetext", text);
    picture.replaceChildren();
    table.replaceChildren();
    words.textContent = fits ? description(topology, of, step, steps) : `Drawn for up to ${MOST.workers} devices and ${MOST.servers} servers.`;
    picture.style.display = fits ? "" : "none"; // an empty picture has no name
    if (!fits) return;
    drawPicture(links(sends, step ? step - 1 : null), places(topology, devices, servers), name, devices);
    const total = (end, i) => sends.reduce((sum, each) => sum + (each[end] === i ? each.bytes : 0), 0);
    const rows = Array.from({ length: devices + servers }, (_, i) => [name(i), bytes(total("source", i)), bytes(total("target", i))]);
    table.append(tableOf(["node", "sends in total", "receives in total"], merged(rows)));
  }

  function description(topology, of, step, steps) {
    if (!steps) return "A single device has nothing to send.";
    const at = sends.find((each) => each.step === step - 1);
    if (topology === "server") return step ? `${at.does}: ${DOES[at.does]}` : `${howMany(of.arrays.length, "array")}, pushed and pulled.`;
    const count = howMany(of.buckets.length, "bucket");
    return step ? `Bucket ${at.bucket + 1} of ${of.buckets.length}, ${bytes(of.buckets[at.bucket].bytes)}: ${DOES[at.does]}.` : `${count}, ${howMany(steps, "step")} one after another.`;
  }

  function drawPicture(shown, where, name, devices) {
    const most = Math.max(...shown.map((each) => each.bytes), 1), parts = [];
    for (const each of shown) {
      const { from, to, text } = arrow(where[each.source], where[each.target], RADIUS), colour = `var(--mx-k${each.source < devices ? 0 : 1})`;
      const long = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1, ux = (to[0] - from[0]) / long, uy = (to[1] - from[1]) / long;
      const tip = [[to[0] + 6 * ux, to[1] + 6 * uy], [to[0] - 5 * uy, to[1] + 5 * ux], [to[0] + 5 * uy, to[1] - 5 * ux]].map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`);
      parts.push(s("path", { d: `M${from[0].toFixed(1)},${from[1].toFixed(1)}L${to[0].toFixed(1)},${to[1].toFixed(1)}`, fill: "none", stroke: colour, "stroke-width": 1 + (2.5 * each.bytes) / most, "data-link": `${each.source} ${each.target}` }, s("title", null, `${name(each.source)} sends ${bytes(each.bytes)} to ${name(each.target)}`)));
      parts.push(s("path", { d: `M${tip.join("L")}z`, fill: colour }));
      if (shown.length <= LABELLED) parts.push(s("text", { x: text[0], y: text[1], "text-anchor": "middle", class: "mx-dimtext" }, bytes(each.bytes)));
    }
    where.forEach(([x, y], i) => {
      const shape = i < devices ? s("circle", { cx: x, cy: y, r: RADIUS, class: "mx-node" }) : s("rect", { x: x - RADIUS, y: y - RADIUS, width: 2 * RADIUS, height: 2 * RADIUS, class: "mx-node" });
      parts.push(shape, s("text", { x, y: y + 4, "text-anchor": "middle", class: "mx-text" }, `${i < devices ? "W" : "S"}${i < devices ? i : i - devices}`));
    });
    picture.replaceChildren(...parts);
    picture.setAttribute("aria-label", shown.map((each) => `${name(each.source)} sends ${bytes(each.bytes)} to ${name(each.target)}`).join("; ") || "nothing is sent");
  }

  return { element, draw };
}
