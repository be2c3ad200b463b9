/** From recorded series to the columns of a panel. */

import type { Samples } from "../run/recording";
import type { Curve } from "./config";
import { perSecond } from "./laws";

export type Line = { t: ArrayLike<number>; v: ArrayLike<number> };

/** A curve as it is drawn. */
export function lineOf({ as = "value", bin = 1 }: Curve, samples: Samples, rate_mbps: number): Line {
  if (as === "value") return samples;
  const binned = growth(samples, bin);
  const scale = as === "rate" ? 8e-6 : 1 / perSecond(rate_mbps);
  return { t: binned.t, v: binned.v.map((value) => value * scale) };
}

/** Growth of a count per second, in bins, at their middles. */
function growth({ t, v }: Samples, bin: number): { t: number[]; v: number[] } {
  const end = t.at(-1) ?? 0, edges: number[] = [];
  for (let edge = 0; edge <= end + bin / 2; edge += bin) edges.push(edge);
  let at = 0;
  const totals = edges.map((edge) => {
    while (at + 1 < t.length && t[at + 1]! <= edge) at += 1;
    if (t.length === 0 || edge <= t[0]!) return v[0] ?? 0;
    if (at + 1 >= t.length) return v[at]!;
    return v[at]! + ((v[at + 1]! - v[at]!) * (edge - t[at]!)) / (t[at + 1]! - t[at]!);
  });
  return { t: edges.slice(1).map((edge) => edge - bin / 2), v: totals.slice(1).map((total, i) => (total - totals[i]!) / bin) };
}

/** One table of all times, as uPlot wants it; null where a curve has no value, and what a logarithm does not have. */
export function table(lines: Line[], log: boolean, [from, to]: [number, number]): (number | null)[][] {
  const times = new Set<number>();
  const columns = lines.map(({ t, v }) => {
    const values = new Map<number, number | null>();
    for (let i = 0; i < t.length; i++) {
      const time = t[i]!, value = v[i]!;
      if (time < from || time > to) continue;
      times.add(time);
      values.set(time, Number.isFinite(value) && (!log || value > 0) ? value : null);
    }
    return values;
  });
  const sorted = [...times].sort((a, b) => a - b);
  // A time that a curve does not have is undefined, which joins; null is a gap.
  return [sorted, ...columns.map((column) => sorted.map((time) => column.get(time) as number | null))];
}
