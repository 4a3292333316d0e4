// Charts from the rows of a panel.
import { duration, number, within } from "./numbers.js";
import { axis, band, base, palette, records, rounded, tip, words } from "./chart_parts.js";
import { drawTimeline, relayout } from "./timeline.js";

const live = new Set();

const MOST_BINS = 80;

// With the bins that have no attempt, which the query leaves out: without them 1 ms would stand beside 80 ms.
function everyBin(rows) {
  const filled = [];
  for (const row of rows) {
    for (let last = filled.at(-1); last?.from_ms > 0 && row.from_ms > 1.01 * last.to_ms && filled.length < MOST_BINS; last = filled.at(-1)) {
      filled.push({ from_ms: last.to_ms, to_ms: (last.to_ms * last.to_ms) / last.from_ms, n: 0, failures: 0, share: 0 });
    }
    filled.push(row);
  }
  return filled;
}

function durations(found, colours) {
  const rows = everyBin(found);
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

// A chart from one result; the timeline loads its incidents afterwards.
const drawn = (option) => (chart, rows, colours) => chart.setOption(option(rows, colours));
const KINDS = { timeline: drawTimeline, durations: drawn(durations), survival: drawn(survival), reliability: drawn(reliability) };

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
  const holder = figure.querySelector(".canvas") ?? figure.appendChild(Object.assign(document.createElement("div"), { className: "canvas chart" }));
  echarts.getInstanceByDom(holder)?.dispose();
  const chart = echarts.init(holder, null, { renderer: "canvas" });
  kind(chart, rows, colours, figure);
  live.add(figure);
  sizes.observe(figure);
}

const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const chart = target.isConnected && echarts.getInstanceByDom(target.querySelector(".canvas"));
    if (!chart) continue;
    chart.resize();
    relayout(chart);
  }
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
