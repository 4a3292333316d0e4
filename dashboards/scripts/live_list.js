// A list that grows while it is open: its rows are refreshed only while nobody reads it.
const pause = document.getElementById("pause");

// table: the list; bar: the element around #arrivals, which the server replaces; isNews: whether #arrivals announces something;
// isBusy: whether more than the pointer, the focus, the pause or the scroll position says that the list is read
export function liveList({ table, bar, isNews, isBusy, refresh }) {
  const live = !pause.hidden;

  // :hover instead of pointer events: the pointer may be over the list before this script is loaded
  function isRead() {
    return pause.getAttribute("aria-pressed") === "true" || table.querySelector("tbody:hover") !== null
      || table.contains(document.activeElement) || table.getBoundingClientRect().top < 0 || isBusy();
  }

  function arrive() {
    if (live && isNews(document.getElementById("arrivals")) && !isRead()) refresh();
  }

  new MutationObserver(arrive).observe(bar, { childList: true });
  setInterval(arrive, 1000);
  bar.addEventListener("click", (event) => {
    if (!event.target.closest("[data-refresh]")) return;
    refresh();
    scrollTo({ top: 0 });
  });
  pause.addEventListener("click", () => pause.setAttribute("aria-pressed", String(pause.getAttribute("aria-pressed") !== "true")));
}
