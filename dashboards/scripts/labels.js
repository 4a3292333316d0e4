// Keys of the label bar: 1 right, 2 wrong, n next unlabelled, u undo. The name of the labeler is kept for the next call.
const NAME = "tooltrace-labeler";

function fill(part) {
  const name = localStorage.getItem(NAME);
  if (name) for (const field of part.querySelectorAll("form [name=labeler]")) field.value = name;
}

document.addEventListener("input", (event) => {
  if (event.target.matches?.("[name=labeler]")) localStorage.setItem(NAME, event.target.value);
});

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.closest?.("input, select, textarea, dialog, [contenteditable]")) return;
  const button = document.querySelector(`[data-key="${CSS.escape(event.key)}"]:not([disabled])`);
  if (!button) return;
  event.preventDefault();
  button.click();
});

new MutationObserver((changes) => {
  for (const change of changes) for (const node of change.addedNodes) if (node.nodeType === Node.ELEMENT_NODE) fill(node.parentElement ?? node);
}).observe(document.getElementById("main"), { childList: true, subtree: true });
fill(document);
