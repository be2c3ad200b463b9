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

/** As Rust and Python write floating-point numbers: with a point even where it is whole, exponents for the very small and large. */
function decimal(value: number): string {
  const size = Math.abs(value);
  if (size > 0 && size < Infinity && (size < 1e-5 || size >= 1e16)) return value.toExponential().replace("e+", "e");
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

/** Quoted where it has to be; names of flows hold nothing of the kind. */
function cell(text: string): string {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
