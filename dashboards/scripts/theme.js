// Before the first paint: the theme that the reader chose, or none, which leaves it to the system.
(() => {
  const kept = localStorage.getItem("tooltrace-theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
})();
