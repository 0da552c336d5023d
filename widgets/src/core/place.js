// Where live views are drawn: in the element that the HTML of an output keeps for them, wherever it comes up.
// The notebook stores that HTML, with its picture; the view that stands in front of it is never stored.
import { h } from "./dom.js";

const HUB = Symbol.for("mixnet.places"); // every view brings this script along: they share one observer

function hub() {
  return (globalThis[HUB] ??= start());
}

function start() {
  const settlers = new Map(); // place -> what to do with an element that keeps it
  const look = (root) => {
    for (const element of [root, ...(root.querySelectorAll?.("[data-place]") ?? [])]) settlers.get(element.dataset?.place)?.(element);
  };
  new MutationObserver((changes) => {
    for (const change of changes) change.addedNodes.forEach(look);
  }).observe(document.documentElement, { childList: true, subtree: true });
  return { settlers, look };
}

// settle(place, render) draws with render(host, picture) in every element that keeps this place, now and later;
// returns what ends that. An element that was drawn anew, as outputs are when they are renewed, gets the
// host of the one before, with all that the reader did in it.
export function settle(place, render) {
  const { settlers, look } = hub();
  const hosts = [];
  settlers.set(place, (element) => {
    if (hosts.some(({ host }) => host.parentElement === element)) return;
    let entry = hosts.find(({ host }) => !host.isConnected);
    if (!entry) hosts.push((entry = hosted()));
    entry.picture = element.querySelector("figure img")?.src ?? entry.picture;
    entry.close ??= render(entry.host, () => entry.picture);
    element.replaceChildren(entry.host);
    entry.focus();
  });
  look(document.documentElement);
  return () => {
    settlers.delete(place);
    for (const { close } of hosts) close?.();
  };
}

function hosted() {
  const host = h("div");
  let last = null; // what has the focus in it: a host that moves takes it along
  host.addEventListener("focusin", (event) => (last = event.target));
  host.addEventListener("focusout", () => setTimeout(() => host.isConnected && !host.contains(document.activeElement) && (last = null)));
  const focus = () => document.activeElement === document.body && last?.focus({ preventScroll: true });
  return { host, focus, close: null, picture: null };
}
