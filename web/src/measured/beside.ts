/** A run beside its measurement: curves over each other, and numbers with their differences. */

import type { Output } from "../engine/engine";
import { type Curve, curve, perSecond } from "../run/curves";
import { flowRows, number, objects } from "../run/glance";
import type { Recording } from "../run/recording";
import { type Measurement, samples } from "./measurement";

export type Row = {
  readonly what: string;
  readonly unit: string;
  readonly measured: number;
  readonly simulated: number | null;
};

export type Pair = { readonly title: string; readonly unit: string; readonly curves: readonly Curve[]; readonly fromZero: boolean };

export function curvesBeside(recording: Recording, measurement: Measurement): Pair[] {
  const names = measurement.flows.map(({ name }) => name);
  const measured = (name: string, series: string): Curve => curve(name, samples(measurement, series), "measured");
  const isPerSecond = measurement.flows.every((flow) => flow.delivery_rate_mbps === null);
  const rate = names.flatMap((name) => {
    const { t, v } = isPerSecond
      ? perSecond(recording.finite(`flow.${name}.goodput_bytes`), 1)
      : recording.finite(`flow.${name}.delivery_rate`);
    const ours = curve(name, { t, v: isPerSecond ? v.map((bytes) => bytes * 8e-6) : v });
    return [ours, measured(name, `flow.${name}.delivery_rate`)];
  });
  const own = (series: string): Curve[] =>
    names.flatMap((name) => [curve(name, recording.finite(`flow.${name}.${series}`)), measured(name, `flow.${name}.${series}`)]);
  const pings = recording.pings().slice(0, 1).map((ping) => curve("ping", recording.finite(`ping.${ping}.rtt`)));
  const found: Pair[] = [
    { title: isPerSecond ? "Goodput, each second" : "Delivery rate", unit: "Mbit/s", curves: rate, fromZero: true },
    { title: "TCP RTT", unit: "ms", curves: own("rtt"), fromZero: false },
    { title: "Ping RTT", unit: "ms", curves: [...pings, measured("ping", "ping.icmp.rtt")], fromZero: false },
    { title: "Congestion window", unit: "segments", curves: own("cwnd"), fromZero: true },
  ];
  const kept = found.map((pair) => ({ ...pair, curves: pair.curves.filter(({ t }) => t.length > 0) }));
  return kept.filter(({ curves }) => curves.some(({ kind }) => kind === "measured"));
}

/** Means of the measuring windows, which are those of the suite on both sides. */
export function rowsBeside(output: Output, measurement: Measurement): Row[] {
  const ours = new Map(flowRows(output).map((row) => [row.name, row]));
  const rows = measurement.flows.flatMap(({ name, goodput_mbps, tcp_rtt_ms }): Row[] => [
    { what: `goodput of ${name}`, unit: "Mbit/s", measured: goodput_mbps, simulated: ours.get(name)?.goodputMbps ?? null },
    ...(tcp_rtt_ms ? [{ what: `mean RTT of ${name}`, unit: "ms", measured: tcp_rtt_ms.mean, simulated: ours.get(name)?.meanMs ?? null }] : []),
    ...(tcp_rtt_ms?.p99 ? [{ what: `p99 RTT of ${name}`, unit: "ms", measured: tcp_rtt_ms.p99, simulated: ours.get(name)?.p99Ms ?? null }] : []),
  ]);
  const [ping] = objects(output.summary.pings);
  if (measurement.ping_ms) rows.push({ what: "mean ping", unit: "ms", measured: measurement.ping_ms.mean, simulated: number(ping, "rtt_ms", "mean") });
  return rows;
}

/** Such as `goodput of prague 4.38 Mbit/s, measured 4.31: +1.5 %`. */
export function percent({ measured, simulated }: Row): number | null {
  return simulated === null || measured === 0 ? null : (100 * (simulated - measured)) / measured;
}
