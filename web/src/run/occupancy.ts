/** Who is in a queue, and who is marked: what flows have in flight beyond their path, and marks as they reach receivers. */

import type { Output } from "../engine/engine";
import { type Curve, curve, perSecond } from "./curves";
import { queueRows } from "./glance";
import type { Recording, Samples } from "./recording";
import { valueAt } from "./recording";

/** Payload of a full-sized segment with timestamps, bytes. */
const PAYLOAD = 1448;

/** Share of the longest queue's p99 delay below which another queue holds nothing back. */
const NEGLIGIBLE = 0.1;

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
 * Packets of each TCP flow in the queue, estimated: segments in flight beyond delivery rate times base RTT. Only where one
 * queue alone held packets back and all flows have the same base RTT; else the estimate would be of several queues. What
 * senders of media have in flight includes what waits for feedback.
 */
export function occupants(recording: Recording, output: Pick<Output, "summary" | "queues">): Curve[] {
  const { bottlenecks, base_rtt_ms } = output.summary.conditions;
  const delays = queueRows(output).map(({ p99Ms }) => p99Ms ?? 0);
  const held = delays.filter((delay) => delay > NEGLIGIBLE * Math.max(...delays));
  if (bottlenecks.length !== 1 || held.length !== 1 || !base_rtt_ms || base_rtt_ms.greatest > 1.01 * base_rtt_ms.least) return [];
  const perMbps = (base_rtt_ms.least * 1e-3 * 1e6) / 8 / PAYLOAD;
  return recording.flows().flatMap((flow): Curve[] => {
    const [inFlight, rate, cwnd] = ["in_flight", "delivery_rate", "cwnd"].map((name) => recording.finite(`flow.${flow}.${name}`));
    if (!inFlight?.t.length || !rate?.t.length || !cwnd?.t.length) return [];
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
