// What every view stands on: the frame (toolbar, stage, side panel, spoken line), state shared with Python,
// the host's theme, and clean removal.
import { button, download, freshId, h, isPlain } from "./dom.js";
import { keepingFocus } from "./focus.js";
import { settle } from "./place.js";
import { firstSight } from "./sight.js";

// view(name, start) is a bundle's default export. `start(ctx)` builds the view once and returns `update(what)`,
// called at once and after every change, with "payload", "state" or "theme".
//
// ctx.payload, ctx.state      the newest data (getters)
// ctx.choose({selected: 3})   changes entries of the state here, in Python and in other copies of the view
// ctx.send({...})             an event for View.message in Python; dropped in static pages. If that raises, its
//                             error is said
// ctx.bar, ctx.stage, ctx.side   elements to fill: toolbar, picture, details of what is selected
// ctx.say(text, aloud)        shown below the picture, and spoken by screen readers unless aloud is false
// ctx.colour(name)            a CSS variable as text: colour("fg") is --mx-fg
// ctx.onClose(f)              f runs when the view is removed
// ctx.isStatic                no kernel behind it
// ctx.drawn                   set by a view that draws a picture to save itself: () => [address, name of the file]
export function view(name, start) {
  const self = {
    initialize: ({ model }) => settle(model.get("place"), (el, picture) => self.render({ model, el, picture })),
    // picture() gives the address of the view's still picture, where there is one.
    render({ model, el, isStatic = false, picture = null }) {
      const closing = [];
      let colours = {}; // of the theme: asking the page costs more than drawing a box
      const help = h("dialog", { class: "mx-help", "aria-label": `${name}: keys` });
      const bar = h("div", { class: "mx-bar", role: "toolbar", "aria-label": `${name} tools` });
      const stage = h("div", { class: "mx-stage" });
      const side = h("div", { class: "mx-side", id: freshId("side"), role: "group", "aria-label": "details", tabindex: "0" });
      const line = h("div", { class: "mx-line", role: "status", "aria-live": "polite" });
      const root = h(
        "section",
        { class: "mx", role: "group", "aria-label": name, "data-view": name },
        firstSight(model.get("payload").sight),
        bar,
        h("div", { class: "mx-row" }, stage, side),
        line,
        help,
      );
      el.append(root);
      closing.push(ownKeys(root));
      const ctx = {
        root, bar, stage, side, isStatic, model,
        get payload() {
          return model.get("payload");
        },
        get state() {
          return model.get("state") ?? {};
        },
        choose(patch) {
          model.set("state", { ...(model.get("state") ?? {}), ...patch });
          model.save_changes();
        },
        send(content) {
          try {
            model.send(content);
          } catch {
            ctx.say("✗ The kernel has been restarted: run this cell again."); // its comm is closed
          }
        },
        say(text, aloud = true) {
          line.ariaLive = aloud ? "polite" : "off";
          if (line.textContent !== text) line.textContent = text;
        },
        colour(key) {
          if (!colours[key]) colours[key] = getComputedStyle(root).getPropertyValue(`--mx-${key}`).trim();
          return colours[key]; // "" until the view is in the page
        },
        onClose: (f) => closing.push(f),
        // The keys of the view, as [keys, what they do]; a "?" button and key show them.
        keys(rows) {
          help.replaceChildren(
            h("h2", null, name),
            h("dl", null, rows.map(([keys, text]) => [h("dt", null, h("kbd", null, keys)), h("dd", null, text)])),
            button("Close", "close", () => help.close()),
          );
          const drawn = ctx.drawn ?? (picture && (() => [picture(), name]));
          const saves = drawn ? ["SVG", "PNG"].map((kind) => saver(kind, drawn, ctx.say)) : [];
          bar.append(h("span", { class: "mx-right mx-field" }, saves, button("?", "keys of this view", () => help.showModal())));
        },
      };
      const draw = start(ctx), update = (cause) => keepingFocus(root, () => draw(cause));
      const changed = (cause) => () => update(cause);
      const handlers = { payload: changed("payload"), state: changed("state") };
      for (const key of Object.keys(handlers)) model.on(`change:${key}`, handlers[key]);
      const failed = (content) => content?.failed && ctx.say(`✗ ${content.failed}`); // what ctx.send asked for
      model.on("msg:custom", failed);
      const stopTheme = onTheme(() => {
        colours = {};
        update("theme");
      });
      update("payload");
      return () => {
        for (const key of Object.keys(handlers)) model.off(`change:${key}`, handlers[key]);
        model.off("msg:custom", failed);
        stopTheme();
        closing.forEach((f) => f());
        root.remove();
      };
    },
  };
  return self;
}

const MOST = 12_000; // pixels along a side: browsers draw no larger canvas

// A button that saves a picture, as it is or in pixels; drawn() gives its address and its name.
function saver(kind, drawn, say) {
  return button(kind, `save the picture as ${kind}`, async () => {
    const [address, name] = drawn(), file = `${name}.${kind.toLowerCase()}`;
    download(kind === "SVG" ? address : await inPixels(address), file);
    say(`saved ${file}`);
  });
}

async function inPixels(address) {
  const image = h("img", { src: address });
  await image.decode();
  const { naturalWidth: width, naturalHeight: height } = image, scale = Math.min(2, MOST / width, MOST / height);
  const canvas = h("canvas", { width: Math.ceil(scale * width), height: Math.ceil(scale * height) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/png");
}

// Plain keys typed in a view are meant for it. A notebook in command mode would take arrows as steps between
// cells, and does so on the way down to the target: only the window is asked earlier. Keys with Ctrl, Alt or
// Meta, and Shift+Enter, stay the notebook's.
function ownKeys(root) {
  const mark = "data-lm-suppress-shortcuts"; // Lumino looks for it on the target
  const down = (event) => {
    if (!isPlain(event) || (event.shiftKey && event.key === "Enter")) return;
    const target = event.target;
    if (!(target instanceof Element) || !root.contains(target)) return;
    target.setAttribute(mark, "");
    setTimeout(() => target.removeAttribute(mark));
  };
  const stop = (event) => event.stopPropagation();
  window.addEventListener("keydown", down, true);
  root.addEventListener("keydown", stop);
  return () => window.removeEventListener("keydown", down, true);
}

// The host's theme changes by an attribute of <body> (JupyterLab, Sphinx) or by the system's setting.
function onTheme(f) {
  const later = () => requestAnimationFrame(f);
  const observer = new MutationObserver(later);
  const watched = { attributes: true, attributeFilter: ["class", "data-theme", "data-jp-theme-light", "data-jp-theme-name"] };
  observer.observe(document.body, watched);
  observer.observe(document.documentElement, watched);
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", later);
  return () => {
    observer.disconnect();
    system.removeEventListener("change", later);
  };
}
