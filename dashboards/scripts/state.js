// The place in the page, kept in the entry of the browser's history: back and forward show the same rows at the same height.
// A classic script before htmx: the first request of a list must already ask for the rows that were shown.
(() => {
  const navigation = performance.getEntriesByType("navigation")[0];
  const saved = navigation?.type === "back_forward" || navigation?.type === "reload" ? history.state?.tooltrace : null;
  let height = saved?.y ?? 0;
  const write = (more) => history.replaceState({ ...history.state, tooltrace: { ...history.state?.tooltrace, ...more } }, "");

  if ("scrollRestoration" in history && height) history.scrollRestoration = "manual";
  if (navigation?.type === "back_forward" && saved?.list) {
    document.addEventListener("htmx:config:request", (event) => {
      const context = event.detail?.ctx;
      if (context?.sourceElement?.id !== "newest" || !saved.list) return;
      const address = new URL(context.request.action, document.baseURI);
      for (const [name, value] of Object.entries(saved.list)) address.searchParams.set(name, value);
      context.request.action = address.pathname + address.search;
      saved.list = null;
    });
  }

  // Panels arrive one by one and the page grows: scroll again until the reader acts, or nothing has arrived for ten seconds.
  let last = 0;
  const stop = () => { height = 0; observer.disconnect(); };
  const restore = () => {
    clearTimeout(last);
    if (!document.querySelector("#newest .wait")) last = setTimeout(stop, 10_000);
    if (height && scrollY !== height) scrollTo(0, height);
  };
  const observer = new MutationObserver(restore);
  if (height) {
    addEventListener("DOMContentLoaded", () => { observer.observe(document.body, { childList: true, subtree: true }); restore(); });
    for (const name of ["wheel", "keydown", "pointerdown", "touchstart"]) addEventListener(name, stop, { once: true, passive: true });
  }

  // The rows of the list: its first and last one, and their number.
  const rows = () => {
    const all = document.querySelectorAll("#newest tr[data-span], #older tr[data-span]");
    if (!all.length) return null;
    const last = all[all.length - 1];
    return { up_to: all[0].dataset.at, down_to: last.dataset.at, down_to_span: last.dataset.span, rows: String(all.length) };
  };
  let timer = 0;
  const save = () => {
    clearTimeout(timer);
    timer = setTimeout(() => { if (!height) write({ y: Math.round(scrollY), list: rows() }); }, 100);
  };
  addEventListener("scroll", save, { passive: true });
  document.addEventListener("htmx:after:swap", save);
  const now = () => { if (!height || scrollY === height) write({ y: Math.round(scrollY), list: rows() }); };
  addEventListener("click", now, true);
  addEventListener("pagehide", now);
})();
