// The list of conversations: rows are refreshed while nobody reads them, because a conversation goes on after it is listed.
import { liveList } from "./live_list.js";

const table = document.querySelector("table.conversations"), listed = document.getElementById("listed");
const MOST_OF_THE_TIME = 10, AT_MOST = 60_000;  // a refresh may take a tenth of the time; one that fails is tried after a minute
let asked = null, next = 0;
const addresses = () => [...listed.querySelectorAll("tr th a")].map((link) => link.getAttribute("href"));
let known = [];

liveList({
  table,
  bar: document.querySelector(".live-bar"),
  isNews: (arrivals) => arrivals.dataset.changed !== undefined && Date.now() >= next,
  isBusy: () => listed.querySelectorAll("tr").length > Number(listed.dataset.page),
  refresh() {
    asked = Date.now();
    next = asked + AT_MOST;
    known = addresses();
    listed.dispatchEvent(new Event("refresh"));
  },
});

new MutationObserver(() => {
  if (asked === null) return;
  next = Date.now() + MOST_OF_THE_TIME * (Date.now() - asked);
  asked = null;
  const before = new Set(known);
  for (const link of listed.querySelectorAll("tr th a")) {
    if (before.size && !before.has(link.getAttribute("href"))) link.closest("tr").classList.add("fresh");
  }
}).observe(listed, { childList: true });
