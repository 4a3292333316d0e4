// The list of attempts: new ones are added only while nobody reads the list; keys move through it; a drawer previews a row.
const byId = (id) => document.getElementById(id);
const pause = byId("pause"), drawer = byId("drawer"), side = document.querySelector(".list-side");
const live = !pause.hidden;
let pointed = false;

const table = document.querySelector("table.calls");
table.addEventListener("pointerover", (event) => { pointed = !!event.target.closest("tbody"); });
table.addEventListener("pointerleave", () => { pointed = false; });

function isRead() {
  return pause.getAttribute("aria-pressed") === "true" || !drawer.hidden || pointed || table.contains(document.activeElement)
    || table.getBoundingClientRect().top < 0 || table.querySelector("#older tr") !== null;
}

function refresh() {
  byId("newest").dispatchEvent(new Event("refresh"));
  document.body.dispatchEvent(new Event("refreshed"));
}

function arrive() {
  if (live && Number(byId("arrivals").dataset.new) > 0 && !isRead()) refresh();
}

new MutationObserver(arrive).observe(side.querySelector(".live-bar"), { childList: true });
setInterval(arrive, 1000);
side.addEventListener("click", (event) => {
  if (!event.target.closest("[data-refresh]")) return;
  refresh();
  scrollTo({ top: 0 });
});
pause.addEventListener("click", () => pause.setAttribute("aria-pressed", String(pause.getAttribute("aria-pressed") !== "true")));

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
