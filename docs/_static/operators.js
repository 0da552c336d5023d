// A search box above the operators from A to Z: rows that have all the words stay, in their names or what they do.
document.addEventListener("DOMContentLoaded", () => {
  const page = document.getElementById("operators-from-a-to-z");
  if (!page) return;
  const letters = [...page.querySelectorAll(":scope > section")];
  const rows = letters.flatMap((letter) => [...letter.querySelectorAll("tbody tr")].map((row) => ({ row, letter, text: row.textContent.toLowerCase() })));
  const box = document.createElement("input"), count = document.createElement("output");
  Object.assign(box, { type: "search", id: "operator-search", placeholder: "name, namespace or what it does" });
  box.setAttribute("aria-label", "search operators");
  box.setAttribute("aria-describedby", "operator-count");
  count.id = "operator-count";
  const bar = document.createElement("p");
  bar.className = "operator-search";
  bar.append(box, count);
  letters[0].before(bar);

  const filter = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const each of rows) {
      const fits = words.every((word) => each.text.includes(word));
      each.row.hidden = !fits;
      shown += fits;
    }
    for (const letter of letters) letter.hidden = !rows.some((each) => each.letter === letter && !each.row.hidden);
    count.textContent = words.length ? `${shown} of ${rows.length}` : `${rows.length} names`;
  };
  box.addEventListener("input", () => {
    filter();
    const at = new URL(location.href); // a link that finds the same
    if (box.value) at.searchParams.set("find", box.value);
    else at.searchParams.delete("find");
    try {
      history.replaceState(null, "", at);
    } catch {} // a page from a file may not
  });
  box.value = new URLSearchParams(location.search).get("find") ?? "";
  filter();
});
