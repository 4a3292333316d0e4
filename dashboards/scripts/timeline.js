// The chart of attempts over time: the whole window on one axis, counts above, failure rates below, incidents on top.
import { duration, full, number, tick } from "./numbers.js";
import { isUtc, zoneName } from "./zone.js";
import { axis, band, base, rounded, tip, visible, words } from "./chart_parts.js";
import { hatching, place, silences } from "./time_marks.js";
import { offerZoom, selectable } from "./time_selection.js";

const LEFT = 52, RIGHT = 18, LEGEND = 30, BOTTOM = 24, GAP = 17, LANE = 19;
const MOST_BUCKETS = 500;

const layouts = new WeakMap();

// Draw again at the chart's present size: labels are placed in pixels.
export function relayout(chart) { layouts.get(chart)?.(); }

export function drawTimeline(chart, rows, colours, figure) {
  const time = timeWindow(rows, figure);
  let incidents = [], placed = [];
  const show = () => {
    placed = place(incidents, time, { left: LEFT, right: chart.getWidth() - RIGHT, top: LEGEND, lane: LANE });
    chart.setOption(timeline(rows, colours, time, placed, incidents, chart.getHeight()), true);
  };
  layouts.set(chart, show);
  show();
  incidentsOf(figure).then((found) => {
    incidents = found;
    if (found.length && !chart.isDisposed()) show();
  });
  if (!figure.dataset.calls) return;
  selectable(chart, time, figure, () => placed);
  offerZoom(figure, time);
}

// The window in whole buckets, and those that have attempts.
function timeWindow(rows, figure) {
  const step = 1000 * rows[0].seconds;
  const starts = [...new Set(rows.map((row) => Date.parse(row.started)))].sort((a, b) => a - b);
  const ends = ["since", "until", "now"].map((name) => Date.parse(figure.dataset[name] ?? ""));
  const [since, until, now] = ends.map((end, index) => (Number.isNaN(end) ? [starts[0], starts.at(-1) + step, Infinity][index] : end));
  const from = Math.min(Math.floor(since / step) * step, starts[0]);
  const to = Math.max(Math.ceil(until / step) * step, starts.at(-1) + step);
  const buckets = (to - from) / step <= MOST_BUCKETS ? Array.from({ length: Math.round((to - from) / step) }, (_, index) => from + index * step) : starts;
  // the attempts of the interval that has not ended lie before now
  const middle = (start) => (start + Math.max(start + step / 8, Math.min(start + step, now))) / 2;
  return { step, starts, from, to, now, buckets, middle };
}

const found = new WeakMap();

// The times in which tools failed more than before, by the findings, the most urgent first.
function incidentsOf(figure) {
  const address = figure.dataset.marks ?? "";
  if (!address.startsWith(`${document.documentElement.dataset.prefix ?? ""}/data/`)) return Promise.resolve([]);
  if (!found.has(figure)) found.set(figure, fetch(address).then((response) => response.json()).then(incidentRows));
  return found.get(figure);
}

function incidentRows(result) {
  if (!result.rows) return [];
  const at = Object.fromEntries(result.columns.map((column, index) => [column.name, index]));
  return result.rows.map((row) => {
    const from = Date.parse(row[at.started]);
    return { tool: row[at.tool] ?? "", from, to: from + row[at.lasted_ms], lasted: row[at.lasted_ms], open: row[at.ended] === null };
  });
}

