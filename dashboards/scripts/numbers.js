import { isFixed, isUtc } from "./zone.js";

// Numbers and times in the reader's locale. The page contains raw values: <data value data-unit> and <time datetime>.
export const locale = document.documentElement.lang === "zh-CN" ? "zh-CN" : navigator.language;
const integer = new Intl.NumberFormat(locale);
const threeDigits = new Intl.NumberFormat(locale, { maximumSignificantDigits: 3 });
const oneDecimal = new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const signed = new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1, signDisplay: "exceptZero" });
const words = JSON.parse(document.getElementById("words").textContent);
const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const SECONDS = { ...CLOCK, second: "2-digit" };
const DAY = { month: "short", day: "numeric" };
const YEAR = { ...DAY, year: "numeric" };
const PRECISE = { fractionalSecondDigits: 3 };
const formats = new Map();

// A date in the zone that the reader chose.
function formatted(date, options) {
  const zone = isUtc() ? "UTC" : undefined;
  const key = `${zone}${JSON.stringify(options)}`;
  if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat(locale, { ...options, timeZone: zone }));
  return formats.get(key).format(date);
}

const SPANS = [[86400e3, "d"], [3600e3, "h"], [60e3, "min"], [1e3, "s"], [1, "ms"]];
const BYTES = [[1048576, "MB"], [1024, "kB"], [1, "B"]];

// A number and its unit stay on one line, with a space between them: in tables, in sentences and on axes.
function joined(value, unit) { return `${value}\u00a0${unit}`; }

function scaled(value, sizes) {
  const [size, name] = sizes.find(([from]) => Math.abs(value) >= from) ?? sizes.at(-1);
  return [threeDigits.format(value / size), name];
}

// A minus sign as wide as the plus sign.
function minus(text) { return text.replace(/^-/, "−"); }

export function duration(ms) {
  if (Math.abs(ms) > 0 && Math.abs(ms) < 1) return joined(minus(threeDigits.format(ms * 1000)), words["js.unit.us"]);
  const [value, name] = scaled(ms, SPANS);
  return joined(minus(value), words[`js.unit.${name}`]);
}

export function number(value, kind) {
  if (kind === "share") return joined(oneDecimal.format(100 * value), "%");
  if (kind === "points") return joined(minus(signed.format(100 * value)), words["js.points"]);
  if (kind === "signed") return minus(signed.format(100 * value));
  if (kind === "ms") return duration(value);
  if (kind === "bytes") return joined(...scaled(value, BYTES));
  if (kind === "count" || kind === "aside") return integer.format(value);
  return minus(threeDigits.format(value));
}

// The time of day; with the day unless it is today, with the year unless it is this one.
export function shortTime(date, more = {}) {
  const now = new Date();
  const same = (options) => formatted(date, options) === formatted(now, options);
  return formatted(date, { ...(same(YEAR) ? {} : same({ year: "numeric" }) ? DAY : YEAR), ...SECONDS, ...more });
}

// Label on a time axis: the day at midnight, else the time of day, with seconds if the axis spans at most ten minutes.
export function tick(value, span) {
  const date = new Date(value);
  const parts = isUtc() ? [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()] : [date.getHours(), date.getMinutes(), date.getSeconds()];
  if (parts.every((part) => part === 0)) return formatted(date, DAY);
  return formatted(date, span > 600e3 ? CLOCK : SECONDS);
}

export function full(date) { return formatted(date, { ...YEAR, ...SECONDS }); }

function utc(date) { return `${date.toISOString().replace("T", " ").replace(/\.?0*Z$/, "")} UTC`; }

export function within(part, selector) {
  return [...(part.matches?.(selector) ? [part] : []), ...part.querySelectorAll(selector)];
}

// The unit of a large figure is an element of its own: a narrow screen makes it smaller.
function show(element, text) {
  const [value, unit] = text.split("\u00a0");
  element.textContent = text;
  if (unit && element.closest(".big")) element.replaceChildren(`${value}\u00a0`, Object.assign(document.createElement("small"), { textContent: unit }));
}

export function localize(part) {
  for (const element of within(part, "data[data-unit]:not([data-done])")) {
    const value = Number(element.value);
    element.dataset.done = "";
    if (element.value !== "" && Number.isFinite(value)) show(element, number(value, element.dataset.unit));
  }
  for (const element of within(part, "time[datetime]:not([data-done])")) {
    element.dataset.done = "";
    showTime(element);
  }
  for (const element of within(part, "title[data-at]")) showTitle(element);
  for (const element of within(part, "text[data-ms]")) element.textContent = duration(Number(element.dataset.ms));
}

// All times once more, after the zone was changed.
export function relocalizeTimes() {
  for (const element of document.querySelectorAll("time[data-done]")) showTime(element);
  for (const element of document.querySelectorAll("title[data-at]")) showTitle(element);
}

// The title of a part of a drawing begins with a time.
function showTitle(element) { element.textContent = `${shortTime(new Date(element.dataset.at))}${element.dataset.rest}`; }

// A trace is read in milliseconds: its page is marked with data-precise.
function showTime(element) {
  const date = new Date(element.dateTime.length === 10 ? `${element.dateTime}T00:00:00Z` : element.dateTime);
  if (Number.isNaN(date.getTime())) return;
  // paper is read on other days, without a hover title
  element.textContent = isFixed() ? utc(date).slice(0, 16) : shortTime(date, element.closest("[data-precise]") ? PRECISE : {});
  element.title = utc(date);
}
