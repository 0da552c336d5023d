// Where the keys go when an update replaces, disables or hides the element that has the focus: without this the page
// takes it, and who works by keys is back at the top of the page.
const KEYED = 'button, input, select, summary, a[href], [tabindex="0"]';

const usable = (each) => each.isConnected && !each.disabled && each.checkVisibility({ visibilityProperty: true });
const nameOf = (each) => each.getAttribute("aria-label") ?? each.textContent;

// Runs `change`, and gives the focus of what it took away to what has the same name now, else to the region around
// it, else to the nearest neighbour.
export function keepingFocus(root, change) {
  const page = root.getRootNode(), held = page.activeElement;
  if (!held || held === root || !root.contains(held)) return change();
  const name = nameOf(held), before = [...root.querySelectorAll(KEYED)], at = before.indexOf(held);
  const around = before.filter((each) => each !== held && each.contains(held)).reverse();
  change();
  if (usable(held) && page.activeElement === held) return;
  if (page.activeElement !== held && root.contains(page.activeElement)) return; // the change moved it
  const again = [...root.querySelectorAll(held.tagName)].filter((each) => each !== held && nameOf(each) === name);
  const next = [...again, ...around, ...before.slice(at + 1), ...before.slice(0, Math.max(at, 0)).reverse()].find(usable);
  next?.focus({ preventScroll: true });
}
