/** Curves of a run: read from its series, named, and grouped where there are many. */

import { MOST, gathered } from "./groups";
import { EMPTY, type Recording, type Samples } from "./recording";

/** Percentiles of a group's flows: its band, and in it the median. */
export const [LOW, HIGH] = [10, 90];
const POINTS = 600;

/** Values over seconds; of a group the median, with the bounds of its band. */
export type Curve = Samples & {
  readonly name: string;
  /** What it is, where that is not what the panel says: `ping`, `marks`, `drops`, `measured`. */
  readonly kind: string;
  readonly band?: { readonly low: Float64Array; readonly high: Float64Array };
};

export function curve(name: string, samples: Samples, kind = ""): Curve {
  return { name, kind, t: samples.t, v: samples.v };
}

/** What the legend says. */
export function label({ name, kind }: Curve): string {
  return kind === "" || name.includes(kind) ? name : `${name} ${kind}`;
}

/** A curve for each flow that has this series, and a band for each group of them. */
export function ofSeries(recording: Recording, name: string): Curve[] {
  const own = recording.flows().map((flow) => curve(flow, recording.finite(`flow.${flow}.${name}`)));
  return [...own, ...ofGroups(recording, name)].filter(({ t }) => t.length > 0);
}

/** A median and a band for each group of flows without series of their own, in means of `stepS` seconds. */
export function ofGroups(recording: Recording, name: string, stepS = 0): Curve[] {
  return recording.groups().flatMap((group): Curve[] => {
    const read = (q: string): Samples => averaged(recording.finite(`group.${group}.${name}.${q}`), stepS);
    const [low, middle, high] = [read(`p${LOW}`), read("p50"), read(`p${HIGH}`)];
    if (middle.t.length === 0 || low.t.length !== middle.t.length || high.t.length !== middle.t.length) return [];
    return [{ ...curve(`${group}-*`, middle), band: { low: low.v, high: high.v } }];
  });
}

/** What a count grows by in whole intervals of `stepS` seconds, per second, at their middles. */
export function perSecond({ t, v }: Samples, stepS: number): Samples {
  const from = t[0];
  if (from === undefined) return EMPTY;
  const count = Math.floor((t[t.length - 1]! - from) / stepS + 1e-6);
  const edges = interpolated({ t, v }, Float64Array.from({ length: count + 1 }, (_, n) => from + n * stepS));
  return {
    t: Float64Array.from({ length: count }, (_, n) => from + (n + 0.5) * stepS),
    v: Float64Array.from({ length: count }, (_, n) => (edges[n + 1]! - edges[n]!) / stepS),
  };
}

/** Means of the values in intervals of `stepS` seconds, at their middles; 0 leaves them as they are. */
export function averaged({ t, v }: Samples, stepS: number): Samples {
  if (t.length === 0 || stepS === 0) return { t, v };
  const from = t[0]!;
  const sums = new Map<number, [sum: number, count: number]>();
  for (let n = 0; n < t.length; n += 1) {
    const place = Math.floor((t[n]! - from) / stepS + 1e-6);
    const [sum, count] = sums.get(place) ?? [0, 0];
    sums.set(place, [sum + v[n]!, count + 1]);
  }
  return {
    t: Float64Array.from(sums.keys(), (place) => from + (place + 0.5) * stepS),
    v: Float64Array.from(sums.values(), ([sum, count]) => sum / count),
  };
}

/** At most `most` curves, and one more for each further kind: of groups their medians and bands. */
export function grouped(curves: readonly Curve[], most = MOST): Curve[] {
  const drawn: Curve[] = [];
  for (const kind of new Set(curves.map((one) => one.kind))) {
    const members = new Map(curves.filter((one) => one.kind === kind).map((one) => [one.name, one]));
    for (const [title, names] of gathered([...members.keys()], Math.max(most - drawn.length, 1))) {
      drawn.push(banded(title, names.map((name) => members.get(name)!)));
    }
  }
  return drawn;
}