function timeline(rows, colours, time, placed, incidents, height) {
  const lanes = Math.max(0, ...placed.map((one) => one.lane + 1));
  const top = LEGEND + lanes * LANE;
  const half = (height - top - BOTTOM - GAP) / 2;
  const grids = [[top, half], [top + half + GAP, half], [LEGEND, lanes * LANE]];
  const { series, described } = counted(rows, colours, time);
  const highestRate = Math.max(0.1, ...rows.map((row) => Math.max(row.high ?? 0, row.rate ?? 0)));
  const highest = rounded(highestRate, highestRate > 0.5 ? 5 : 10, Math.ceil);
  const areas = incidents.map((one) => [{ xAxis: Math.max(one.from, time.from) }, { xAxis: Math.min(one.to, time.to) }]);
  const silent = silences(time).map(([from, to]) => [{ xAxis: from, itemStyle: { color: hatching(colours.line), opacity: 1 } }, { xAxis: to }]);
  const now = time.now > time.from && time.now <= time.to ? [{ xAxis: time.now }] : [];
  for (const index of [0, 1]) {
    series.push({
      name: `marks ${index} `, type: "line", data: [], xAxisIndex: index, yAxisIndex: index, silent: true, tooltip: { show: false },
      markArea: { silent: true, itemStyle: { color: colours.bad, opacity: 0.13 }, data: [...silent, ...areas] },
      markLine: { silent: true, symbol: "none", lineStyle: { color: colours.ink, width: 1, type: "solid" }, label: { show: index === 1, formatter: words("now"), position: "end", distance: 2, color: colours.ink, fontSize: 11 }, data: now },
    });
  }
  series.push({
    name: "incidents ", type: "line", data: [], xAxisIndex: 2, yAxisIndex: 2, tooltip: { show: false },
    markArea: { silent: true, itemStyle: { color: colours.bad }, label: { show: true, color: colours.bad, fontSize: 11, align: "left", verticalAlign: "top", formatter: (item) => item.name }, data: placed.map((one) => [
      { name: one.text, xAxis: one.from, yAxis: one.lane + 0.78, label: { position: [one.labelLeft - one.left, -14] } },
      { xAxis: one.to, yAxis: one.lane + 0.95 },
    ]) },
  });
  const label = axis(colours).axisLabel;
  const x = { type: "time", splitLine: { show: false }, min: time.from, max: time.to, containShape: false, axisPointer: { label: { show: false } } };
  return base(colours, {
    useUTC: isUtc(),
    grid: grids.map(([gridTop, gridHeight]) => ({ left: LEFT, right: RIGHT, top: gridTop, height: gridHeight })),
    axisPointer: { link: [{ xAxisIndex: [0, 1] }] },
    legend: { ...base(colours).legend, data: series.map((one) => one.name).filter((name) => !/ $/.test(name)) },
    xAxis: [
      axis(colours, { ...x, axisLabel: { show: false } }),
      axis(colours, { ...x, gridIndex: 1, axisLabel: { ...label, formatter: (value) => tick(value, time.to - time.from) } }),
      { ...x, gridIndex: 2, show: false, axisPointer: { show: false } },
    ],
    yAxis: [
      axis(colours, { type: "value", minInterval: 1, splitNumber: 3, axisLabel: { ...label, formatter: (value) => number(value, "count") } }),
      axis(colours, { type: "value", gridIndex: 1, min: 0, max: highest, interval: highest / 2, axisLabel: { ...label, formatter: (value) => number(value, "share").replace(/[.,]0/, "") } }),
      { type: "value", gridIndex: 2, show: false, inverse: true, min: 0, max: Math.max(lanes, 1) },
    ],
    tooltip: { ...base(colours).tooltip, formatter: (items) => {
      const start = time.buckets.findLast((each) => each <= items[0].axisValue);
      const lines = (described.get(start) ?? []).flatMap(([key, row]) => [
        `${key ? `${key}: ` : ""}${number(row.attempts, "count")} ${words("attempts")}, ${number(row.failures, "count")} ${words("failures")}${row.cut_off ? `, ${number(row.cut_off, "count")} ${words("cut_off")}` : ""}`,
        row.rate === null ? null : `${number(row.rate, "share")} (${number(row.low, "share")} – ${number(row.high, "share")})`,
        row.p95 === null ? null : `p50 ${duration(row.p50)}, p95 ${duration(row.p95)}`,
      ]);
      return tip(`${full(new Date(start))} ${zoneName(new Date(start))} + ${duration(time.step)}`, lines.length ? lines : [words("silent")]);
    } },
    series,
  });
}

// Bars of attempts, failures and what was cut off; for each version, or for all attempts, the failure rate with its interval.
function counted(rows, colours, time) {
  const versions = "tool_version" in rows[0] ? "tool_version" : "version" in rows[0] ? "version" : null;
  const groups = new Map(), total = new Map(time.buckets.map((start) => [start, { attempts: 0, failures: 0, cutOff: 0 }])), described = new Map();
  for (const row of rows) {
    const key = versions ? (row[versions] == null ? words("unversioned") : words("version").replace("{version}", () => visible(String(row[versions])).slice(0, 80))) : "", start = Date.parse(row.started);
    groups.set(key, [...(groups.get(key) ?? []), { ...row, start }]);
    described.set(start, [...(described.get(start) ?? []), [key, row]]);
    total.get(start).attempts += row.attempts + (row.cut_off ?? 0);
    total.get(start).failures += row.failures;
    total.get(start).cutOff += row.cut_off ?? 0;
  }
  const bars = { type: "bar", barMaxWidth: 18, barMinWidth: 2, barCategoryGap: "12%" };
  const series = [
    { ...bars, name: words("attempts"), data: [...total].map(([start, sum]) => [time.middle(start), sum.attempts]), itemStyle: { color: colours.bar }, barGap: "-100%" },
    { ...bars, name: words("failures"), data: [...total].map(([start, sum]) => [time.middle(start), sum.failures]), stack: "bad", itemStyle: { color: colours.bad, opacity: 0.75 }, z: 3 },
  ];
  if ([...total.values()].some((sum) => sum.cutOff)) series.push({ ...bars, name: words("cut_off"), data: [...total].map(([start, sum]) => [time.middle(start), sum.cutOff]), stack: "bad", itemStyle: { color: colours.warn, opacity: 0.75 }, z: 3 });
  const tones = [colours.band, colours.second, colours.warn, colours.good, colours.quiet];
  [...groups].slice(-5).forEach(([key, group], index) => {
    const points = gaps(group, time.step);
    const name = key ? words("rate.of").replace("{version}", () => key) : words("rate");
    const line = (figure) => points.map((point) => [time.middle(point.start), point.empty ? null : point[figure]]);
    series.push(...band(`${name}-band`, tones[index], line("low"), line("high"), 1).map((one) => ({ ...one, xAxisIndex: 1 })));
    series.push({ name, type: "line", xAxisIndex: 1, yAxisIndex: 1, data: line("rate"), symbol: "circle", symbolSize: 4, showAllSymbol: true, lineStyle: { width: 1.8 }, itemStyle: { color: tones[index] }, z: 5 });
  });
  return { series, described };
}

// A line is not drawn across buckets without attempts.
function gaps(points, step) {
  const filled = [];
  for (const point of points) {
    const last = filled.at(-1);
    if (last && point.start - last.start > 1.5 * step) filled.push({ start: last.start + step, empty: true });
    filled.push(point);
  }
  return filled;
}
