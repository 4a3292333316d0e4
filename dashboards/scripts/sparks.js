// A sparkline for each tool of a table or a list of findings: bars of attempts, with what failed or was cut off in red.
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
  for (const table of within(part, "[data-sparks]:not([data-done])")) {
    table.dataset.done = "";
    const result = await (await fetch(table.dataset.sparks)).json();
    if (!result.rows?.length) continue;
    const column = Object.fromEntries(result.columns.map(({ name }, index) => [name, index]));
    const at = (row) => Date.parse(row[column.started]) / 1000;
    const seconds = result.rows[0][column.seconds];
    // the whole window, in whole intervals
    const first = result.since ? Math.floor(Date.parse(result.since) / 1000 / seconds) * seconds : Math.min(...result.rows.map(at));
    const end = result.until ? Math.ceil(Date.parse(result.until) / 1000 / seconds) * seconds : Math.max(...result.rows.map(at)) + seconds;
    const step = WIDTH / Math.max((end - first) / seconds, 12);
    for (const cell of table.querySelectorAll(".spark")) {
      const rows = result.rows.filter((row) => row[column.tool] === cell.dataset.tool);
      const most = Math.max(1, ...rows.map((row) => row[column.attempts] + row[column.cut_off]));
      const picture = svg("svg", { width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label(rows, column) });
      for (const row of rows) {
        const x = ((at(row) - first) / seconds) * step;
        for (const [name, value] of [["all", row[column.attempts] + row[column.cut_off]], ["bad", row[column.failures] + row[column.cut_off]]]) {
          if (!value) continue;
          const height = Math.max(1.5, (value / most) * HEIGHT);
          picture.append(svg("rect", { class: name, x: x.toFixed(1), y: (HEIGHT - height).toFixed(1), width: Math.max(1, step - 0.6).toFixed(1), height: height.toFixed(1) }));
        }
      }
      cell.replaceChildren(picture);
    }
  }
}

function label(rows, column) {
  const words = JSON.parse(document.getElementById("words").textContent);
  const sum = (name) => rows.reduce((total, row) => total + row[column[name]], 0);
  return words["js.spark"].replace("{attempts}", sum("attempts")).replace("{failures}", sum("failures")).replace("{cut_off}", sum("cut_off"));
}
