// A click on a bucket or an incident opens its calls; a drag along the time axis sets the window of the page.
import { words } from "./chart_parts.js";

const SHORTEST_DRAG = 6;
const SMALL_PART = 0.2;

const iso = (at) => new Date(at).toISOString().replace(".000Z", "Z");

function withWindow(address, from, to) {
  const url = new URL(address, location.href);
  url.searchParams.set("since", iso(from));
  url.searchParams.set("until", iso(to));
  return url;
}

export function selectable(chart, time, figure, incidents) {
  const inside = (x, y) => [0, 1].some((gridIndex) => chart.containPixel({ gridIndex }, [x, y]));
  const at = (x) => chart.convertFromPixel({ xAxisIndex: 1 }, x);
  const bucket = (value) => time.from + Math.floor((value - time.from) / time.step) * time.step;

  // The calls under the pointer, as an address; null where there are none.
  const target = (x, y) => {
    const incident = incidents().find(({ box: [left, right, top, bottom] }) => x >= left && x <= right && y >= top && y <= bottom);
    if (incident) {
      const url = withWindow(figure.dataset.calls, incident.from, Math.ceil((incident.to + 1) / 1000) * 1000);
      if (incident.tool) url.searchParams.set("tool", incident.tool);
      return url;
    }
    const start = inside(x, y) ? bucket(at(x)) : null;
    return time.starts.includes(start) ? withWindow(figure.dataset.calls, start, start + time.step) : null;
  };

  chart.getZr().on("mousemove", ({ offsetX, offsetY }) => { if (target(offsetX, offsetY)) chart.getZr().setCursorStyle("pointer"); });
  chart.getZr().on("click", ({ offsetX, offsetY, event }) => {
    const url = target(offsetX, offsetY);
    if (!url) return;
    if (event.ctrlKey || event.metaKey) open(url, "_blank", "noopener");
    else location.assign(url);
  });
  draggable(chart.getDom(), inside, (left, right) => {
    const [from, to] = [left, right].map((x) => Math.min(Math.max(at(x), time.from), time.to - 1));
    location.assign(withWindow(location.href, bucket(from), bucket(to) + time.step));
  });
}

// Calls that fill a small part of the window: a button sets the window to them.
export function offerZoom(figure, { step, starts, from, to }) {
  const last = starts.at(-1) + step;
  const note = figure.parentElement.querySelector(".drag");
  if (!note || note.querySelector("button") || (last - starts[0]) / (to - from) > SMALL_PART) return;
  const button = Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: words("zoom") });
  button.addEventListener("click", () => location.assign(withWindow(location.href, starts[0], last)));
  note.append(" ", button);
}

// A finger scrolls the page; the buttons above it set the window.
function draggable(holder, inside, onSelect) {
  const place = (event) => event.clientX - holder.getBoundingClientRect().left;
  let start = null, shade = null;
  holder.addEventListener("pointerdown", (event) => {
    const box = holder.getBoundingClientRect();
    if (event.pointerType === "touch" || event.button !== 0 || !inside(event.clientX - box.left, event.clientY - box.top)) return;
    start = place(event);
  });
  holder.addEventListener("pointermove", (event) => {
    if (event.buttons === 0 && !shade) start = null; // released elsewhere
    if (start === null || (!shade && Math.abs(place(event) - start) < SHORTEST_DRAG)) return;
    if (!shade) {
      shade = holder.appendChild(Object.assign(document.createElement("div"), { className: "selection" }));
      holder.setPointerCapture(event.pointerId);
    }
    shade.style.left = `${Math.min(start, place(event))}px`;
    shade.style.width = `${Math.abs(place(event) - start)}px`;
  });
  const end = (event) => {
    const from = start, selected = shade !== null && event.type === "pointerup";
    shade?.remove();
    start = shade = null;
    if (selected) onSelect(Math.min(from, place(event)), Math.max(from, place(event)));
  };
  holder.addEventListener("pointerup", end);
  holder.addEventListener("pointercancel", end);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && start !== null) end(event); });
}
