// Runs before the first paint: apply the theme that the reader chose; without a choice the system decides.
(() => {
  const stored = localStorage.getItem("tooltrace-theme");
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
})();
