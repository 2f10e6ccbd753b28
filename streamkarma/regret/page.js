/** Wide enough for two columns, as the style has it. */
const wide = matchMedia("(min-width: 900px)");
/** Pixels: of a card without its picture, of the one of bars without its rows, and between two cards. */
const [FRAME, BARS_FRAME, GAP] = [84, 76, 11];
/** The least height of a picture, and the least and the greatest of a row of bars. */
const [LEAST, LEAST_ROW, ROW] = [170, 18, 34];

const { charts, few } = JSON.parse(document.getElementById("figures").textContent);

/** How high the pictures and the rows of bars are, so that all of them are in sight at once. */
function heights() {
  if (!wide.matches) return { losses: 240, regret: 220, row: 30 };
  const main = document.querySelector("main");
  const room = innerHeight - main.offsetTop - document.getElementById("notes").offsetHeight - GAP;
  const rows = main.querySelectorAll("#bars tr").length;
  const row = Math.min(ROW, Math.max(LEAST_ROW, (room - BARS_FRAME) / rows));
  if (few) return { losses: room - FRAME, regret: room - GAP - BARS_FRAME - rows * row - FRAME, row };
  const half = (room - GAP) / 2 - FRAME;
  return "regret" in charts ? { losses: half, regret: half, row } : { losses: room - FRAME, row };
}

function draw() {
  const high = heights();
  document.getElementById("bars").style.setProperty("--row", `${high.row}px`);
  for (const [id, { title, lines, limits, marks, note }] of Object.entries(charts)) {
    const place = document.getElementById(id);
    place.replaceChildren(chart(title, [], lines, { marks, limits, note }));
    const width = place.querySelector("svg").clientWidth;
    const height = Math.max(LEAST, high[id]);
    place.replaceChildren(chart(title, [], lines, { marks, limits, note, width, height }));
  }
}

draw();
addEventListener("resize", draw);
