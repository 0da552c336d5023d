// Code that is wider than the page is scrolled by keys too: what scrolls can have the focus.
function reach() {
  for (const each of document.querySelectorAll("pre, .table-wrapper, .math")) {
    if (each.scrollWidth > each.clientWidth + 1) each.tabIndex = 0;
    else each.removeAttribute("tabindex");
  }
}
addEventListener("load", reach);
addEventListener("resize", reach);
