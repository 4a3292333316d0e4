// Numbers and times in the reader's locale. The page contains raw values: <data value data-unit> and <time datetime>.
export const locale = document.documentElement.lang === "zh-CN" ? "zh-CN" : navigator.language;
const integer = new Intl.NumberFormat(locale);
const threeDigits = new Intl.NumberFormat(locale, { maximumSignificantDigits: 3 });
const percent = new Intl.NumberFormat(locale, { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });
const signed = new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1, signDisplay: "exceptZero" });
const points = JSON.parse(document.getElementById("words").textContent)["js.points"];
const time = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const minutes = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", hour12: false });
const day = new Intl.DateTimeFormat(locale, { month: "short", day: "numeric" });
const short = new Intl.DateTimeFormat(locale, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const long = new Intl.DateTimeFormat(locale, { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

const SPANS = [[86400e3, "day"], [3600e3, "hour"], [60e3, "minute"], [1e3, "second"]];
const units = new Map();

function unit(name) {
  if (!units.has(name)) units.set(name, new Intl.NumberFormat(locale, { style: "unit", unit: name, unitDisplay: "narrow", maximumSignificantDigits: 3 }));
  return units.get(name);
}

export function duration(ms) {
  const size = Math.abs(ms);
  for (const [from, name] of SPANS) if (size >= from) return unit(name).format(ms / from);
  return size > 0 && size < 1 ? `${threeDigits.format(ms * 1000)} µs` : unit("millisecond").format(ms);
}

export function number(value, kind) {
  if (kind === "share") return percent.format(value);
  if (kind === "points") return `${signed.format(100 * value)} ${points}`;
  if (kind === "signed") return signed.format(100 * value);
  if (kind === "ms") return duration(value);
  if (kind === "bytes") return value < 1024 ? unit("byte").format(value) : value < 1048576 ? unit("kilobyte").format(value / 1024) : unit("megabyte").format(value / 1048576);
  if (kind === "count" || kind === "aside") return integer.format(value);
  return threeDigits.format(value);
}

export function shortTime(date) {
  const now = new Date();
  if (date.toDateString() === now.toDateString()) return time.format(date);
  return (date.getFullYear() === now.getFullYear() ? short : long).format(date);
}

// Label on a time axis: the day at midnight, else the time of day, with seconds if the axis spans at most ten minutes.
export function tick(value, span) {
  const date = new Date(value);
  if (date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0) return day.format(date);
  return (span > 600e3 ? minutes : time).format(date);
}

export function full(date) { return long.format(date); }

function utc(date) { return `${date.toISOString().replace("T", " ").replace(/\.?0*Z$/, "")} UTC`; }

export function within(part, selector) {
  return [...(part.matches?.(selector) ? [part] : []), ...part.querySelectorAll(selector)];
}

export function localize(part) {
  for (const element of within(part, "data[data-unit]:not([data-done])")) {
    const value = Number(element.value);
    element.dataset.done = "";
    if (element.value !== "" && Number.isFinite(value)) element.textContent = number(value, element.dataset.unit);
  }
  for (const element of within(part, "time[datetime]:not([data-done])")) {
    const date = new Date(element.dateTime.length === 10 ? `${element.dateTime}T00:00:00Z` : element.dateTime);
    element.dataset.done = "";
    if (Number.isNaN(date.getTime())) continue;
    element.textContent = shortTime(date);
    element.title = utc(date);
  }
}
