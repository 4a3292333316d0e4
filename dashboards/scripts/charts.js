// Charts from the rows of a panel. Text goes to the canvas or into text nodes: text from a trace is never parsed as HTML.
import { duration, full, number, tick, within } from "./numbers.js";

const live = new Set();

function palette() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  return { ink: colour("ink"), quiet: colour("quiet"), line: colour("line"), faint: colour("faint"), sheet: colour("sheet"), bar: colour("bar"), bad: colour("bad"), band: colour("band"), second: colour("second"), good: colour("good"), warn: colour("warn") };
}

function words(key) {
  return JSON.parse(document.getElementById("words").textContent)[`js.${key}`] ?? key;
}

function records(figure) {
  const { columns, rows } = JSON.parse(figure.querySelector("script").textContent);
  return rows.map((row) => Object.fromEntries(columns.map((name, index) => [name, row[index]])));
}

function tip(title, lines) {
  const box = document.createElement("div");
  box.className = "tip";
  const head = document.createElement("b");
  head.textContent = title;
  box.append(head, ...lines.filter(Boolean).map((line) => {
    const span = document.createElement("span");
    span.textContent = line;
    return span;
  }));
  return box;
}

function base(colours, more) {
  return {
    animation: false,
    textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: colours.ink },
    grid: { left: 52, right: 56, top: 34, bottom: 26 },
    tooltip: { trigger: "axis", backgroundColor: colours.sheet, borderColor: colours.line, textStyle: { color: colours.ink }, confine: true },
    legend: { type: "scroll", top: 0, left: 0, itemWidth: 14, itemHeight: 8, textStyle: { color: colours.quiet, fontSize: 12 }, pageIconColor: colours.ink, pageIconInactiveColor: colours.line, pageTextStyle: { color: colours.quiet } },
    ...more,
  };
}

function axis(colours, more) {
  return { axisLine: { lineStyle: { color: colours.line } }, axisTick: { show: false }, axisLabel: { color: colours.quiet, fontSize: 11, hideOverlap: true }, splitLine: { lineStyle: { color: colours.faint } }, nameTextStyle: { color: colours.quiet, fontSize: 11 }, ...more };
}

// Round to a grid line, so that the labels of the axis are evenly spaced.
function rounded(value, parts, how) {
  return Math.min(1, how(value * parts) / parts);
}

// A band: two stacked lines, of which the lower one is invisible.
function band(name, colour, lows, highs, axisIndex = 0, opacity = 0.16) {
  const common = { type: "line", stack: name, yAxisIndex: axisIndex, symbol: "none", silent: true, lineStyle: { opacity: 0 }, tooltip: { show: false }, stackStrategy: "all" };
  return [
    { ...common, name: `${name} `, data: lows },
    { ...common, name: `${name}  `, data: highs.map((point, i) => [point[0], point[1] === null ? null : point[1] - lows[i][1]]), areaStyle: { color: colour, opacity } },
  ];
}

function gaps(points, seconds) {
  const filled = [];
  for (const point of points) {
    const last = filled.at(-1);
    if (last && point.at - last.at > 1500 * seconds) filled.push({ at: last.at + 1000 * seconds, empty: true });
    filled.push(point);
  }
  return filled;
}