/** At most `most` curves for each kind: of groups the sums. */
export function summed(curves: readonly Curve[], most = MOST): Curve[] {
  return [...new Set(curves.map(({ kind }) => kind))].flatMap((kind) => {
    const members = new Map(curves.filter((one) => one.kind === kind).map((one) => [one.name, one]));
    return [...gathered([...members.keys()], most)].map(([title, names]) => total(title, names.map((name) => members.get(name)!)));
  });
}

/** The sum of curves at the times of the longest of them; before its first sample and after its last a curve adds nothing. */
function total(title: string, curves: readonly Curve[]): Curve {
  if (curves.length === 1) return curves[0]!;
  const { t, kind } = curves.reduce((a, b) => (b.t.length > a.t.length ? b : a));
  const v = new Float64Array(t.length);
  for (const one of curves) interpolated(one, t).forEach((value, n) => (v[n]! += Number.isNaN(value) ? 0 : value));
  return { name: title, kind, t, v };
}

/** At most `most` curves, those with the largest means, in their order: queues have no common distribution. */
export function busiest(curves: readonly Curve[], most = MOST): Curve[] {
  const mean = ({ v }: Curve): number => v.reduce((sum, value) => sum + value, 0) / v.length;
  const kept = new Set([...curves].sort((a, b) => mean(b) - mean(a)).slice(0, most));
  return curves.filter((one) => kept.has(one));
}

function banded(title: string, curves: readonly Curve[]): Curve {
  if (curves.length === 1) return curves[0]!;
  const opens = Math.min(...curves.map(({ t }) => t[0]!));
  const closes = Math.max(...curves.map(({ t }) => t[t.length - 1]!));
  const points = Math.min(Math.max(...curves.map(({ t }) => t.length)), POINTS);
  const times = Float64Array.from({ length: points }, (_, n) => opens + ((closes - opens) * n) / Math.max(points - 1, 1));
  const table = curves.map((one) => interpolated(one, times));
  const [low, middle, high] = [new Float64Array(points), new Float64Array(points), new Float64Array(points)];
  const here = new Float64Array(curves.length);
  let kept = 0;
  for (let n = 0; n < points; n += 1) {
    let open = 0;
    for (const row of table) if (!Number.isNaN(row[n]!)) here[open++] = row[n]!;
    if (open === 0) continue;
    const sorted = here.subarray(0, open).sort();
    [low[kept], middle[kept], high[kept]] = [quantile(sorted, LOW / 100), quantile(sorted, 0.5), quantile(sorted, HIGH / 100)];
    times[kept++] = times[n]!;
  }
  const cut = (column: Float64Array): Float64Array => column.subarray(0, kept);
  return { name: title, kind: curves[0]!.kind, t: cut(times), v: cut(middle), band: { low: cut(low), high: cut(high) } };
}

/** Of sorted values, linear between them. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  const place = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!];
  return low + (place - Math.floor(place)) * (high - low);
}

/** Values at ascending times; NaN outside the samples. */
function interpolated({ t, v }: Samples, times: Float64Array): Float64Array {
  const values = new Float64Array(times.length);
  const last = t.length - 1;
  let n = 0;
  for (let at = 0; at < times.length; at += 1) {
    const time = times[at]!;
    while (n < last && t[n + 1]! < time) n += 1;
    if (n === last) values[at] = time === t[n] ? v[n]! : NaN;
    else if (time < t[n]!) values[at] = NaN;
    else values[at] = v[n]! + ((time - t[n]!) / (t[n + 1]! - t[n]!)) * (v[n + 1]! - v[n]!);
  }
  // The last edge of a whole number of steps may be past the last sample by rounding.
  if (last >= 0 && times.length > 0 && Math.abs(times[times.length - 1]! - t[last]!) < 1e-9) {
    values[times.length - 1] = v[last]!;
  }
  return values;
}
