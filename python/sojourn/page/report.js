// @ts-check
/** A report in one file: its curves from the data within it, the filter of runs, and what a link to it keeps. */

import { saveCurves } from "./curves.js";
import { startPage } from "./page.js";
import { Plots, unpacked } from "./plots.js";

/** @typedef {import("./plots.js").Run} Run */

/** @param {string} id @returns {any} */
function embedded(id) {
  return JSON.parse(document.getElementById(id)?.textContent ?? "null");
}

/** Columns are unpacked when a run is drawn. @param {any} packed @returns {Run} */
function unpackedRun(packed) {
  const plots = Object.entries(packed.plots).map(([kind, plot]) => {
    const { series, ...rest } = /** @type {any} */ (plot);
    const columns = ["data", "t", "low"];
    const whole = (/** @type {any} */ one) =>
      Object.fromEntries(Object.entries(one).map(([key, value]) => [key, columns.includes(key) ? unpacked(/** @type {string} */ (value)) : value]));
    return [kind, { ...rest, series: series.map(whole) }];
  });
  return { ...packed, plots: Object.fromEntries(plots) };
}

/** Shows only the runs whose ids contain a text. @param {string} text */
function filterRuns(text) {
  const wanted = text.trim().toLowerCase();
  for (const part of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-run]"))) {
    part.hidden = !part.dataset.run?.toLowerCase().includes(wanted);
  }
  for (const row of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".beside:not(.heads)"))) {
    row.hidden = !row.querySelector("figure:not([hidden])");
  }
  const shown = document.getElementById("shown");
  if (shown) shown.textContent = wanted ? document.querySelectorAll("figure[data-run]:not([hidden])").length + " shown" : "";
}

const figures = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("figure[data-run]"))];
const packed = embedded("panels") ?? {};
/** @type {[string, string]} */
const sides = JSON.parse(document.body.dataset.sides ?? '["", ""]');
/** @type {Map<string, Run>} */
const runs = new Map();
const run = (/** @type {string} */ name) => {
  if (!runs.has(name) && Object.hasOwn(packed, name)) runs.set(name, unpackedRun(packed[name]));
  return runs.get(name);
};

/** Spans that are zoomed to, by the number of the figure. @type {Map<string, string>} */
const zooms = new Map();
const numberOf = (/** @type {string} */ name) => figures.find(figure => figure.dataset.run === name)?.id.replace("run-", "") ?? "";

/** @type {import("./page.js").Fragment | undefined} */
let fragment;
const plots = figures.length ? new Plots(/** @type {any} */ (globalThis).uPlot, run, sides, (name, span) => {
  if (span) zooms.set(numberOf(name), span.map(t => Number(t.toFixed(3))).join("-")); else zooms.delete(numberOf(name));
  fragment?.set("zoom", [...zooms].map(([number, span]) => `${number}:${span}`).join(","));
}) : null;

const filter = /** @type {HTMLInputElement | null} */ (document.getElementById("filter"));
if (filter) {
  filter.addEventListener("input", () => { filterRuns(filter.value); fragment?.set("find", filter.value.trim()); });
}

fragment = startPage(state => {
  if (filter) { filter.value = state.get("find"); filterRuns(filter.value); }
  const wanted = new Map(state.get("zoom").split(",").map(one => /** @type {[string, string]} */ (one.split(":"))));
  for (const figure of figures) {
    const number = figure.id.replace("run-", ""), name = figure.dataset.run ?? "";
    const span = /^([\d.]+)-([\d.]+)$/.exec(wanted.get(number) ?? "");
    const end = run(name)?.end ?? 0, [from, to] = [Number(span?.[1]), Math.min(Number(span?.[2]), end)];
    if (from < to) plots?.zoom(name, [from, to]); else if (zooms.has(number)) plots?.zoom(name, null);
  }
});

const boxes = plots?.observe(document) ?? [];
addEventListener("beforeprint", () => boxes.forEach(box => plots?.draw(box)));
document.addEventListener("click", event => {
  const button = event.target instanceof Element ? event.target.closest("button") : null;
  const name = button?.closest("figure")?.dataset.run ?? "", shown = run(name);
  if (!button || !shown) return;
  if (button.matches("[data-reset]")) plots?.zoom(name, null);
  if (button.matches("[data-csv]")) saveCurves(name, shown, sides);
});
for (const part of document.querySelectorAll(".needs-script")) part.classList.remove("needs-script");
