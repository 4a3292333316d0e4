// The tree of steps: arrow keys, j and k move, left and right fold, enter opens. The chosen step is loaded beside the tree.
const tree = document.querySelector("[data-steps]");
const lines = [...tree.querySelectorAll("[role=treeitem]")];
const places = new Map(lines.map((line, place) => [line, place]));
const detail = document.getElementById("detail");
const NEAR = 150; // milliseconds without another key before a step is loaded

let current = lines.find((line) => line.classList.contains("chosen")) ?? lines[0];
let waiting = 0;
let loading = null;

for (const line of lines) line.tabIndex = line === current ? 0 : -1;
reveal(current);

function level(line) { return Number(line.getAttribute("aria-level")); }

// Lines inside `line`: those that follow it at a greater depth.
function inside(line) {
  const found = [];
  for (let place = places.get(line) + 1; place < lines.length && level(lines[place]) > level(line); place++) found.push(lines[place]);
  return found;
}

function parent(line) {
  for (let place = places.get(line) - 1; place >= 0; place--) if (level(lines[place]) < level(line)) return lines[place];
  return null;
}

function fold(line, open) {
  line.setAttribute("aria-expanded", String(open));
  let closed = Infinity;
  for (const inner of inside(line)) {
    if (level(inner) <= closed) closed = Infinity;
    inner.hidden = !open || level(inner) > closed;
    if (inner.getAttribute("aria-expanded") === "false") closed = Math.min(closed, level(inner));
  }
}

function reveal(line) {
  for (let above = line && parent(line); above; above = parent(above)) if (above.getAttribute("aria-expanded") === "false") fold(above, true);
}

function move(line, focus = true) {
  if (!line) return;
  current.tabIndex = -1;
  line.tabIndex = 0;
  current = line;
  if (focus) { line.focus({ preventScroll: true }); line.scrollIntoView({ block: "nearest" }); }
  clearTimeout(waiting);
  waiting = setTimeout(choose, NEAR, line);
}

// Show `line` beside the tree, and keep it in the address.
async function choose(line) {
  clearTimeout(waiting);
  for (const other of tree.querySelectorAll(".chosen")) { other.classList.remove("chosen"); other.setAttribute("aria-selected", "false"); }
  line.classList.add("chosen");
  line.setAttribute("aria-selected", "true");
  const address = new URL(location);
  address.searchParams.set("span", line.dataset.span);
  history.replaceState(history.state, "", address);
  loading?.abort();
  loading = new AbortController();
  const asked = new URL(detail.dataset.from, location);
  asked.searchParams.set("span", line.dataset.span);
  asked.searchParams.set("kind", line.dataset.kind);
  detail.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(asked, { headers: { "hx-request": "true" }, signal: loading.signal });
    detail.innerHTML = await answer.text();
    htmx.process(detail);
    detail.scrollTop = 0;
    detail.removeAttribute("aria-busy");
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
}

function next(step) {
  for (let place = places.get(current) + step; place >= 0 && place < lines.length; place += step) if (!lines[place].hidden) return lines[place];
  return null;
}

const KEYS = {
  ArrowDown: () => move(next(1)), j: () => move(next(1)),
  ArrowUp: () => move(next(-1)), k: () => move(next(-1)),
  Home: () => move(lines[0]), End: () => move(lines.findLast((line) => !line.hidden)),
  ArrowRight: () => { if (current.getAttribute("aria-expanded") === "false") fold(current, true); else if (current.hasAttribute("aria-expanded")) move(next(1)); },
  ArrowLeft: () => { if (current.getAttribute("aria-expanded") === "true") fold(current, false); else move(parent(current)); },
  Enter: () => { const open = detail.querySelector(`[data-detail="${CSS.escape(current.dataset.span)}"] a.open`); if (open) open.click(); else choose(current); },
};

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const outside = !tree.contains(event.target);
  if (outside && (event.target !== document.body || !["j", "k"].includes(event.key))) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

tree.addEventListener("click", (event) => {
  const line = event.target.closest("[role=treeitem]");
  if (!line || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  if (event.target.classList.contains("fold") || (line.classList.contains("group") && line === current)) fold(line, line.getAttribute("aria-expanded") === "false");
  move(line);
  choose(line);
});
