// @ts-check
/** Curves of a figure as CSV. */

import { steps } from "./plots.js";

/** @typedef {import("./plots.js").Run} Run */

/** The curves of a run as they are in the page, a line for each value. @param {Run} run @param {[string, string]} sides */
export function csv(run, sides) {
  const quoted = (/** @type {string} */ text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const rows = ["plot,series,side,unit,time_s,value"];
  for (const [kind, plot] of Object.entries(run.plots)) {
    for (const one of plot.series) {
      const times = one.t ?? steps(one.data.length, run.end);
      one.data.forEach((value, i) => {
        if (value != null) rows.push([kind, quoted(one.label), sides[one.side], quoted(plot.unit), Number(times[i]?.toFixed(6)), value].join(","));
      });
    }
  }
  return rows.join("\n") + "\n";
}

/** Saves them as a file. @param {string} name of the run @param {Run} run @param {[string, string]} sides */
export function saveCurves(name, run, sides) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv(run, sides)], { type: "text/csv" }));
  link.download = name.replace(/[^\w.-]+/g, "-") + ".csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
