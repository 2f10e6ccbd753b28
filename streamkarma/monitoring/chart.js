"use strict";

const SVG = "http://www.w3.org/2000/svg";
const COLOURS = 8;

/** An element with attributes and children; texts are never taken for HTML. */
function element(name, attributes = {}, ...children) {
  const svg = ["svg", "line", "path", "text", "g", "title"].includes(name);
  const made = svg ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** A number with about four digits. */
function short(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (Number.isInteger(value) || size >= 1e4) return Math.round(value).toLocaleString("en");
  return size !== 0 && size < 1e-3 ? value.toExponential(1) : value.toPrecision(size < 1 ? 3 : 4);
}

const colour = (index) => `var(--c${index % COLOURS})`;

/** The least and the greatest of the numbers in some series, with a little room. */
function range(lines) {
  const values = lines.flatMap((line) => line.values).filter((value) => value !== null);
  if (!values.length) return [0, 1];
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (low > 0 && low < 0.5 * high) low = 0;
  if (low === high) [low, high] = [low - 0.5 * (Math.abs(low) || 1), high + 0.5 * (Math.abs(high) || 1)];
  return [low, high];
}

/** The path of a line, which is broken where there is no number. */
function path(values, x, y) {
  let [text, drawing] = ["", false];
  values.forEach((value, index) => {
    if (value === null) { drawing = false; return; }
    text += `${drawing ? "L" : "M"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    drawing = true;
  });
  return text;
}

/**
 * A card with lines over the events.
 *
 * lines: [{name, values}], one value for each of the numbers in `events`; marks: [{event, text}].
 */
function chart(title, events, lines, { marks = [], note = null, width = 480 } = {}) {
  const [left, right, top, bottom, height] = [48, 6, 8, 18, 190];
  const [low, high] = range(lines);
  const [first, last] = [events[0] ?? 0, events[events.length - 1] ?? 1];
  const across = (event) => left + ((event - first) / Math.max(1, last - first)) * (width - left - right);
  const y = (value) => top + (1 - (value - low) / (high - low)) * (height - top - bottom);
  const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
  for (const value of [low, (low + high) / 2, high]) {
    svg.append(
      element("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      element("text", { x: left - 4, y: y(value) + 4, "text-anchor": "end" }, short(value)),
    );
  }
  svg.append(
    element("text", { x: left, y: height - 3 }, short(first)),
    element("text", { x: width - right, y: height - 3, "text-anchor": "end" }, `${short(last)} events`),
  );
  for (const { event, text } of marks.filter(({ event }) => event >= first && event <= last)) {
    const at = across(event);
    const line = element("line", { class: "drift", x1: at, x2: at, y1: top, y2: height - bottom });
    line.append(element("title", {}, text));
    svg.append(line);
  }
  lines.forEach(({ values }, index) => {
    const d = path(values, (i) => across(events[i]), y);
    svg.append(element("path", { class: "curve", d, style: `stroke: ${colour(index)}` }));
  });
  const legend = element("div", { class: "legend" });
  lines.forEach(({ name, values }, index) => {
    const swatch = element("i", { style: `background: ${colour(index)}` });
    legend.append(element("span", {}, swatch, `${name} `, element("b", {}, short(values.at(-1)))));
  });
  const told = note === null ? null : element("p", { class: "note" }, note);
  return element("article", {}, element("h2", {}, title), svg, legend, told);
}
