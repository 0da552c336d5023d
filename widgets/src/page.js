// Brings the views of a static page to life: the same bundles, no kernel, no network.
import { plainModel } from "./core/model.js";

const Bundles = JSON.parse(document.getElementById("mx-bundles").textContent);
const modules = new Map();

function load(name) {
  if (!modules.has(name)) {
    const url = URL.createObjectURL(new Blob([Bundles[name]], { type: "text/javascript" }));
    modules.set(name, import(url).then((module) => module.default));
  }
  return modules.get(name);
}

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

for (const element of document.querySelectorAll(".mx-static")) {
  try {
    const view = await load(element.dataset.bundle);
    const model = plainModel(await unpack(element.querySelector("script").textContent));
    const host = document.createElement("div");
    const picture = element.querySelector("figure img")?.src;
    await view.render({ model, el: host, isStatic: true, picture: picture && (() => picture) });
    element.replaceChildren(host);
    element.dataset.ready = "true";
  } catch (error) {
    console.error("mixnet: a view remains a static picture:", error); // its picture and table are still there
  }
}
