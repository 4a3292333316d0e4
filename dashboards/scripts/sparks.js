// A sparkline in each row of the table of tools: attempts as bars, failures in them.
import { within } from "./numbers.js";

const NS = "http://www.w3.org/2000/svg";
const WIDTH = 160;
const HEIGHT = 24;

function svg(name, attributes) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

export async function sparks(part) {
  for (const table of within(part, "table[data-sparks]:not([data-done])")) {
    table.dataset.done = "";
    const answer = await (await fetch(table.dataset.sparks)).json();
    if (!answer.rows?.length) continue;
    const place = Object.fromEntries(answer.columns.map((column, index) => [column.name, index]));
    const at = (row) => Date.parse(row[place.started]) / 1000;
    const seconds = answer.rows[0][place.seconds];
    const first = Math.min(...answer.rows.map(at));
    const steps = (Math.max(...answer.rows.map(at)) - first) / seconds + 1;
    const step = WIDTH / Math.max(steps, 12);
    for (const cell of table.querySelectorAll("td.spark")) {
      const rows = answer.rows.filter((row) => row[place.tool] === cell.dataset.tool);
      const most = Math.max(1, ...rows.map((row) => row[place.attempts]));
      const picture = svg("svg", { width: WIDTH, height: HEIGHT, role: "img", "aria-label": label(rows, place) });
      for (const row of rows) {
        const x = ((at(row) - first) / seconds) * step;
        for (const [name, value] of [["all", row[place.attempts]], ["bad", row[place.failures]]]) {
          if (!value) continue;
          const height = Math.max(1.5, (value / most) * HEIGHT);
          picture.append(svg("rect", { class: name, x: x.toFixed(1), y: (HEIGHT - height).toFixed(1), width: Math.max(1, step - 0.6).toFixed(1), height: height.toFixed(1) }));
        }
      }
      cell.replaceChildren(picture);
    }
  }
}

function label(rows, place) {
  const words = JSON.parse(document.getElementById("words").textContent);
  const sum = (name) => rows.reduce((total, row) => total + row[place[name]], 0);
  return words["js.spark"].replace("{attempts}", sum("attempts")).replace("{failures}", sum("failures"));
}
