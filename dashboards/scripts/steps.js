// The tree of steps: arrow keys, j and k move, left and right fold, enter opens. The chosen step is loaded beside the tree.
// A filter narrows the steps, and a strip above a long tree has a mark for each step.
const tree = document.querySelector("[data-steps]");
const lines = [...tree.querySelectorAll("[role=treeitem]")];
const places = new Map(lines.map((line, place) => [line, place]));
const detail = document.getElementById("detail");
const shownAtFirst = lines.filter((line) => !line.hidden); // these have a mark in the strip; single attempts have none
const strip = document.querySelector("[data-minimap]");
const field = document.querySelector("[data-filter-steps]");
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
  here();
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

function isShown(line) { return !line.hidden && !line.classList.contains("out"); }

function next(step) {
  for (let place = places.get(current) + step; place >= 0 && place < lines.length; place += step) if (isShown(lines[place])) return lines[place];
  return null;
}

const KEYS = {
  ArrowDown: () => move(next(1)), j: () => move(next(1)),
  ArrowUp: () => move(next(-1)), k: () => move(next(-1)),
  Home: () => move(lines.find(isShown)), End: () => move(lines.findLast(isShown)),
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

// The strip: a click jumps to a step, and a frame shows where the chosen one is.
function here() {
  if (!strip) return;
  let line = current;
  while (line && !shownAtFirst.includes(line)) line = parent(line);
  strip.querySelector(".here").setAttribute("x", String(Math.max(0, shownAtFirst.indexOf(line))));
}

strip?.addEventListener("click", (event) => {
  const box = strip.getBoundingClientRect();
  const place = Math.floor((event.clientX - box.left) / box.width * shownAtFirst.length);
  const line = shownAtFirst[Math.min(Math.max(place, 0), shownAtFirst.length - 1)];
  if (line.classList.contains("out")) clear();
  reveal(line);
  move(line);
  line.scrollIntoView({ block: "center" });
  choose(line);
});

// The filter: a step stays if it, or a step inside it, has the text in its name, code, message or in what the model received.
// Where the page has a part of the steps, the field is in a form: Enter asks the server, which searches all of them.
const words = new Map(lines.map((line) => [line, `${line.querySelector(".what").textContent} ${line.dataset.words ?? ""}`.toLowerCase()]));

function narrow() {
  const text = field.value.trim().toLowerCase();
  const kept = new Set();
  let matches = 0;
  for (const line of lines) {
    if (!words.get(line).includes(text)) continue;
    if (!line.classList.contains("group")) matches++;
    for (let above = line; above && !kept.has(above); above = parent(above)) kept.add(above);
  }
  tree.classList.toggle("filtered", text !== "");
  for (const line of lines) line.classList.toggle("out", !kept.has(line));
  if (text) for (const line of kept) reveal(line);
  for (const part of tree.querySelectorAll(".lines, .band")) part.classList.toggle("out", !part.querySelector(".step:not(.out)"));
  const status = document.querySelector("[data-filtered]");
  const steps = lines.filter((line) => !line.classList.contains("group")).length;
  status.textContent = text && text === field.dataset.served?.toLowerCase() ? status.dataset.served : text ? status.dataset.template.replace("{n}", matches).replace("{all}", steps) : "";
  const address = new URL(location);
  if (text) address.searchParams.set("filter", field.value.trim()); else address.searchParams.delete("filter");
  history.replaceState(history.state, "", address);
}

function clear() {
  field.value = "";
  if (field.dataset.served) field.form.requestSubmit(); // the page has the steps that match alone
  else narrow();
}

field.addEventListener("input", narrow);
field.addEventListener("keydown", (event) => {
  if (!["Enter", "ArrowDown", "Escape"].includes(event.key)) return;
  if (event.key === "Enter" && field.form && field.value.trim() !== field.dataset.served) return;
  event.preventDefault();
  if (event.key === "Escape") clear();
  const line = isShown(current) ? current : lines.find(isShown);
  if (line) move(line);
});
field.value = new URLSearchParams(location.search).get("filter") ?? "";
if (field.value) narrow();
here();

// The steps of loops get a mark when the list of loops has arrived.
document.getElementById("loops")?.addEventListener("htmx:after:swap", markLoops);
function markLoops() {
  for (const loop of document.querySelectorAll("#loops [data-loop]")) {
    const line = lines.find((one) => one.dataset.span === loop.dataset.loop && !one.classList.contains("group"));
    if (!line || line.querySelector(".looping")) continue;
    const mark = document.createElement("span");
    mark.className = loop.dataset.running ? "looping running" : "looping";
    mark.textContent = loop.dataset.word;
    line.querySelector(".what").append(mark);
  }
}
markLoops();
