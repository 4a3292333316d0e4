// Ctrl-K opens the palette, "/" focuses the search of the page. Arrow keys choose an entry, Enter opens it.
const dialog = document.getElementById("palette"), field = document.getElementById("palette-find"), list = document.getElementById("palette-list");
let request = null, timer = 0, listed = null;  // listed: the text whose entries are shown

const entries = () => [...list.querySelectorAll("[role=option]")];
const chosen = () => list.querySelector("[aria-selected=true]");

function choose(entry) {
  chosen()?.setAttribute("aria-selected", "false");
  entry?.setAttribute("aria-selected", "true");
  entry?.scrollIntoView({ block: "nearest" });
  if (entry) field.setAttribute("aria-activedescendant", entry.id); else field.removeAttribute("aria-activedescendant");
}

async function find() {
  request?.abort();
  request = new AbortController();
  const here = new URLSearchParams(location.search), address = new URL(dialog.dataset.from, location.href);
  address.searchParams.set("find", field.value);
  address.searchParams.set("page", location.pathname.slice((document.documentElement.dataset.prefix ?? "").length));
  for (const name of ["since", "until"]) if (here.get(name)) address.searchParams.set(name, here.get(name));
  const text = field.value;
  try {
    const response = await fetch(address, { headers: { "HX-Request": "true" }, signal: request.signal });
    if (!response.ok) return;
    list.innerHTML = await response.text(); // the server escapes every name in this part
    listed = text;
    choose(entries()[0]);
  } catch (reason) {
    if (reason.name !== "AbortError") throw reason;
  }
}

function open() {
  if (dialog.open) return;
  field.value = "";
  list.replaceChildren();
  listed = null;
  dialog.showModal();
  field.focus();
  find();
}

// Enter before the entries of the typed text have arrived opens the first of these, not one of an earlier text.
async function enter() {
  const text = field.value;
  if (listed !== text) {
    clearTimeout(timer);
    await find();
  }
  if (dialog.open && listed === text && field.value === text) go(chosen());
}

function go(entry) {
  if (!entry) return;
  dialog.close();
  const { to, action } = entry.dataset;
  if (to) { location.href = to; return; }
  if (action === "theme" || action === "zone") { document.getElementById(action).click(); return; }
  const address = new URL(location.href), [name, value] = action.split("=");
  if (name === "since") address.searchParams.delete("until");
  address.searchParams.set(name, value);
  location.href = address.href;
}

field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(find, 120); });
field.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  const all = entries(), at = all.indexOf(chosen());
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    choose(all[(at + (event.key === "ArrowDown" ? 1 : -1) + all.length) % all.length]);
  } else if (event.key === "Enter") {
    event.preventDefault();
    enter();
  }
});
list.addEventListener("click", (event) => go(event.target.closest("[role=option]")));
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
document.getElementById("palette-open").addEventListener("click", open);

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") { event.preventDefault(); open(); return; }
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.closest?.("input, select, textarea, [contenteditable=true]")) return;
  event.preventDefault();
  const search = document.querySelector("[data-search]");
  if (search) search.focus(); else open();
}, true);
