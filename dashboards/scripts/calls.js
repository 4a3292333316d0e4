// The list of attempts: new ones are added only while nobody reads the list; keys move through it; a drawer previews a row.
import { liveList } from "./live_list.js";

const byId = (id) => document.getElementById(id);
const drawer = byId("drawer"), table = document.querySelector("table.calls");

liveList({
  table,
  bar: document.querySelector(".live-bar"),
  isNews: (arrivals) => Number(arrivals.dataset.new) > 0,
  isBusy: () => !drawer.hidden || table.querySelector("#older tr") !== null,
  refresh() {
    byId("newest").dispatchEvent(new Event("refresh"));
    document.body.dispatchEvent(new Event("refreshed"));
  },
});

// The drawer. The previewed row is in the address, so that a shared link opens it too.
const rows = () => [...table.querySelectorAll("tr[data-span]")];
let shown = null;

function remember() {
  const address = new URL(location.href);
  if (shown) address.searchParams.set("preview", shown); else address.searchParams.delete("preview");
  history.replaceState(history.state, "", address);
}

async function preview(span) {
  shown = span;
  mark();
  const address = new URL(drawer.dataset.from, location.href);
  address.searchParams.set("id", span);
  drawer.hidden = false;
  drawer.setAttribute("aria-busy", "true");
  remember();
  const response = await fetch(address, { headers: { "HX-Request": "true" } });
  const text = await response.text();
  if (shown !== span) return;
  // the server escapes every recorded text in this part, as in all parts that htmx inserts
  drawer.innerHTML = text;
  drawer.removeAttribute("aria-busy");
}

function close() {
  const row = rows().find((each) => each.dataset.span === shown);
  shown = null;
  drawer.hidden = true;
  drawer.replaceChildren();
  mark();
  remember();
  row?.querySelector("a")?.focus({ preventScroll: true });
}

function mark() {
  for (const row of rows()) row.classList.toggle("previewed", row.dataset.span === shown);
}

new MutationObserver(mark).observe(table, { childList: true });

table.addEventListener("click", (event) => {
  const row = event.target.closest("tr[data-span]");
  if (!row || event.target.closest("a, button") || String(getSelection())) return;
  if (row.dataset.span === shown) close(); else preview(row.dataset.span);
});
drawer.addEventListener("click", (event) => { if (event.target.closest("[data-close]")) close(); });

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog, summary, button")) return;
  if (event.key === "Escape" && shown) { event.preventDefault(); close(); return; }
  const all = rows(), active = document.activeElement.closest("tr[data-span]");
  if (["ArrowDown", "ArrowUp", "j", "k"].includes(event.key)) {
    if (event.key.startsWith("Arrow") && !active && !shown) return;
    const at = all.findIndex((row) => row === active || (!active && row.dataset.span === shown));
    const next = all[at + (event.key === "ArrowDown" || event.key === "j" ? 1 : -1)] ?? (at < 0 ? all[0] : null);
    if (!next) return;
    event.preventDefault();
    next.querySelector("a").focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
    if (shown) preview(next.dataset.span);
  } else if (event.key === " " && active) {
    event.preventDefault();
    if (shown === active.dataset.span) close(); else preview(active.dataset.span);
  }
});

const wanted = new URLSearchParams(location.search).get("preview");
if (wanted) preview(wanted);
