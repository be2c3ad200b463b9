/** What a testbed measured in a suite's run: numbers of its window, and thinned series. */

import type { Samples } from "../run/recording";

export type Statistics = { readonly mean: number; readonly p50: number; readonly p99: number | null };

export type MeasuredFlow = {
  readonly name: string;
  readonly goodput_mbps: number;
  readonly delivery_rate_mbps: Statistics | null;
  readonly tcp_rtt_ms: Statistics | null;
};

export type Measurement = {
  readonly source: string;
  readonly window_s: readonly [number, number];
  readonly flows: readonly MeasuredFlow[];
  readonly ping_ms: Statistics | null;
  readonly series: Readonly<Record<string, readonly [t: number[], v: number[]]>>;
};

/** Beside the page, where `scenarios.py` put them. */
const FOLDER = "scenarios/measured";

let index: Promise<ReadonlySet<string>> | undefined;

/** The measurement of the scenario with this name; null if there is none. */
export async function measurementOf(name: string): Promise<Measurement | null> {
  index ??= fetched<string[]>(`${FOLDER}/index.json`).then((ids) => new Set(ids ?? []));
  return (await index).has(name) ? fetched<Measurement>(`${FOLDER}/${name}.json`) : null;
}

/** Null if it is not there: a page without measurements is whole. */
async function fetched<T>(path: string): Promise<T | null> {
  const response = await fetch(path).catch(() => null);
  return response?.ok ? ((await response.json()) as T) : null;
}

export function samples(measurement: Measurement, name: string): Samples {
  const [t, v] = measurement.series[name] ?? [[], []];
  return { t: Float64Array.from(t), v: Float64Array.from(v) };
}
