const PAUSE = 1000;
const MOST_LINES = 8;
const LONG = 20;  // characters that fit into a cell of the table
const WAITING = "not reachable; trying again";

let started = null;
let restarts = 0;

const place = (id) => document.getElementById(id);

/** The series whose names begin so, without that: those that weigh most, by name, so that colours stay. */
function series(history, prefix, weigh) {
  const lines = Object.entries(history.series)
    .filter(([name]) => name.startsWith(prefix))
    .map(([name, values]) => ({ name: name.slice(prefix.length), values }));
  const heaviest = lines.sort((a, b) => weigh(b.values) - weigh(a.values)).slice(0, MOST_LINES);
  return heaviest.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

const last = (values) => values.at(-1) ?? 0;

function spread(values) {
  const there = values.filter((value) => value !== null);
  return Math.max(...there) - Math.min(...there) + 1e-3 * last(values);
}

function means(history, name, window) {
  const lines = { [`recent ${name}`]: `last ${short(window)}`, [name]: "all" };
  return Object.entries(lines)
    .filter(([key]) => key in history.series)
    .map(([key, shown]) => ({ name: shown, values: history.series[key] }));
}

function driftMark({ event, attribute, before, after }) {
  const what = attribute === null ? "errors" : `share observed of ${attribute}`;
  return { event, text: `event ${short(event)}: ${what} ${short(before)} → ${short(after)}` };
}

function charts(figures, width) {
  const { history, summary, drifts } = figures;
  const marks = drifts.map(driftMark);
  const ofErrors = marks.filter((_, index) => drifts[index].attribute === null);
  const ofAttributes = marks.filter((_, index) => drifts[index].attribute !== null);
  const window = summary.recent ? summary.recent.events : 0;
  const told = (found) => (found.length ? `dashed: ${found.at(-1).text}` : null);
  const error = figures.error.replace("_", " ");
  const all = [
    ["Loss", means(history, "loss", window), { marks: ofErrors, note: told(ofErrors) }],
    [error[0].toUpperCase() + error.slice(1), means(history, "error", window), { marks: ofErrors }],
    ["Regret per event against", series(history, "regret:", (values) => -last(values)), {}],
    ["Weights of experts", series(history, "expert:", last), { marks: ofErrors }],
    ["Share missing, of what changes most", series(history, "missing:", spread),
      { marks: ofAttributes, note: told(ofAttributes) }],
    ["Lag in records", series(history, "lag:", last), {}],
  ];
  return all
    .filter(([, lines]) => lines.length)
    .map(([title, lines, options]) => chart(title, history.events, lines, { ...options, width }));
}

function duration(seconds) {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** Events a second over the last points of the history. */
function rate({ time, events }) {
  const from = Math.max(0, time.length - 6);
  const seconds = time.at(-1) - time[from];
  return seconds > 0 ? (events.at(-1) - events[from]) / seconds : null;
}

function tiles(figures) {
  const { summary, reader, checkpoint, history } = figures;
  const lag = reader.lag.reduce((sum, [, , each]) => sum + each, 0);
  const shown = [
    ["events", short(summary.events)],
    ["events a second", short(Math.round(rate(history) ?? summary.events_per_second))],
    ["learned", short(summary.learned)],
    ["rejected", short(summary.rejected)],
    ["attributes", short(summary.model.attributes)],
    ["drifts", short(figures.drifted.errors + figures.drifted.attributes)],
  ];
  if (reader.lag.length) shown.push(["lag in records", short(lag)]);
  if (checkpoint) shown.push(["since the last checkpoint", duration(figures.time - checkpoint.time)]);
  if (figures.restarts) shown.push(["restarts of the consumer", short(figures.restarts)]);
  return shown.map(([name, value]) =>
    element("div", { class: "card" }, element("b", {}, value), element("span", {}, name)));
}

/** A value of a row; the attributes that carried a prediction by name, with their contributions. */
function cell(value) {
  if (value === undefined || value === null) return "";
  if (typeof value === "number") return short(value);
  if (typeof value !== "object") return String(value);
  return Object.entries(value)
    .map(([name, each]) => (Array.isArray(value) ? cell(each) : `${name} ${cell(each)}`))
    .join(", ");
}

function table({ rows, error }) {
  const names = [...new Set(rows.flatMap(Object.keys))];
  const head = element("tr", {}, ...names.map((name) => element("th", { title: name }, name)));
  const lines = [...rows].reverse().map((row) => {
    // A class may be any number.
    const wrong = error === "error_rate" && "target" in row && row.prediction !== row.target;
    const cells = names.map((name) => {
      const text = cell(row[name]);
      const title = text.length > LONG ? { title: text } : {};
      return element("td", name === "prediction" && wrong ? { class: "wrong", ...title } : title, text);
    });
    return element("tr", {}, ...cells);
  });
  return [head, ...lines];
}

function show(figures) {
  if (started !== null && started !== figures.started) restarts += 1;
  started = figures.started;
  const { summary } = figures;
  place("what").textContent = `${summary.learner}, ${summary.task}, since ${
    new Date(1000 * figures.started).toLocaleString("en-GB")}`;
  const width = Math.max(300, Math.min(640, (place("charts").firstChild?.clientWidth ?? 500) - 26));
  place("tiles").replaceChildren(...tiles(figures));
  // What somebody reads at the moment stays as it is.
  if (!place("charts").querySelector(".tip")) place("charts").replaceChildren(...charts(figures, width));
  place("rows").replaceChildren(...table(figures));
  const again = restarts ? `; restarted ${restarts === 1 ? "once" : `${restarts} times`}` : "";
  say(figures.unready ?? `live${again}`, figures.unready !== null);
}

function say(text, bad) {
  place("status").textContent = text;
  place("status").className = bad ? "bad" : "";
}

/** Ask for the figures, show them, and ask again; a program that is gone may come back. */
async function follow() {
  try {
    const answer = await fetch("figures.json", { cache: "no-store", signal: AbortSignal.timeout(5000) });
    if (answer.ok) show(await answer.json());
    else say("the program is starting", true);
  } catch (error) {
    if (error instanceof TypeError || error.name === "TimeoutError") say(WAITING, true);
    else throw error;
  } finally {
    setTimeout(follow, PAUSE);
  }
}

follow();
