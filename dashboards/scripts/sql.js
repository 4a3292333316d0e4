// The editor: Ctrl-Enter asks, the answer comes as JSON and is written as text, never as HTML.
import { locale, number, tick } from "./numbers.js";

const words = JSON.parse(document.getElementById("words").textContent);
const byId = (id) => document.getElementById(id);
const editor = byId("q"), form = byId("ask"), said = byId("said"), wrong = byId("wrong"), box = byId("answer"), figure = byId("figure"), kind = byId("chart");
const NUMERIC = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*)$/;
const TIMES = /^(DATE|TIMESTAMP)/;
const SHOWN = 1000;
const KEPT = "tooltrace-sql";
let asking = null, answer = null, drawn = null;

const say = (key, values = {}) => (words[`js.sql.${key}`] ?? key).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");

const keep = () => sessionStorage.setItem(KEPT, editor.value);

function begin() {
  asking = new AbortController();
  byId("stop").hidden = false;
  wrong.hidden = true;
  said.textContent = say("asking");
}

function send(address, more) {
  return fetch(address, { method: "POST", body: new URLSearchParams({ q: editor.value, ...more }), signal: asking.signal });
}

async function save(kind) {
  if (asking || !editor.value.trim()) return;
  begin();
  try {
    const response = await send(form.action, { form: kind });
    if (!response.ok) { fail(await response.text()); return; }
    const address = URL.createObjectURL(await response.blob());
    Object.assign(document.createElement("a"), { href: address, download: `answer.${kind}` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    said.textContent = say("saved", { name: `answer.${kind}` }) + (response.headers.has("tooltrace-full") ? ` ${say("full")}` : "");
  } catch (error) {
    if (error.name === "AbortError") said.textContent = say("stopped"); else fail(String(error));
  } finally {
    asking = null;
    byId("stop").hidden = true;
  }
}

async function ask() {
  if (asking || !editor.value.trim()) return;
  begin();
  try {
    const response = await send(form.dataset.ask, {});
    const body = await response.json().catch(() => ({ error: `${response.status} ${response.statusText}` }));
    if (body.error) fail(body.error); else show(body);
  } catch (error) {
    if (error.name === "AbortError") said.textContent = say("stopped"); else fail(String(error));
  } finally {
    asking = null;
    byId("stop").hidden = true;
  }
}

function fail(text) {
  said.textContent = "";
  box.hidden = true;
  wrong.textContent = text;
  wrong.hidden = false;
}

function show(body) {
  answer = body;
  const rows = body.rows.slice(0, SHOWN);
  const numeric = body.columns.map(([, type]) => NUMERIC.test(type));
  box.querySelector("thead").replaceChildren(line("th", body.columns.map(([name]) => name), numeric, body.columns.map(([, type]) => type)));
  box.querySelector("tbody").replaceChildren(...rows.map((row) => line("td", row.map(written), numeric, row.map((value, at) => numeric[at] && !Number.isInteger(value) ? value : null))));
  box.hidden = false;
  said.textContent = [
    say("rows", { n: number(body.rows.length, "count"), ms: number(Math.round(body.ms), "count") }),
    body.cut ? say(`cut.${body.cut}`) : "",
    rows.length < body.rows.length ? say("shown", { n: number(SHOWN, "count") }) : "",
  ].filter(Boolean).join(" ");
  draw();
}

function line(tag, texts, numeric, titles) {
  const tr = document.createElement("tr");
  texts.forEach((text, index) => {
    const cell = document.createElement(tag);
    cell.textContent = text;
    if (tag === "th") cell.scope = "col";
    if (numeric[index]) cell.className = "num";
    if (titles?.[index]) cell.title = titles[index];
    tr.append(cell);
  });
  return tr;
}

const short = new Intl.NumberFormat(locale, { maximumSignificantDigits: 6, useGrouping: false });
const large = new Intl.NumberFormat(locale, { maximumFractionDigits: 2, useGrouping: false });

function readable(value) {
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e15) return value.toPrecision(6);
  return (size < 1e4 ? short : large).format(value);
}

function written(value) {
  if (value === null) return "–";
  if (typeof value === "number" && !Number.isInteger(value)) return readable(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function times(axis, found) {
  const moments = answer.rows.slice(0, SHOWN).map((row) => Date.parse(row[found])).filter(Number.isFinite);
  const span = Math.max(...moments) - Math.min(...moments);
  return { ...axis, type: "time", axisLabel: { ...axis.axisLabel, formatter: (value) => tick(value, span) } };
}

// The first column that is no number (a time before a text) is across; every number is a series.
function draw() {
  drawn?.dispose();
  drawn = null;
  figure.hidden = !kind.value || !answer?.rows.length || typeof echarts === "undefined";
  if (figure.hidden) return;
  const types = answer.columns.map(([, type]) => type);
  const found = [types.findIndex((type) => TIMES.test(type)), types.findIndex((type) => !NUMERIC.test(type)), 0].find((at) => at >= 0);
  const series = types.map((type, at) => at).filter((at) => at !== found && NUMERIC.test(types[at]));
  const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const tones = ["band", "second", "warn", "good", "bad", "quiet"].map(colour);
  const axis = { axisLine: { lineStyle: { color: colour("line") } }, axisLabel: { color: colour("quiet"), hideOverlap: true }, splitLine: { lineStyle: { color: colour("faint") } } };
  drawn = echarts.init(figure);
  drawn.setOption({
    animation: false, color: tones, grid: { left: 60, right: 20, top: 34, bottom: 30 },
    legend: { type: "scroll", top: 0, left: 0, textStyle: { color: colour("quiet") }, pageIconColor: colour("ink"), pageIconInactiveColor: colour("line"), pageTextStyle: { color: colour("quiet") } }, tooltip: { trigger: "axis", renderMode: "richText", confine: true },
    xAxis: TIMES.test(types[found]) ? times(axis, found) : { type: "category", ...axis }, yAxis: { type: "value", ...axis },
    series: series.map((at) => ({ name: answer.columns[at][0], type: kind.value, showSymbol: answer.rows.length < 60, data: answer.rows.slice(0, SHOWN).map((row) => [written(row[found]), row[at]]) })),
  });
}

byId("run").addEventListener("click", ask);
byId("stop").addEventListener("click", () => asking?.abort());
kind.addEventListener("change", draw);
new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
form.addEventListener("submit", (event) => { event.preventDefault(); save(event.submitter.value); });
editor.addEventListener("input", keep);
addEventListener("resize", () => drawn?.resize());
editor.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); ask(); }
});
document.querySelector(".book").addEventListener("click", async (event) => {
  const button = event.target.closest("[data-text]");
  if (!button) return;
  const response = await fetch(button.dataset.text);
  if (!response.ok) { fail(`${response.status} ${response.statusText}`); return; }
  editor.value = await response.text();
  keep();
  editor.scrollTop = 0;
  editor.focus();
  ask();
});
if (editor.value.trim()) ask(); else editor.value = sessionStorage.getItem(KEPT) || "SELECT tool, count(*) AS attempts, count(*) FILTER (WHERE status = 'error') AS failures\nFROM tool_calls\nGROUP BY tool\nORDER BY failures DESC\n";
