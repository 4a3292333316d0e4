// Marks on a time axis: time without calls, and the labels of incidents.
import { duration } from "./numbers.js";
import { visible, words } from "./chart_parts.js";

const LANES = 4;
const LONGEST_NAME = 28;

// The stretches of whole buckets up to now in which no attempt started.
export function silences({ step, starts, from, to, now }) {
  const found = [];
  let after = from;
  for (const start of [...starts, Math.min(to, now)]) {
    if (start - after >= step) found.push([after, start]);
    after = Math.max(after, start + step);
  }
  return found;
}

// A pattern of thin diagonal lines.
export function hatching(colour) {
  const size = 8 * devicePixelRatio;
  const image = Object.assign(document.createElement("canvas"), { width: size, height: size });
  const pen = image.getContext("2d");
  pen.strokeStyle = colour;
  pen.lineWidth = devicePixelRatio;
  for (const shift of [-size, 0, size]) {
    pen.moveTo(shift, size);
    pen.lineTo(shift + size, 0);
  }
  pen.stroke();
  return { image, repeat: "repeat", scaleX: 1 / devicePixelRatio, scaleY: 1 / devicePixelRatio };
}

// Give each incident a lane in which its label covers no other. What finds no room keeps its shade, without a label.
export function place(incidents, time, { left, right, top, lane: height }) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  const scale = (right - left) / (time.to - time.from);
  const lanes = Array.from({ length: LANES }, () => []);
  const placed = [];
  for (const incident of incidents) {
    const from = Math.max(incident.from, time.from), end = Math.min(incident.to, time.to);
    if (end < from) continue;
    const to = Math.max(end, from + 3 / scale);
    const text = `${shortened(incident.tool)} ${duration(incident.lasted)}${incident.open ? words("open") : ""}`.trim();
    const at = left + (from - time.from) * scale, width = pen.measureText(text).width + 10;
    const labelLeft = Math.max(left, Math.min(at, right - width));
    const box = [Math.min(at, labelLeft), Math.max(left + (to - time.from) * scale, labelLeft + width)];
    const lane = lanes.findIndex((taken) => taken.every(([start, stop]) => box[1] <= start || box[0] >= stop));
    if (lane < 0) continue;
    lanes[lane].push(box);
    placed.push({ tool: incident.tool, text, lane, left: at, labelLeft, from, to, box: [...box, top + lane * height, top + (lane + 1) * height] });
  }
  return placed;
}

function shortened(name) {
  const letters = [...visible(name)];
  return letters.length > LONGEST_NAME ? `${letters.slice(0, LONGEST_NAME - 1).join("")}…` : letters.join("");
}
