"use strict";

const SVG = "http://www.w3.org/2000/svg";
const COLOURS = 8;
/** Room around the curves: left, right, top, bottom. */
const [LEFT, RIGHT, TOP, BOTTOM] = [48, 8, 14, 18];
/** Between two marks that are both labelled. */
const APART = 50;
/** Room for a letter of a name that is pointed at. */
const LETTER = 8;
/** For thousands, millions and so on. */
const UNITS = ["", "k", "M", "G", "T", "P", "E"];

/** An element with attributes and children; texts are never taken for HTML. */
function element(name, attributes = {}, ...children) {
  const svg = ["svg", "line", "path", "text", "g", "title", "circle"].includes(name);
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

const colour = (line, index) => `var(${line.colour ?? `--c${index % COLOURS}`})`;

/** The least and the greatest of the numbers in some series, with a little room. */
function range(lines) {
  const values = lines.flatMap((line) => line.values).filter((value) => value !== null);
  if (!values.length) return [0, 1];
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (low > 0 && low < 0.5 * high) low = 0;
  if (low === high) [low, high] = [low - 0.5 * (Math.abs(low) || 1), high + 0.5 * (Math.abs(high) || 1)];
  return [low, high];
}

/** Round numbers between two others, a few. */
function ticks(low, high) {
  const least = (high - low) / 5;
  const unit = 10 ** Math.floor(Math.log10(least));
  const step = unit * [1, 2, 5, 10].find((each) => each * unit >= least);
  const count = Math.floor(high / step) - Math.ceil(low / step) + 1;
  return Array.from({ length: count }, (_, index) => (Math.ceil(low / step) + index) * step);
}

/** What ticks are labelled with, alike and short: 2.5, 3.0; 0.5G, 1.0G; 2.0e-5. */
function labels(values) {
  const most = Math.max(...values.map(Math.abs));
  const power = most < 1e4 ? 0 : Math.floor(Math.log10(most) / 3);
  if (most < 1e-3 || power >= UNITS.length) return values.map((value) => (value ? value.toExponential(1) : "0"));
  const unit = 1000 ** power;
  // The last digit that differs from one tick to the next.
  const step = (values.length > 1 ? values[1] - values[0] : most) / unit;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const fixed = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return values.map((value) => (value ? (value / unit).toLocaleString("en", fixed) + UNITS[power] : "0"));
}

/** The path of a line, which is broken where there is no number. */
function path({ events, values }, x, y) {
  let [text, drawing] = ["", false];
  values.forEach((value, index) => {
    if (value === null) { drawing = false; return; }
    text += `${drawing ? "L" : "M"}${x(events[index]).toFixed(1)} ${y(value).toFixed(1)}`;
    drawing = true;
  });
  // A single point is to be seen as well.
  return /^M[^L]*$/.test(text) ? `${text}h3` : text;
}

/** The path around what lies within two standard errors of a line. */
function band({ events, values, errors }, x, y) {
  const side = (sign) => values.map((value, index) => {
    const edge = value + 2 * sign * errors[index];
    return `${x(events[index]).toFixed(1)} ${y(edge).toFixed(1)}`;
  });
  return `M${[...side(1), ...side(-1).reverse()].join("L")}Z`;
}

/**
 * A card with lines over the events; pointed at, or with the arrow keys, it tells the values.
 *
 * lines: [{name, values}], one value for each of the numbers in `events`, or in the line's own `events`.
 * A line may have a `colour` (a variable of the style) and a `style` (classes); without gaps, it may have
 * `errors` (standard ones).
 * marks: [{event, text}]. limits: the least and the greatest value in sight.
 */
function chart(title, events, lines, options = {}) {
  const { marks = [], note = null, width = 480, height = 190, limits = null } = options;
  const drawn = lines.map((line, index) => ({ events, ...line, colour: colour(line, index) }));
  const [low, high] = limits ?? range(lines);
  const every = drawn.flatMap((line) => line.events);
  const [first, last] = every.length ? [Math.min(...every), Math.max(...every)] : [0, 1];
  const x = (event) => LEFT + ((event - first) / Math.max(1, last - first)) * (width - LEFT - RIGHT);
  const y = (value) => TOP + (1 - (value - low) / (high - low)) * (height - TOP - BOTTOM);
  const svg = element("svg", {
    viewBox: `0 0 ${width} ${height}`, style: `height: ${height}px`, tabindex: 0, role: "img",
    "aria-label": title,
  });
  const marked = ticks(low, high);
  const texts = labels(marked);
  for (const [index, value] of marked.entries()) {
    const kind = value === 0 && low < 0 ? "grid zero" : "grid";
    svg.append(
      element("line", { class: kind, x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
      element("text", { x: LEFT - 4, y: y(value) + 4, "text-anchor": "end" }, texts[index]),
    );
  }
  svg.append(
    element("text", { x: LEFT, y: height - 3 }, short(first)),
    element("text", { x: width - RIGHT, y: height - 3, "text-anchor": "end" }, `${short(last)} events`),
  );
  let labelled = -APART;
  for (const { event, text } of marks.filter(({ event }) => event >= first && event <= last)) {
    const at = x(event);
    const line = element("line", { class: "drift", x1: at, x2: at, y1: TOP, y2: height - BOTTOM });
    line.append(element("title", {}, text));
    svg.append(line);
    if (at - labelled < APART) continue;
    svg.append(element("text", { class: "mark", x: at, y: TOP - 4, "text-anchor": "middle" }, short(event)));
    labelled = at;
  }
  // What is beyond the limits is cut, but for half of a line that is on them.
  const room = { x: LEFT - 1, y: TOP - 1, width: width - LEFT - RIGHT + 2, height: height - TOP - BOTTOM + 2 };
  const inner = element("svg", { ...room, viewBox: Object.values(room).join(" ") });
  for (const line of drawn) {
    if (line.errors?.some((error) => error > 0)) {
      inner.append(element("path", { class: "band", d: band(line, x, y), style: `fill: ${line.colour}` }));
    }
    const style = `stroke: ${line.colour}`;
    inner.append(element("path", { class: `curve ${line.style ?? ""}`, d: path(line, x, y), style }));
  }
  svg.append(inner);
  answer(svg, drawn, x, y, width, ({ value }) => value >= low && value <= high);
  const legend = element("div", { class: "legend" });
  for (const { name, values, colour, style } of drawn) {
    const swatch = element("i", { class: style ?? "", style: `color: ${colour}` });
    legend.append(element("span", {}, swatch, `${name} `, element("b", {}, short(values.at(-1)))));
  }
  const told = note === null ? null : element("p", { class: "note" }, note);
  return element("article", {}, element("h2", {}, title), svg, legend, told);
}

/** How far a place is from a line through points, straight up or down, or from its nearer end. */
function distance(points, at) {
  const after = points.findIndex((point) => point.x >= at.x);
  if (after <= 0) {
    const end = after ? points.at(-1) : points[0];
    return Math.hypot(end.x - at.x, end.y - at.y);
  }
  const [a, b] = [points[after - 1], points[after]];
  return Math.abs(a.y + ((b.y - a.y) * (at.x - a.x)) / (b.x - a.x) - at.y);
}

/** The one of some things of which a measure is least. */
const least = (things, measure) =>
  things.reduce((best, each) => (measure(each) < measure(best) ? each : best));

/** Have a picture tell the point of a curve that the pointer is at, or that the arrow keys go to. */
function answer(svg, lines, x, y, width, inSight) {
  const curves = lines.map((line) => line.values.flatMap((value, index) => {
    if (value === null) return [];
    const event = line.events[index];
    return [{ line, value, event, error: line.errors?.[index], x: x(event), y: y(value) }];
  }).filter(inSight)).filter((points) => points.length);
  if (!curves.length) return;
  const tip = element("g", { class: "tip" });
  const room = Math.floor(width / 2 / LETTER);
  const cut = (name) => (name.length > room ? `${name.slice(0, room - 1)}…` : name);
  let shown = null;
  const show = (point) => {
    shown = point;
    const right = point.x > width / 2;
    const place = { x: point.x + (right ? -9 : 9), "text-anchor": right ? "end" : "start" };
    const top = Math.max(point.y, TOP + 14);
    const error = point.error ? ` ± ${short(2 * point.error)}` : "";
    const told = `${short(point.event)} events: ${short(point.value)}${error}`;
    tip.replaceChildren(
      element("circle", { cx: point.x, cy: point.y, r: 4, style: `fill: ${point.line.colour}` }),
      element("text", { ...place, y: top - 8, class: "name" }, cut(point.line.name)),
      element("text", { ...place, y: top + 7 }, told),
    );
    svg.append(tip);
  };
  const go = (along, over) => {
    const from = curves.findIndex((points) => points.includes(shown));
    const points = curves[(from + over + curves.length) % curves.length];
    const near = least(points, (point) => Math.abs(point.x - shown.x));
    show(points[points.indexOf(near) + along] ?? near);
  };
  const keys = {
    ArrowLeft: () => go(-1, 0),
    ArrowRight: () => go(1, 0),
    ArrowUp: () => go(0, -1),
    ArrowDown: () => go(0, 1),
  };
  svg.addEventListener("pointermove", ({ clientX, clientY }) => {
    const at = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
    show(least(least(curves, (points) => distance(points, at)), (point) => Math.abs(point.x - at.x)));
  });
  svg.addEventListener("pointerleave", () => tip.remove());
  svg.addEventListener("focus", () => show(shown ?? curves[0].at(-1)));
  svg.addEventListener("blur", () => tip.remove());
  svg.addEventListener("keydown", (event) => {
    if (!(event.key in keys) || shown === null) return;
    event.preventDefault();
    keys[event.key]();
  });
}
