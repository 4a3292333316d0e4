// The SQL editor. Ctrl-Enter runs the statement; the result arrives as JSON and is inserted as text, never as HTML.
import { locale, number, tick } from "./numbers.js";
import { sortable } from "./sort.js";

const words = JSON.parse(document.getElementById("words").textContent);
const byId = (id) => document.getElementById(id);
const editor = byId("q"), form = byId("sql-form"), status = byId("status"), error = byId("error"), box = byId("result"), figure = byId("figure"), kind = byId("chart");
const NUMERIC = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*)$/;
const TIMES = /^(DATE|TIMESTAMP)/;
const SHOWN = 1000;
const DRAFT = "tooltrace-sql";
const MAX_ADDRESS = 6000;
const LINKS = { call_id: ["call", "id"], example_call_id: ["call", "id"], span_id: ["call", "id"], last_span_id: ["call", "id"], tool: ["tool", "name"] };
let request = null, result = null, chart = null, rich = null;

const translate = (key, values = {}) => (words[`js.sql.${key}`] ?? key).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");

const saveDraft = () => sessionStorage.setItem(DRAFT, editor.value);

function setText(text) {
  editor.value = text;
  saveDraft();
  rich?.read();
}

// The statement that ran is in the address: a link, a reload and the way back show it. A very long one stays in this tab.
function remember() {
  const address = new URL(location.href), text = editor.value;
  if (address.searchParams.get("q") === text || (address.searchParams.has("saved") && text === loaded)) return;
  for (const name of ["q", "query", "saved", ...(address.searchParams.has("q") ? ["sort.answer"] : [])]) address.searchParams.delete(name);
  if (encodeURIComponent(text).length <= MAX_ADDRESS) address.searchParams.set("q", text);
  if (address.href !== location.href) history.pushState({ sql: text }, "", address);
}
addEventListener("popstate", (event) => {
  const text = event.state?.sql ?? new URLSearchParams(location.search).get("q") ?? loaded;
  if (text === editor.value) return;
  setText(text);
  run();
});

function begin() {
  request = new AbortController();
  byId("stop").hidden = false;
  error.hidden = true;
  status.textContent = translate("running");
}

function send(address, more) {
  return fetch(address, { method: "POST", body: new URLSearchParams({ q: editor.value, ...more }), signal: request.signal });
}

