/** Panels over one time axis: rate, RTT, queue delay, window, marks and drops, or any recorded series. */

import { type Curve, busiest, curve, grouped, ofGroups, ofSeries, perSecond } from "./curves";
import type { Recording } from "./recording";

export type PanelKey = "rate" | "queue_delay" | "rtt" | "marks_drops" | "cwnd";

export type Panel = {
  /** A `PanelKey`, or the pattern of series. */
  readonly key: string;
  readonly title: string;
  readonly unit: string;
  readonly curves: readonly Curve[];
  /** Whether the curves are of queues, which have colours of their own. */
  readonly ofQueues: boolean;
  /** Whether the axis begins at 0. */
  readonly fromZero: boolean;
};

/** All panels that have something to show; rates are means of a two-hundredth of the run. */
export function panels(recording: Recording, durationS: number): Panel[] {
  const stepS = binS(durationS);
  const ofFlows = { ofQueues: false, fromZero: true };
  const ofQueues = { ofQueues: true, fromZero: true };
  const found: Panel[] = [
    { key: "rate", title: "Goodput", unit: "Mbit/s", curves: grouped(rate(recording, stepS)), ...ofFlows },
    { key: "queue_delay", title: "Queue delay", unit: "ms", curves: busiest(queueDelay(recording)), ...ofQueues },
    { key: "rtt", title: "RTT", unit: "ms", curves: grouped(rtt(recording)), ...ofFlows, fromZero: false },
    { key: "marks_drops", title: "Marks and drops", unit: "packets/s", curves: busiest(signals(recording, stepS)), ...ofQueues },
    { key: "cwnd", title: "Congestion window", unit: "segments", curves: grouped(ofSeries(recording, "cwnd")), ...ofFlows },
  ];
  return found.filter(({ curves }) => curves.length > 0);
}

/** Recorded series by name, `*` for any part: `flow.*.cc.alpha`. */
export function named(recording: Recording, pattern: string): Panel {
  const text = pattern.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*/, "(.+)");
  const expression = new RegExp(`^${text}$`);
  const names = recording.names().filter((name) => expression.test(name));
  const curves = names
    .map((name) => curve(expression.exec(name)?.[1] ?? name, recording.finite(name)))
    .filter(({ t }) => t.length > 0);
  const units = new Set(names.map((name) => recording.unit(name)));
  const unit = units.size === 1 ? [...units][0]! : "";
  const ofQueues = pattern.startsWith("queue.");
  return { key: pattern, title: pattern, unit: unit === "1" ? "" : unit, curves: grouped(curves), ofQueues, fromZero: false };
}

/** Patterns of everything that was recorded, a flow's series under one. */
export function patterns(recording: Recording): string[] {
  return [...new Set(recording.names().map((name) => name.replace(/^(flow|ping|group)\.[^.]+\./, "$1.*.")))];
}

/** Seconds of which rates are means: a two-hundredth of the run, in round numbers from 0.05 to 1. */
export function binS(durationS: number): number {
  return [0.05, 0.1, 0.2, 0.5].find((step) => durationS <= 200 * step) ?? 1;
}

/** Goodput of each flow, Mbit/s. */
function rate(recording: Recording, stepS: number): Curve[] {
  const own = recording.flows().map((flow) => {
    const { t, v } = perSecond(recording.finite(`flow.${flow}.goodput_bytes`), stepS);
    return curve(flow, { t, v: v.map((bytes) => bytes * 8e-6) });
  });
  return [...own, ...ofGroups(recording, "goodput", stepS)].filter(({ t }) => t.length > 0);
}

/** RTT of each flow, of one that has none its one-way delay, and of each ping; ms. */
function rtt(recording: Recording): Curve[] {
  const flows = ofSeries(recording, "rtt");
  const have = new Set(flows.map(({ name }) => name));
  const oneWay = ofSeries(recording, "one_way").filter(({ name }) => !have.has(name));
  const pings = recording.pings().map((ping) => curve(ping, recording.finite(`ping.${ping}.rtt`), "ping"));
  return [...flows, ...oneWay.map((one) => ({ ...one, kind: "one-way" })), ...pings.filter(({ t }) => t.length > 0)];
}

/** Sojourn time of each queue where something waited, ms; of a dual queue in full use, the delay of either part. */
function queueDelay(recording: Recording): Curve[] {
  return recording.ports().flatMap((port) => {
    const parts = ["l", "c"].map((part) => curve(`${port} ${part.toUpperCase()}`, recording.finite(`queue.${port}.delay_${part}`)));
    const whole = [curve(port, recording.finite(`queue.${port}.sojourn`))];
    return [parts, whole].find((found) => found.every(({ v }) => v.some((value) => value !== 0))) ?? [];
  });
}

/** Marks and drops of each queue, packets/s. */
function signals(recording: Recording, stepS: number): Curve[] {
  return recording.ports().flatMap((port) =>
    ["marks", "drops"].flatMap((kind) => {
      const total = recording.finite(`queue.${port}.${kind}`);
      return total.v.some((count) => count > 0) ? [curve(port, perSecond(total, stepS), kind)] : [];
    }),
  );
}

