// Tables sort by their headers: a button in each, with the mouse and the keyboard. The address keeps the order (sort.NAME=column
// or -column), so that a link or a reload shows the same. Values are read from the cells: data-value, <time datetime>, <data value> or data-v.
import { within } from "./numbers.js";

const PREFIX = "sort.";

function value(cell) {
  if (!cell) return null;
  if (cell.dataset.value !== undefined) return cell.dataset.value || null;
  const time = cell.querySelector("time[datetime]");
  if (time) return Date.parse(time.dateTime);
  const number = cell.querySelector("data[value]");
  if (number) return number.value === "" ? null : Number(number.value);
  if (cell.dataset.v !== undefined) return Number.parseFloat(cell.dataset.v); // the figure in a cell of a report, or of typed SQL
  const text = cell.textContent.trim();
  if (text === "" || text === "–") return null;
  return text;
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

// Unknown values come last in both directions.
function order(table, index, descending) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row, place) => ({ row, place, value: value(row.cells[index]) }));
  rows.sort((a, b) => {
    if (a.value === null || b.value === null) return (a.value === null) - (b.value === null) || a.place - b.place;
    return (descending ? -1 : 1) * compare(a.value, b.value) || a.place - b.place;
  });
  body.append(...rows.map(({ row }) => row));
}

function show(table, index, descending) {
  [...table.tHead.rows[0].cells].forEach((head, at) => {
    if (at === index) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
  order(table, index, descending);
}

// A report that is opened from a file keeps its address if the browser does not allow another.
function remember(name, key) {
  const address = new URL(location.href);
  address.searchParams.set(PREFIX + name, key);
  try { history.replaceState(history.state, "", address); } catch { /* see above */ }
}

export function sortable(part) {
  for (const table of within(part, "table[data-sort]:not([data-sortable])")) {
    table.dataset.sortable = "";
    const name = table.dataset.sort;
    const chosen = new URL(location.href).searchParams.get(PREFIX + name);
    [...(table.tHead?.rows[0]?.cells ?? [])].forEach((head, index) => {
      if (head.dataset.unsorted !== undefined || !head.textContent.trim()) return;
      const term = head.querySelector(".term"), key = head.textContent.trim();
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sorter";
      button.append(...[...head.childNodes].filter((node) => node !== term));
      head.prepend(button);
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const descending = now ? now === "ascending" : head.classList.contains("num");
        show(table, index, descending);
        remember(name, `${descending ? "-" : ""}${head.dataset.key ?? key}`);
      });
      const wanted = head.dataset.key ?? key;
      if (chosen === wanted || chosen === `-${wanted}`) show(table, index, chosen !== wanted);
    });
  }
}
