// A stand-in for a canvas's context that writes SVG.
const n = (number) => String(Math.round(number * 10) / 10);
const safe = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");

export class SvgContext {
  constructor(width, height, background, label) {
    this.parts = [`<svg xmlns="http://www.w3.org/2000/svg" width="${n(width)}" height="${n(height)}" viewBox="0 0 ${n(width)} ${n(height)}" role="img" aria-label="${safe(label)}"><rect width="100%" height="100%" fill="${background}"/>`];
    this.d = "";
    this.dash = [];
    this.globalAlpha = 1;
    this.lineWidth = 1;
  }
  beginPath() {
    this.d = "";
  }
  moveTo(x, y) {
    this.d += `M${n(x)},${n(y)}`;
  }
  lineTo(x, y) {
    this.d += `L${n(x)},${n(y)}`;
  }
  bezierCurveTo(a, b, c, d, x, y) {
    this.d += `C${n(a)},${n(b)} ${n(c)},${n(d)} ${n(x)},${n(y)}`;
  }
  closePath() {
    this.d += "z";
  }
  rect(x, y, w, h) {
    this.d += `M${n(x)},${n(y)}h${n(w)}v${n(h)}h${n(-w)}z`;
  }
  setLineDash(dash) {
    this.dash = dash;
  }
  fill() {
    if (this.d) this.parts.push(`<path fill="${this.fillStyle}"${this.alpha()} d="${this.d}"/>`);
  }
  stroke() {
    if (!this.d) return;
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    this.parts.push(`<path fill="none" stroke="${this.strokeStyle}" stroke-width="${n(this.lineWidth)}"${dash}${this.alpha()} d="${this.d}"/>`);
  }
  alpha() {
    return this.globalAlpha < 1 ? ` opacity="${n(this.globalAlpha)}"` : "";
  }
  fillRect(x, y, w, h) {
    this.parts.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}" fill="${this.fillStyle}"/>`);
  }
  strokeRect(x, y, w, h) {
    this.beginPath();
    this.rect(x, y, w, h);
    this.stroke();
  }
  fillText(text, x, y) {
    const [, weight, size] = /^(600 )?(\d+)px/.exec(this.font);
    const anchor = this.textAlign === "center" ? ' text-anchor="middle"' : "";
    this.parts.push(`<text x="${n(x)}" y="${n(y)}" font-family="system-ui, DejaVu Sans, sans-serif" font-size="${size}"${weight ? ' font-weight="600"' : ""}${anchor} fill="${this.fillStyle}">${safe(text)}</text>`);
  }
  toString() {
    return `${this.parts.join("")}</svg>`;
  }
}
