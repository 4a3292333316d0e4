import { localize, number, relocalizeTimes } from "./numbers.js";
import { draw, redraw } from "./charts.js";
import { sortable } from "./sort.js";
import { sparks } from "./sparks.js";
import { fixZone, zoneButton } from "./zone.js";

const root = document.documentElement;

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

const button = document.getElementById("theme");
button.hidden = false;
button.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  redraw();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

zoneButton(document.getElementById("zone"), () => {
  relocalizeTimes();
  redraw();
});

// Print in the light theme and in UTC, with charts of the paper's width.
let before = null;
addEventListener("beforeprint", () => {
  before = root.dataset.theme ?? "";
  root.dataset.theme = "light";
  root.dataset.printing = "";
  fixZone("utc");
  relocalizeTimes();
  drawAll();
  redraw();
});
addEventListener("afterprint", () => {
  if (before) root.dataset.theme = before;
  else delete root.dataset.theme;
  delete root.dataset.printing;
  fixZone(null);
  relocalizeTimes();
  redraw();
});

// A chart is drawn when it comes near the viewport, so that a report of many tools opens quickly.
const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) show(target);
}, { rootMargin: "600px" });

function show(figure) {
  near.unobserve(figure);
  draw(figure);
}

function drawAll() {
  for (const figure of document.querySelectorAll("figure[data-chart]:not([data-done])")) show(figure);
}

// Format the numbers of the tables in the reader's locale: a value, and the ends of its interval.
for (const cell of document.querySelectorAll("td[data-v]")) {
  const [value, ...ends] = cell.dataset.v.split(" ").map(Number);
  const unit = cell.dataset.u, within = unit === "points" ? "signed" : unit;
  const shown = (end, open) => (Number.isFinite(end) ? number(end, within) : open);
  if (Number.isFinite(value)) cell.textContent = number(value, unit);
  if (!ends.some(Number.isFinite)) continue;
  const range = Object.assign(document.createElement("span"), { className: "range", textContent: `[${shown(ends[0], "−∞")}, ${shown(ends[1], "∞")}]` });
  cell.append(" ", range);
}

localize(document.body);
sparks(document.body);
sortable(document.body);
for (const figure of document.querySelectorAll("figure[data-chart]")) near.observe(figure);
