/** Samples as a screen can show them: of each column of pixels the least and the greatest value, in their order. */

import { type Samples, upperBound } from "./recording";

export type Range = readonly [from: number, to: number];

/** Times of what `decimate` gives: two for each column of pixels. */
export function grid([from, to]: Range, columns: number): Float64Array {
  const step = (to - from) / (2 * columns);
  return Float64Array.from({ length: 2 * columns }, (_, n) => from + (n + 0.5) * step);
}

/** As many as `decimate` gives, of a line that is not drawn. */
export function nothing(columns: number): (number | null)[] {
  return new Array<number | null>(2 * columns).fill(null);
}

/**
 * Two values for each of `columns` equal parts of the range; null where nothing was sampled. Where a line enters or
 * leaves the range between two samples, its first and last value are interpolated.
 */
export function decimate({ t, v }: Samples, [from, to]: Range, columns: number): (number | null)[] {
  const drawn = nothing(columns);
  const first = from === -Infinity ? 0 : upperBound(t, from - Number.EPSILON * Math.abs(from));
  const last = upperBound(t, to);
  const perSecond = columns / (to - from);
  let n = first;
  while (n < last) {
    const column = Math.min(Math.floor((t[n]! - from) * perSecond), columns - 1);
    let [least, greatest] = [n, n];
    for (n += 1; n < last && Math.min(Math.floor((t[n]! - from) * perSecond), columns - 1) === column; n += 1) {
      if (v[n]! < v[least]!) least = n;
      if (v[n]! >= v[greatest]!) greatest = n;
    }
    drawn[2 * column] = v[Math.min(least, greatest)]!;
    drawn[2 * column + 1] = v[Math.max(least, greatest)]!;
  }
  drawn[0] ??= between(t, v, first, from);
  drawn[2 * columns - 1] ??= between(t, v, last, to);
  return drawn;
}

/** The value of the line at a time, whose next sample is at `after`; null outside it. */
function between(t: Float64Array, v: Float64Array, after: number, time: number): number | null {
  if (after === 0 || after >= t.length) return null;
  const share = (time - t[after - 1]!) / (t[after]! - t[after - 1]!);
  return v[after - 1]! + share * (v[after]! - v[after - 1]!);
}