function timeline(rows, colours, figure) {
  const seconds = rows[0].seconds;
  const middle = (row) => Date.parse(row.started) + 500 * seconds;
  const versions = "tool_version" in rows[0] ? "tool_version" : "version" in rows[0] ? "version" : null;
  const groups = new Map();
  for (const row of rows) {
    const key = versions ? row[versions] ?? words("unversioned") : "";
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push({ ...row, at: middle(row) });
  }
  const tones = [colours.band, colours.second, colours.warn, colours.good, colours.quiet];
  const total = new Map();
  for (const row of rows) {
    const at = middle(row);
    const sum = total.get(at) ?? { attempts: 0, failures: 0 };
    sum.attempts += row.attempts;
    sum.failures += row.failures;
    total.set(at, sum);
  }
  const series = [
    { name: words("attempts"), type: "bar", data: [...total].map(([at, sum]) => [at, sum.attempts]), itemStyle: { color: colours.bar }, barMaxWidth: 18, barMinWidth: 2, barGap: "-100%" },
    { name: words("failures"), type: "bar", data: [...total].map(([at, sum]) => [at, sum.failures]), itemStyle: { color: colours.bad, opacity: 0.75 }, barMaxWidth: 18, barMinWidth: 2, z: 3 },
  ];
  [...groups].slice(-5).forEach(([key, found], index) => {
    const points = gaps(found, seconds);
    const name = key ? `${words("rate")} ${key}` : words("rate");
    series.push(...band(`${name}-band`, tones[index], points.map((p) => [p.at, p.empty ? null : p.low]), points.map((p) => [p.at, p.empty ? null : p.high]), 1));
    series.push({ name, type: "line", yAxisIndex: 1, data: points.map((p) => [p.at, p.empty ? null : p.rate]), symbolSize: 4, showSymbol: points.length < 40, lineStyle: { width: 1.8 }, itemStyle: { color: tones[index] }, z: 5 });
  });
  const described = new Map();
  for (const [key, found] of groups) for (const row of found) described.set(row.at, [...(described.get(row.at) ?? []), [key, row]]);
  const low = Math.min(...total.keys());
  const high = Math.max(...total.keys()) + 500 * seconds;
  return base(colours, {
    legend: { ...base(colours).legend, data: series.map((one) => one.name).filter((name) => !/ $/.test(name)) },
    xAxis: axis(colours, { type: "time", splitLine: { show: false }, min: low - 500 * seconds, max: high, axisLabel: { ...axis(colours).axisLabel, formatter: (value) => tick(value, high - low) } }),
    yAxis: [
      axis(colours, { type: "value", minInterval: 1, axisLabel: { ...axis(colours).axisLabel, formatter: (value) => number(value, "count") } }),
      axis(colours, { type: "value", min: 0, max: (range) => rounded(Math.max(0.1, range.max), range.max > 0.5 ? 5 : 10, Math.ceil), splitLine: { show: false }, axisLabel: { ...axis(colours).axisLabel, formatter: (value) => number(value, "share").replace(/[.,]0/, "") } }),
    ],
    tooltip: { ...base(colours).tooltip, formatter: (items) => {
      const at = items[0].axisValue;
      const lines = (described.get(at) ?? []).flatMap(([key, row]) => [
        `${key ? `${key}: ` : ""}${number(row.attempts, "count")} ${words("attempts")}, ${number(row.failures, "count")} ${words("failures")}`,
        row.rate === null ? null : `${number(row.rate, "share")} (${number(row.low, "share")} – ${number(row.high, "share")})`,
        row.p95 === null ? null : `p50 ${duration(row.p50)}, p95 ${duration(row.p95)}`,
      ]);
      return tip(`${full(new Date(at - 500 * seconds))} + ${duration(1000 * seconds)}`, lines);
    } },
    series,
    _marks: figure.dataset.marks,
  });
}

function durations(rows, colours) {
  return base(colours, {
    xAxis: axis(colours, { type: "category", data: rows.map((row) => duration(row.from_ms)), splitLine: { show: false } }),
    yAxis: axis(colours, { type: "value", minInterval: 1 }),
    tooltip: { ...base(colours).tooltip, formatter: (items) => {
      const row = rows[items[0].dataIndex];
      return tip(`${duration(row.from_ms)} – ${duration(row.to_ms)}`, [`${number(row.n, "count")} ${words("attempts")} (${number(row.share, "share")})`, `${number(row.failures, "count")} ${words("failures")}`]);
    } },
    series: [
      { name: words("worked"), type: "bar", stack: "n", data: rows.map((row) => row.n - row.failures), itemStyle: { color: colours.bar }, barCategoryGap: "12%" },
      { name: words("failures"), type: "bar", stack: "n", data: rows.map((row) => row.failures), itemStyle: { color: colours.bad, opacity: 0.75 } },
    ],
  });
}

function survival(rows, colours) {
  const ks = rows.map((row) => row.k);
  const share = axis(colours, { type: "value", max: 1, min: (range) => Math.max(0, rounded(range.min - 0.05, range.min < 0.55 ? 5 : 10, Math.floor)), axisLabel: { ...axis(colours).axisLabel, formatter: (value) => number(value, "share").replace(/[.,]0/, "") } });
  return base(colours, {
    grid: { left: 52, right: 16, top: 34, bottom: 40 },
    legend: { ...base(colours).legend, data: [words("km"), words("naive")] },
    xAxis: axis(colours, { type: "category", data: ks, name: words("within"), nameLocation: "middle", nameGap: 24, splitLine: { show: false } }),
    yAxis: share,
    tooltip: { ...base(colours).tooltip, formatter: (items) => {
      const row = rows[items[0].dataIndex];
      return tip(`k = ${row.k}`, [`${words("km")} ${row.km === null ? "–" : number(row.km, "share")} ${row.km_low === null ? "" : `(${number(row.km_low, "share")} – ${number(row.km_high, "share")})`}`, `${words("naive")} ${number(row.naive, "share")}`, `${number(row.at_risk, "count")} ${words("atrisk")}`]);
    } },
    series: [
      ...band("km-band", colours.band, rows.map((row) => [String(row.k), row.km_low]), rows.map((row) => [String(row.k), row.km_high])),
      { name: words("km"), type: "line", data: rows.map((row) => row.km), itemStyle: { color: colours.band }, symbolSize: 6 },
      { name: words("naive"), type: "line", data: rows.map((row) => row.naive), itemStyle: { color: colours.quiet }, lineStyle: { type: "dashed" }, symbolSize: 5 },
    ],
  });
}

