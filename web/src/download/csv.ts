/** Series as CSV, long, as `sojourn export csv RUN` writes them. */

import type { Series } from "../engine/engine";

export const HEADING = "series,unit,t_s,value";

/** In pieces, as a `Blob` takes them: a long run is tens of megabytes. */
export function csv(series: readonly Series[]): string[] {
  const pieces = series.map(({ name, unit, t, v }) => {
    const head = `${cell(name)},${cell(unit)},`;
    const lines = Array.from(t, (time, n) => `${head}${decimal(time)},${decimal(v[n]!)}\n`);
    return lines.join("");
  });
  return [`${HEADING}\n`, ...pieces];
}

/** With a point even where it is whole, as Rust and Python write floating-point numbers. */
function decimal(value: number): string {
  const text = String(value);
  return Number.isInteger(value) && !text.includes("e") ? `${text}.0` : text;
}

/** Quoted where it has to be; names of flows hold nothing of the kind. */
function cell(text: string): string {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
