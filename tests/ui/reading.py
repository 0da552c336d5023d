"""Finds text that a reader cannot read: cut off without a way to see the rest, or drawn over other text."""

from __future__ import annotations

from typing import Any

# Before a page loads: every canvas notes the texts that it draws, from one clearing to the next.
NOTE_TEXTS = """
const draw = CanvasRenderingContext2D.prototype.fillText, clear = CanvasRenderingContext2D.prototype.clearRect;
const notes = new WeakMap();
CanvasRenderingContext2D.prototype.clearRect = function (...box) {
  notes.set(this.canvas, []);
  return clear.apply(this, box);
};
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const m = this.measureText(text), t = this.getTransform(), scale = window.devicePixelRatio || 1;
  const place = (px, py) => [(t.a * px + t.e) / scale, (t.d * py + t.f) / scale];
  const [left, top] = place(x - m.actualBoundingBoxLeft, y - m.actualBoundingBoxAscent);
  const [right, bottom] = place(x + m.actualBoundingBoxRight, y + m.actualBoundingBoxDescent);
  if (!notes.has(this.canvas)) notes.set(this.canvas, []);
  if (String(text).trim()) notes.get(this.canvas).push({ text: String(text), left, top, right, bottom });
  return draw.call(this, text, x, y);
};
for (const side of ["width", "height"]) {
  const own = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, side); // setting it clears too
  Object.defineProperty(HTMLCanvasElement.prototype, side, { ...own, set(value) { notes.set(this, []); own.set.call(this, value); } });
}
window.textsOf = (canvas) => notes.get(canvas) ?? [];
"""

