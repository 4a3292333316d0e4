import { localize, relocalizeTimes } from "./numbers.js";
import { draw, redraw } from "./charts.js";
import { sortable } from "./sort.js";
import { sparks } from "./sparks.js";
import { timeFields } from "./time_fields.js";
import { zoneButton } from "./zone.js";

const root = document.documentElement;

function enhance(part) {
  localize(part);
  draw(part);
  sparks(part);
  timeFields(part);
  sortable(part);
}

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

document.getElementById("theme").addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  localStorage.setItem("tooltrace-theme", root.dataset.theme);
  redraw();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

zoneButton(document.getElementById("zone"), () => {
  relocalizeTimes();
  timeFields(document);
  redraw();
});

// Content that htmx inserts is formatted when it arrives. Only rows that were not in the list before are marked as fresh.
let knownRows = null;
new MutationObserver((changes) => {
  for (const change of changes) {
    for (const node of change.addedNodes) {
      if (node.nodeType !== Node.ELEMENT_NODE || !node.isConnected) continue;
      if (node.id === "newest") mark(node);
      enhance(node);
    }
  }
}).observe(document.getElementById("main"), { childList: true, subtree: true });

function mark(body) {
  const rows = [...body.querySelectorAll("tr[id]")];
  if (knownRows) for (const row of rows) if (!knownRows.has(row.id)) row.classList.add("fresh");
  knownRows = new Set(rows.map((row) => row.id));
}

// The notice about new calls is inserted once: a screen reader would read each repetition, and the link would lose the focus.
const live = document.getElementById("live");
live.addEventListener("htmx:before:request", (event) => { if (live.firstElementChild) event.preventDefault(); });

// A part whose request failed says so: it would seem to load for ever. A part that the server refused shows the refusal instead.
document.addEventListener("htmx:error", (event) => {
  const waiting = event.detail?.ctx?.sourceElement?.querySelector(".wait");
  if (!waiting) return;
  waiting.className = "error-box";
  waiting.textContent = document.getElementById("main").dataset.unanswered;
});

// A swap removes the focused element. The same row of the list gets the focus back; a saved label is focused, so that it is read out.
let focused = null;
document.addEventListener("htmx:before:swap", () => {
  const row = document.activeElement?.closest("#newest tr[id]");
  focused = row && [row.id, [...row.querySelectorAll("a")].indexOf(document.activeElement)];
});

const dialog = document.getElementById("sql");
document.addEventListener("htmx:after:swap", (event) => {
  const swapped = (id) => event.target.id === id || event.detail?.ctx?.target?.id === id;
  if (focused && document.activeElement === document.body) document.getElementById(focused[0])?.querySelectorAll("a")[focused[1]]?.focus({ preventScroll: true });
  focused = null;
  if (swapped("sql-body") && !dialog.open) dialog.showModal();
  if (swapped("labels")) document.querySelector("#labels .verdicts")?.focus();
});
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  const words = JSON.parse(document.getElementById("words").textContent);
  const before = button.textContent;
  button.textContent = words["js.copied"];
  setTimeout(() => { button.textContent = before; }, 1500);
});
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

enhance(document.body);
