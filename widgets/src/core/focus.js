// Where the keys go when an update replaces, disables or hides the element that has the focus: without this the page
// takes it, and who works by keys is back at the top of the page.
const KEYED = 'button, input, select, summary, a[href], [tabindex="0"]';

const usable = (each) => each.isConnected && !each.disabled && each.checkVisibility({ visibilityProperty: true });
const nameOf = (each) => each.getAttribute("aria-label") ?? each.textContent;

// Runs `change`, and gives the focus of what it took away to what has the same name now, else to the region around
// it, else to the nearest neighbour.
export function keepingFocus(root, change) {
  const page = root.getRootNode(), focused = page.activeElement;
  if (!focused || focused === root || !root.contains(focused)) return change();
  const name = nameOf(focused), before = [...root.querySelectorAll(KEYED)], at = before.indexOf(focused);
  const around = before.filter((each) => each !== focused && each.contains(focused)).reverse();
  change();
  if (usable(focused) && page.activeElement === focused) return;
  if (page.activeElement !== focused && root.contains(page.activeElement)) return; // the change moved it
  const again = [...root.querySelectorAll(focused.tagName)].filter((each) => each !== focused && nameOf(each) === name);
  const next = [...again, ...around, ...before.slice(at + 1), ...before.slice(0, Math.max(at, 0)).reverse()].find(usable);
  next?.focus({ preventScroll: true });
}
