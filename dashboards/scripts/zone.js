// The time zone of all times on a page, in tables and charts: the reader's own, or UTC. The choice is stored.
const KEY = "tooltrace-zone";
const state = { chosen: stored(), fixed: null };

function stored() {
  try { return localStorage.getItem(KEY) === "utc" ? "utc" : "local"; } catch { return "local"; } // a sandboxed document has no storage
}

export function isUtc() { return (state.fixed ?? state.chosen) === "utc"; }

// "utc" for paper, whatever the reader chose; null for the choice again.
export function fixZone(zone) { state.fixed = zone; }

export function isFixed() { return state.fixed !== null; }

export function switchZone() {
  state.chosen = isUtc() ? "local" : "utc";
  try { localStorage.setItem(KEY, state.chosen); } catch { /* holds for this page only */ }
}

// "UTC", or the difference of the reader's clock to it: "UTC+2", "UTC+5:30".
export function zoneName(date = new Date()) {
  const minutes = isUtc() ? 0 : -date.getTimezoneOffset();
  const size = Math.abs(minutes), rest = size % 60;
  return isUtc() ? "UTC" : `UTC${minutes < 0 ? "−" : "+"}${Math.floor(size / 60)}${rest ? `:${String(rest).padStart(2, "0")}` : ""}`;
}

// The button shows the zone; its label says what a press does.
export function zoneButton(button, onSwitch) {
  const words = JSON.parse(document.getElementById("words").textContent);
  const show = () => {
    button.textContent = zoneName();
    button.title = words[isUtc() ? "js.zone.local" : "js.zone.utc"];
    button.setAttribute("aria-label", `${zoneName()}: ${button.title}`);
  };
  button.hidden = false;
  button.addEventListener("click", () => { switchZone(); show(); onSwitch(); });
  show();
}
