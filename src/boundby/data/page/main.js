/* Start: the theme first, then tables, charts and lanes; all again in light colours for the printer. */
const DATA = JSON.parse(document.getElementById("data").textContent);
const lanes = [];
const THEMES = ["auto", "light", "dark"];

function setTheme(name, isKept = true) {
  document.documentElement.dataset.theme = name;
  if (!isKept) return;
  const button = document.getElementById("theme");
  button.textContent = `Colours: ${name}`;
  button.setAttribute("aria-label", `Colours: ${name === "auto" ? "as the system has them" : name}; press to change`);
  DATA.theme = name;
}
function redraw(width) {
  lookAtPaper();
  redrawCharts(width);
  for (const each of lanes) each.resize(width);
}
function start() {
  setTheme("auto");
  lookAtPaper();
  document.getElementById("theme").addEventListener("click", () => {
    setTheme(THEMES[(THEMES.indexOf(DATA.theme) + 1) % THEMES.length]);
    redraw();
  });
  document.querySelectorAll(".table").forEach(setUpTable);
  document.querySelectorAll("[data-chart]").forEach((place) => drawChart(place, DATA.charts[place.dataset.chart]));
  document.querySelectorAll("[data-lanes]").forEach((place) => {
    lanes.push(new Lanes(place, DATA.lanes[place.dataset.lanes]));
    place.dataset.drawn = "yes";
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw());
  let width = document.documentElement.clientWidth;
  addEventListener("resize", () => {
    if (width === document.documentElement.clientWidth) return;
    width = document.documentElement.clientWidth;
    requestAnimationFrame(() => redraw());
  });
  addEventListener("beforeprint", () => {
    setTheme("light", false);
    document.querySelectorAll("details:not([open])").forEach((each) => { each.open = true; each.dataset.print = "yes"; });
    redraw(680);
  });
  addEventListener("afterprint", () => {
    setTheme(DATA.theme);
    document.querySelectorAll("details[data-print]").forEach((each) => { each.open = false; delete each.dataset.print; });
    redraw();
  });
  requestAnimationFrame(() => { document.documentElement.dataset.readyMs = performance.now().toFixed(0); });
}
start();
