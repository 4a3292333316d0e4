// Parts that the charts share. Text goes to the canvas or into text nodes: text from a trace is never parsed as HTML.

export function palette() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  return { ink: colour("ink"), quiet: colour("quiet"), line: colour("line"), faint: colour("faint"), sheet: colour("sheet"), bar: colour("bar"), bad: colour("bad"), band: colour("band"), second: colour("second"), good: colour("good"), warn: colour("warn") };
}

export function words(key) {
  return JSON.parse(document.getElementById("words").textContent)[`js.${key}`] ?? key;
}

const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|(?<=\p{Mn}{2})\p{Mn}/gu;

// A name from a trace as a person may see it in a chart, as the pages show it elsewhere: escapes for characters that
// hide or rearrange text, and a sign for a blank name.
export function visible(name) {
  return name.trim() ? name.replace(HIDDEN, (found) => `\\u${found.codePointAt(0).toString(16).padStart(4, "0")}`) : "␠";
}

export function records(figure) {
  const { columns, rows } = JSON.parse(figure.querySelector("script").textContent);
  return rows.map((row) => Object.fromEntries(columns.map((name, index) => [name, row[index]])));
}

export function tip(title, lines) {
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

export function base(colours, more) {
  return {
    animation: false,
    textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: colours.ink },
    grid: { left: 52, right: 56, top: 34, bottom: 26 },
    tooltip: { trigger: "axis", backgroundColor: colours.sheet, borderColor: colours.line, textStyle: { color: colours.ink }, confine: true },
    legend: { type: "scroll", top: 0, left: 0, itemWidth: 14, itemHeight: 8, textStyle: { color: colours.quiet, fontSize: 12 }, pageIconColor: colours.ink, pageIconInactiveColor: colours.line, pageTextStyle: { color: colours.quiet } },
    ...more,
  };
}

export function axis(colours, more) {
  return { axisLine: { lineStyle: { color: colours.line } }, axisTick: { show: false }, axisLabel: { color: colours.quiet, fontSize: 11, hideOverlap: true }, splitLine: { lineStyle: { color: colours.faint } }, nameTextStyle: { color: colours.quiet, fontSize: 11 }, ...more };
}

// Round to a grid line, so that the labels of the axis are evenly spaced.
export function rounded(value, parts, how) {
  return Math.min(1, how(value * parts) / parts);
}

// A band: two stacked lines, of which the lower one is invisible.
export function band(name, colour, lows, highs, axisIndex = 0, opacity = 0.16) {
  const common = { type: "line", stack: name, yAxisIndex: axisIndex, symbol: "none", silent: true, lineStyle: { opacity: 0 }, tooltip: { show: false }, stackStrategy: "all" };
  return [
    { ...common, name: `${name} `, data: lows },
    { ...common, name: `${name}  `, data: highs.map((point, i) => [point[0], point[1] === null ? null : point[1] - lows[i][1]]), areaStyle: { color: colour, opacity } },
  ];
}
