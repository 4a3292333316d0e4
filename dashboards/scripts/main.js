import { localize } from "./numbers.js";
import { draw, redraw } from "./charts.js";
import { sparks } from "./sparks.js";

const root = document.documentElement;

function settle(part) {
  localize(part);
  draw(part);
  sparks(part);
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

// What htmx puts in is made readable as it comes; only rows that were not there before are marked as fresh.
let known = null;
new MutationObserver((changes) => {
  for (const change of changes) {
    for (const node of change.addedNodes) {
      if (node.nodeType !== Node.ELEMENT_NODE || !node.isConnected) continue;
      if (node.id === "newest") mark(node);
      settle(node);
    }
  }
}).observe(document.getElementById("main"), { childList: true, subtree: true });

function mark(body) {
  const rows = [...body.querySelectorAll("tr[id]")];
  if (known) for (const row of rows) if (!known.has(row.id)) row.classList.add("fresh");
  known = new Set(rows.map((row) => row.id));
}

// That there is more is said once: said again every two seconds, it would be read out again, and lose the focus.
const live = document.getElementById("live");
live.addEventListener("htmx:before:request", (event) => { if (live.firstElementChild) event.preventDefault(); });

// A swap takes the focus away with what it replaces: a row of the list gets it back, and a label that was kept is read out.
let held = null;
document.addEventListener("htmx:before:swap", () => {
  const row = document.activeElement?.closest("#newest tr[id]");
  held = row && [row.id, [...row.querySelectorAll("a")].indexOf(document.activeElement)];
});

const dialog = document.getElementById("sql");
document.addEventListener("htmx:after:swap", (event) => {
  const swapped = (id) => event.target.id === id || event.detail?.ctx?.target?.id === id;
  if (held && document.activeElement === document.body) document.getElementById(held[0])?.querySelectorAll("a")[held[1]]?.focus({ preventScroll: true });
  held = null;
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

settle(document.body);
