/** Who is in a queue, and who is marked: what flows have in flight beyond their path, and marks as they reach receivers. */

import type { Conditions } from "../engine/engine";
import { type Curve, curve, perSecond } from "./curves";
import type { Recording, Samples } from "./recording";
import { valueAt } from "./recording";

/** Payload of a full-sized segment with timestamps, bytes. */
const PAYLOAD = 1448;

/** A part of a queue at an instant: `L` and `C` of a dual queue, else all of it. */
export type Lane = { readonly name: string; readonly packets: number; readonly delayMs: number | null };

export function lanes(recording: Recording, port: string, instant: number): Lane[] {
  const read = (name: string): number | null => valueAt(recording.finite(`queue.${port}.${name}`), instant);
  const parts = ["L", "C"].flatMap((name): Lane[] => {
    const packets = read(`packets_${name.toLowerCase()}`);
    return packets === null ? [] : [{ name, packets, delayMs: read(`delay_${name.toLowerCase()}`) }];
  });
  return parts.length ? parts : [{ name: "", packets: read("backlog_packets") ?? 0, delayMs: read("sojourn") }];
}

/** The largest backlog of a queue in the run, packets. */
export function deepest(recording: Recording, port: string): number {
  return recording.finite(`queue.${port}.backlog_packets`).v.reduce((most, packets) => Math.max(most, packets), 0);
}

/**
 * Packets of each flow in the queue, estimated: segments in flight beyond delivery rate times base RTT. Only where one
 * queue alone holds packets back and all flows have the same base RTT; else the estimate would be of several queues.
 */
export function occupants(recording: Recording, { bottlenecks, base_rtt_ms }: Conditions): Curve[] {
  if (bottlenecks.length !== 1 || !base_rtt_ms || base_rtt_ms.greatest > 1.01 * base_rtt_ms.least) return [];
  const perMbps = (base_rtt_ms.least * 1e-3 * 1e6) / 8 / PAYLOAD;
  return recording.flows().flatMap((flow): Curve[] => {
    const inFlight = recording.finite(`flow.${flow}.in_flight`);
    const rate = recording.finite(`flow.${flow}.delivery_rate`);
    if (inFlight.t.length === 0 || rate.t.length === 0) return [];
    const v = inFlight.v.map((segments, n) => Math.max(segments - perMbps * (valueAt(rate, inFlight.t[n]!) ?? 0), 0));
    return [curve(flow, { t: inFlight.t, v })];
  });
}

/** CE marks that each flow's receiver got, and SCE marks, packets/s. */
export function marked(recording: Recording, stepS: number): Curve[] {
  return recording.flows().flatMap((flow) =>
    [["ce_received", ""], ["sce_received", "SCE"]].flatMap(([series, kind]) => {
      const total: Samples = recording.finite(`flow.${flow}.${series}`);
      return total.v.some((count) => count > 0) ? [curve(flow, perSecond(total, stepS), kind)] : [];
    }),
  );
}