async function save(kind) {
  if (request || !editor.value.trim()) return;
  begin();
  try {
    const response = await send(form.action, { form: kind });
    if (!response.ok) { fail(await response.text()); return; }
    const address = URL.createObjectURL(await response.blob());
    Object.assign(document.createElement("a"), { href: address, download: `answer.${kind}` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    status.textContent = translate("saved", { name: `answer.${kind}` }) + (response.headers.has("tooltrace-full") ? ` ${translate("full")}` : "");
  } catch (reason) {
    if (reason.name === "AbortError") status.textContent = translate("stopped"); else fail(String(reason));
  } finally {
    request = null;
    byId("stop").hidden = true;
  }
}

async function run() {
  if (request || !editor.value.trim()) return;
  begin();
  remember();
  try {
    const response = await send(form.dataset.run, {});
    const body = await response.json().catch(() => ({ error: `${response.status} ${response.statusText}` }));
    if (body.error) fail(body.error); else show(body);
  } catch (reason) {
    if (reason.name === "AbortError") status.textContent = translate("stopped"); else fail(String(reason));
  } finally {
    request = null;
    byId("stop").hidden = true;
  }
}

function fail(text) {
  status.textContent = "";
  box.hidden = true;
  error.textContent = text;
  error.hidden = false;
}

function show(body) {
  result = body;
  const rows = body.rows.slice(0, SHOWN);
  const numeric = body.columns.map(([, type]) => NUMERIC.test(type));
  box.querySelector("thead").replaceChildren(line("th", body.columns.map(([name]) => name), numeric, body.columns.map(([, type]) => type)));
  delete box.querySelector("table").dataset.sortable;
  const cells = box.querySelector("tbody");
  cells.replaceChildren(...rows.map((row) => line("td", row.map(asText), numeric, row.map((value, at) => numeric[at] && !Number.isInteger(value) ? value : null), row.map((value, at) => link(body.columns[at][0], value)))));
  // what the headers sort by
  rows.forEach((row, y) => row.forEach((value, x) => { if (numeric[x] && value !== null) cells.rows[y].cells[x].dataset.v = value; }));
  box.hidden = false;
  sortable(box);
  status.textContent = [
    translate("rows", { n: number(body.rows.length, "count"), ms: number(Math.round(body.ms), "count") }),
    body.cut ? translate(`cut.${body.cut}`) : "",
    rows.length < body.rows.length ? translate("shown", { n: number(SHOWN, "count") }) : "",
  ].filter(Boolean).join(" ");
  draw();
}

// Ids of calls and names of tools are links, by the names of their columns.
function link(column, value) {
  if (typeof value !== "string" || !value || !Object.hasOwn(LINKS, column)) return null;
  const [page, name] = LINKS[column], address = new URL(box.dataset[`${page}Page`], location.href);
  address.searchParams.set(name, value);
  return address.pathname + address.search;
}

function line(tag, texts, numeric, titles, links) {
  const tr = document.createElement("tr");
  texts.forEach((text, index) => {
    const cell = document.createElement(tag);
    if (links?.[index]) cell.append(Object.assign(document.createElement("a"), { href: links[index], textContent: text }));
    else cell.textContent = text;
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

function asText(value) {
  if (value === null) return "–";
  if (typeof value === "number" && !Number.isInteger(value)) return readable(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function times(axis, found) {
  const moments = result.rows.slice(0, SHOWN).map((row) => Date.parse(row[found])).filter(Number.isFinite);
  const span = Math.max(...moments) - Math.min(...moments);
  return { ...axis, type: "time", axisLabel: { ...axis.axisLabel, formatter: (value) => tick(value, span) } };
}

// The horizontal axis is the first time column, else the first column that is not a number. Each number column is a series.
function draw() {
  chart?.dispose();
  chart = null;
  figure.hidden = !kind.value || !result?.rows.length || typeof echarts === "undefined";
  if (figure.hidden) return;
  const types = result.columns.map(([, type]) => type);
  const found = [types.findIndex((type) => TIMES.test(type)), types.findIndex((type) => !NUMERIC.test(type)), 0].find((at) => at >= 0);
  const series = types.map((type, at) => at).filter((at) => at !== found && NUMERIC.test(types[at]));
  const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const tones = ["band", "second", "warn", "good", "bad", "quiet"].map(colour);
  const axis = { axisLine: { lineStyle: { color: colour("line") } }, axisLabel: { color: colour("quiet"), hideOverlap: true }, splitLine: { lineStyle: { color: colour("faint") } } };
  chart = echarts.init(figure);
  chart.setOption({
    animation: false, color: tones, grid: { left: 60, right: 20, top: 34, bottom: 30 },
    legend: { type: "scroll", top: 0, left: 0, textStyle: { color: colour("quiet") }, pageIconColor: colour("ink"), pageIconInactiveColor: colour("line"), pageTextStyle: { color: colour("quiet") } }, tooltip: { trigger: "axis", renderMode: "richText", confine: true },
    xAxis: TIMES.test(types[found]) ? times(axis, found) : { type: "category", ...axis }, yAxis: { type: "value", ...axis },
    series: series.map((at) => ({ name: result.columns[at][0], type: kind.value, showSymbol: result.rows.length < 60, data: result.rows.slice(0, SHOWN).map((row) => [asText(row[found]), row[at]]) })),
  });
}

byId("run").addEventListener("click", run);
byId("stop").addEventListener("click", () => request?.abort());
kind.addEventListener("change", draw);
byId("drawing").addEventListener("load", draw);
new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
form.addEventListener("submit", (event) => { event.preventDefault(); save(event.submitter.value); });
editor.addEventListener("input", saveDraft);
addEventListener("resize", () => chart?.resize());
editor.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(); }
});
document.querySelector(".catalogue").addEventListener("click", async (event) => {
  const button = event.target.closest("[data-text]");
  if (!button) return;
  const response = await fetch(button.dataset.text);
  if (!response.ok) { fail(`${response.status} ${response.statusText}`); return; }
  setText(await response.text());
  editor.scrollTop = 0;
  (rich ?? editor).focus();
  run();
});
document.querySelector(".catalogue").addEventListener("click", (event) => {
  const button = event.target.closest("[data-insert]");
  if (!button) return;
  if (rich) rich.insert(button.dataset.insert);
  else { editor.setRangeText(button.dataset.insert, editor.selectionStart, editor.selectionEnd, "end"); saveDraft(); editor.focus(); }
});
const loaded = editor.value;
import("./editor.js").then(({ mount }) => { rich = mount(editor, byId("editor"), run); }, () => {});
if (editor.value.trim()) run(); else editor.value = sessionStorage.getItem(DRAFT) || "SELECT tool, count(*) AS attempts, count(*) FILTER (WHERE status = 'error') AS failures\nFROM tool_calls\nGROUP BY tool\nORDER BY failures DESC\n";
