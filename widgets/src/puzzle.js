// Puzzle: boxes in an arena, tasks on threads, or operations in groups; what breaks a rule is marked, the score stands beside others'.
import { button, h, isPlain, select } from "./core/dom.js";
import { bytes, digits } from "./core/format.js";
import { view } from "./core/view.js";
import { graphBoard } from "./puzzle/graph.js";
import { planeBoard } from "./puzzle/plane.js";
import { judge } from "./puzzle/rules.js";

const WHAT = { memory: "the arena takes", tasks: "the last task ends at", fusion: "memory traffic:" };
const TITLE = { memory: "Memory plan", tasks: "Tasks on threads", fusion: "Fusion" };

export default view("Puzzle", (ctx) => {
  const { kind } = ctx.payload;
  const title = h("b"), shown = h("span");
  const back = button("Undo", "undo the last move (u)", () => undo());
  const again = button("Start again", "start again (r)", () => put(ctx.payload.start, "started again"));
  ctx.bar.append(title, back, again, shown);
  ctx.side.classList.add("mx-tall");
  const score = h("div"), wrong = h("div"), chosen = h("div");
  ctx.side.append(score, wrong, chosen);
  const past = [];
  const place = () => ctx.state.place ?? ctx.payload.start;
  const text = (number) => (kind === "tasks" ? String(number) : bytes(number));
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

  // put(place, sentence): a new answer; `remember` false while something is dragged on.
  function put(next, sentence = "", remember = true) {
    if (same(next, place())) return;
    if (remember) past.push(place());
    ctx.choose({ place: next });
    const { score: now, conflicts } = judge(ctx.payload, next);
    const problem = conflicts.length ? `; ${conflicts.length === 1 ? "a conflict" : `${conflicts.length} conflicts`}: ${conflicts[0].text}` : "";
    ctx.say(`${sentence ? `${sentence}; ` : ""}${WHAT[kind]} ${text(now)}${problem}`);
  }
  function undo() {
    if (past.length) put(past.pop(), "undone", false);
  }
  const game = { place, put, choose: (selected) => ctx.choose({ selected }), selected: () => ctx.state.selected ?? null, remember: (before) => past.push(before) };
  const board = (kind === "fusion" ? graphBoard : planeBoard)(ctx, game);
  ctx.root.addEventListener("keydown", (event) => {
    if (event.target.matches("select") || !isPlain(event)) return;
    if (event.key === "u") undo();
    else if (event.key === "r") put(ctx.payload.start, "started again");
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  ctx.keys([...board.keys, ["Tab", "the next one"], ["u", "undo"], ["r", "start again"]]);

  function fillScore({ score: own, conflicts }) {
    const rows = ctx.payload.references, most = Math.max(own, ...rows.map((each) => each.score));
    const row = (name, value, means, mine) =>
      h("div", { class: mine ? "mx-score mx-mine" : "mx-score" }, h("span", null, name), h("b", null, text(value)), h("i", null, h("i", { style: `width:${(100 * value) / (most || 1)}%` })), means && h("small", null, means));
    score.replaceChildren(h("h2", null, { memory: "Bytes of the arena", tasks: "End of the last task", fusion: "Bytes moved" }[kind]), row("you", own, verdict(own, conflicts), true), ...rows.map((each) => row(each.name, each.score, each.means)));
  }
  function verdict(own, conflicts) {
    if (conflicts.length) return `not valid yet: ${conflicts.length === 1 ? "one conflict" : `${conflicts.length} conflicts`}`;
    const rows = ctx.payload.references, bound = rows.filter((each) => each.bound).reduce((a, b) => (b.score > a.score ? b : a)), best = bound.score;
    if (own <= best) return "no answer is better";
    const first = judge(ctx.payload, ctx.payload.start).score;
    const beaten = rows.filter((each) => each.score >= own && each.score < first && !each.bound).map((each) => (each.score === own ? `as good as ${each.name}` : `better than ${each.name}`));
    return [`${digits(own / (best || 1))} times the ${bound.name}`, ...beaten].join(", ");
  }

  return (cause) => {
    const verdict = judge(ctx.payload, place());
    if (cause === "payload") {
      title.textContent = `${TITLE[kind]}: ${ctx.payload.name}`;
      const known = ctx.payload.references.filter((each) => each.place);
      shown.replaceChildren(
        known.length ? select("show", [["", "your answer"], ...known.map((each) => [each.name, each.name])], "", (name) => name && put(known.find((each) => each.name === name).place, `the answer of ${name}`)) : "",
      );
      ctx.say(`${WHAT[kind]} ${text(verdict.score)}`);
    }
    const box = shown.querySelector("select");
    if (box) box.value = ctx.payload.references.find((each) => each.place && same(each.place, place()))?.name ?? "";
    board.update(verdict, cause);
    back.disabled = !past.length;
    fillScore(verdict);
    wrong.replaceChildren(
      ...(verdict.conflicts.length ? [h("h3", null, "Conflicts"), h("ul", { class: "mx-wrongs" }, verdict.conflicts.slice(0, 8).map((each) => h("li", null, each.text)), verdict.conflicts.length > 8 && h("li", null, `and ${verdict.conflicts.length - 8} more`))] : []),
    );
    const number = game.selected();
    chosen.replaceChildren(...(number === null || !ctx.payload.items[number] ? [] : board.about(number)));
  };
});