function reliability(rows, colours) {
  const bins = rows.filter((row) => row.series === "bin");
  const steps = rows.filter((row) => row.series === "isotonic");
  const most = Math.max(1, ...bins.map((row) => row.n));
  const share = (more) => axis(colours, { type: "value", min: 0, max: 1, axisLabel: { ...axis(colours).axisLabel, formatter: (value) => number(value, "ratio") }, ...more });
  const whiskers = bins.map((row) => ({ name: "", type: "line", silent: true, symbol: "none", tooltip: { show: false }, data: [[row.confidence, row.low], [row.confidence, row.high]], lineStyle: { color: colours.band, width: 1.2, opacity: 0.7 } }));
  return base(colours, {
    grid: { left: 46, right: 16, top: 34, bottom: 42 },
    legend: { ...base(colours).legend, data: [words("bins"), words("isotonic"), words("consistent")] },
    xAxis: share({ name: words("confidence"), nameLocation: "middle", nameGap: 26 }),
    yAxis: share({ name: "" }),
    tooltip: { ...base(colours).tooltip, trigger: "item", formatter: (item) => {
      const row = item.data?.row;
      if (!row) return "";
      return tip(`${number(row.confidence_from, "ratio")} – ${number(row.confidence_to, "ratio")}`, [`${words("right")} ${number(row.accuracy, "share")}${row.low === null ? "" : ` (${number(row.low, "share")} – ${number(row.high, "share")})`}`, `${words("confidence")} ${number(row.confidence, "ratio")}`, `n = ${number(row.n, "count")}`]);
    } },
    series: [
      { name: "diagonal ", type: "line", silent: true, symbol: "none", data: [[0, 0], [1, 1]], lineStyle: { color: colours.quiet, type: "dashed", width: 1 } },
      ...band("consistent-band", colours.quiet, bins.map((row) => [row.confidence, row.band_low]), bins.map((row) => [row.confidence, row.band_high])),
      { name: words("consistent"), type: "line", data: [], itemStyle: { color: colours.quiet, opacity: 0.4 }, symbol: "rect" },
      { name: words("isotonic"), type: "line", symbol: "none", data: steps.flatMap((row) => [{ value: [row.confidence_from, row.accuracy], row }, { value: [row.confidence_to, row.accuracy], row }]), itemStyle: { color: colours.second }, lineStyle: { width: 1.5 } },
      ...whiskers,
      { name: words("bins"), type: "scatter", z: 6, itemStyle: { color: colours.band }, data: bins.map((row) => ({ value: [row.confidence, row.accuracy], row, symbolSize: 6 + 10 * Math.sqrt(row.n / most), itemStyle: { color: row.outside ? colours.bad : colours.band } })) },
    ],
  });
}

const KINDS = { timeline, durations, survival, reliability };

async function marks(chart, address, colours, end) {
  const result = await (await fetch(address)).json();
  if (!result.rows) return;
  const place = Object.fromEntries(result.columns.map((column, index) => [column.name, index]));
  const incidents = result.rows.filter((row) => !row[place.too_few] && row[place.failures] >= 5).sort((a, b) => b[place.failures] - a[place.failures]).slice(0, 12);
  if (!incidents.length || chart.isDisposed()) return;
  const areas = incidents.map((row) => [
    { xAxis: Date.parse(row[place.started]), name: row[place.tool] },
    { xAxis: row[place.ended] === null ? end : Date.parse(row[place.ended]) },
  ]);
  const lines = incidents.map((row) => ({ xAxis: Date.parse(row[place.started]), name: row[place.tool] }));
  chart.setOption({ series: [{ name: words("attempts"), markArea: { silent: true, itemStyle: { color: colours.bad, opacity: 0.14 }, label: { show: false }, data: areas }, markLine: { silent: true, symbol: ["none", "triangle"], symbolSize: 6, lineStyle: { color: colours.bad, width: 1, opacity: 0.6, type: "solid" }, label: { show: false }, data: lines } }] });
}

function paint(figure) {
  const kind = KINDS[figure.dataset.chart];
  if (!kind) return;
  if (typeof echarts === "undefined") {
    document.getElementById("drawing")?.addEventListener("load", () => { if (figure.isConnected) paint(figure); }, { once: true });
    return;
  }
  const colours = palette();
  const rows = records(figure);
  if (!rows.length) return;
  const option = kind(rows, colours, figure);
  const address = option._marks;
  delete option._marks;
  const holder = figure.querySelector(".canvas") ?? figure.appendChild(Object.assign(document.createElement("div"), { className: "canvas chart" }));
  echarts.getInstanceByDom(holder)?.dispose();
  const chart = echarts.init(holder, null, { renderer: "canvas" });
  chart.setOption(option);
  if (address?.startsWith(`${document.documentElement.dataset.prefix ?? ""}/data/`)) marks(chart, address, colours, option.xAxis.max);
  live.add(figure);
  sizes.observe(figure);
}

const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) if (target.isConnected) echarts.getInstanceByDom(target.querySelector(".canvas"))?.resize();
});

export function draw(part) {
  for (const figure of within(part, "figure[data-chart]:not([data-done])")) {
    figure.dataset.done = "";
    paint(figure);
  }
}

export function redraw() {
  for (const figure of live) {
    if (figure.isConnected) paint(figure);
    else live.delete(figure);
  }
}