FIND = """(root) => {
  const found = [], slack = 1.5;
  const shown = (e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest('.mx-hidden, [hidden], dialog:not([open])');
  const all = [...root.querySelectorAll('*')].filter(shown);
  const words = (e) => (e.textContent ?? '').trim().replace(/\\s+/g, ' ').slice(0, 60);
  // Cut: more text than room, and neither scrolling nor a title shows the rest.
  for (const e of all) {
    if (!e.clientWidth || !words(e) || e.matches('select, option, input, canvas, svg *')) continue;
    const style = getComputedStyle(e);
    const cuts = (overflow) => overflow === 'hidden' || overflow === 'clip';
    const wide = cuts(style.overflowX) && e.scrollWidth > e.clientWidth + slack;
    const high = cuts(style.overflowY) && e.scrollHeight > e.clientHeight + slack + 2;
    if ((wide || high) && !e.closest('[title]') && !e.querySelector('[title]')) found.push(`cut: <${e.tagName.toLowerCase()} class="${e.className}"> ${words(e)}`);
    // Sideways: text that is read by scrolling to the side. Rows of programs are long, and stay so, and so are tables and pictures of pages without scripts.
    if (/auto|scroll/.test(style.overflowX) && e.scrollWidth > e.clientWidth + slack && !e.matches('.mx-lines:not(.mx-wraps), .mx-nodes, .mx-sideways')) found.push(`sideways: <${e.tagName.toLowerCase()} class="${e.className}"> ${words(e)}`);
  }
  // Cut: the words that stand in an empty field.
  const pen = document.createElement('canvas').getContext('2d');
  for (const e of all.filter((each) => each.matches('input[placeholder]'))) {
    const style = getComputedStyle(e);
    pen.font = style.font;
    if (pen.measureText(e.placeholder).width > e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) + slack) found.push(`cut: placeholder ${e.placeholder}`);
  }
  // Over each other: lines of text of different elements whose boxes meet.
  const lines = [];
  for (const e of all) {
    for (const node of e.childNodes) {
      if (node.nodeType !== Node.TEXT_NODE || !node.textContent.trim() || e.closest('select, dialog, .mx-lines')) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const r of range.getClientRects()) if (r.width > 2) lines.push({ e, text: node.textContent.trim().slice(0, 40), left: r.left, right: r.right, top: r.top + 2, bottom: r.bottom - 3 });
    }
  }
  // Cut: text beyond the edge of what clips it, where nothing scrolls on the way.
  for (const line of lines) {
    for (let p = line.e; p; p = p === root ? null : p.parentElement) {
      const { overflowX } = getComputedStyle(p), edge = p.getBoundingClientRect();
      if (/auto|scroll/.test(overflowX)) break;
      if (/hidden|clip/.test(overflowX) && (line.right > edge.right + slack || line.left < edge.left - slack) && !line.e.closest('[title]')) found.push(`cut at an edge: ${line.text}`);
    }
  }
  // What is clipped, and has a title that says all of it, covers nothing.
  for (const line of lines) {
    for (let p = line.e; p; p = p === root ? null : p.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(p), edge = p.getBoundingClientRect();
      if (overflowX !== 'visible') Object.assign(line, { left: Math.max(line.left, edge.left), right: Math.min(line.right, edge.right) });
      if (overflowY !== 'visible') Object.assign(line, { top: Math.max(line.top, edge.top), bottom: Math.min(line.bottom, edge.bottom) });
    }
  }
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > slack && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > slack;
  const scrolled = (e) => { for (let p = e; p && p !== root; p = p.parentElement) if (/auto|scroll/.test(getComputedStyle(p).overflowY)) return p; return null; };
  for (let i = 0; i < lines.length; i++)
    for (let k = i + 1; k < lines.length; k++)
      if (lines[i].e !== lines[k].e && meet(lines[i], lines[k]) && scrolled(lines[i].e) === scrolled(lines[k].e)) found.push(`over: ${lines[i].text} | ${lines[k].text}`);
  // Over each other: rows of a list in which every row has room for one line.
  for (const row of all.filter((each) => each.matches('.mx-lines:not(.mx-wraps) .mx-row1'))) if (row.scrollHeight > row.clientHeight + slack) found.push(`over: ${words(row)}`);
  // Broken: a name of a program on two lines, although one would have room for it.
  for (const e of all.filter((each) => each.matches('code'))) {
    const walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT), room = e.closest('td, .mx-row1, .mx-side')?.clientWidth ?? e.clientWidth;
    for (let node = walk.nextNode(); node; node = walk.nextNode())
      for (const word of node.data.matchAll(/\\w+/g)) {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const parts = [...range.getClientRects()].filter((r) => r.width > 0);
        if (new Set(parts.map((r) => Math.round(r.top))).size > 1 && parts.reduce((sum, r) => sum + r.width, 0) < room / 2) found.push(`broken: ${word[0]}`);
      }
  }
  // A time or a size with an exponent is the error of a calculation, 1e-9 ns for the time 0 say.
  const exponent = /^-?[\\d.]+e-\\d+ (ns|B)$/;
  for (const { text } of lines) if (exponent.test(text)) found.push(`exponent: ${text}`);
  // Drawn text: over other drawn text; or beyond an edge of a picture that cannot be moved that way.
  for (const canvas of root.querySelectorAll('canvas')) {
    if (!shown(canvas)) continue;
    const texts = window.textsOf(canvas).filter((t) => t.right > 0 && t.left < canvas.clientWidth && t.bottom > 0 && t.top < canvas.clientHeight);
    for (let i = 0; i < texts.length; i++) {
      const t = texts[i];
      if (exponent.test(t.text)) found.push(`exponent: ${t.text}`);
      const again = (u) => u.text === t.text && Math.abs(u.left - t.left) < 3; // what is selected is drawn twice
      for (let k = i + 1; k < texts.length; k++) if (meet(t, texts[k]) && !again(texts[k])) found.push(`drawn over: ${t.text} | ${texts[k].text}`);
      if (canvas.dataset.pans !== 'xy' && (t.left < -slack || t.right > canvas.clientWidth + slack)) found.push(`drawn beyond the edge: ${t.text}`);
    }
  }
  return [...new Set(found)];
}"""


def unreadable(page: Any, selector: str) -> list[str]:
    """What cannot be read below an element, one line each. The page has to be of the
    fixture ``noting``.
    """
    return list(page.locator(selector).first.evaluate(FIND))
