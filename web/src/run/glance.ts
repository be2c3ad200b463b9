/** A run in few numbers, as `sojourn run` prints it: a row for each flow and ping, a row for each queue. */

import type { Output } from "../engine/engine";
import { quantile } from "./curves";
import { copies } from "./groups";

/** What a flow's delay is, and where it is in the summary: the first that it has. */
const DELAYS: readonly (readonly [string, readonly string[]])[] = [
  ["transfer", ["completions", "fct_ms"]],
  ["frame", ["media", "frames", "delay_ms"]],
  ["RTT", ["rtt_ms"]],
  ["one-way", ["one_way", "delay_ms"]],
];

/** Goodput and delays are of the measuring window, counts of the whole run. */
export type FlowRow = {
  readonly name: string;
  /** Application and controller, without their parameters; `ping`. */
  readonly what: string;
  readonly goodputMbps: number | null;
  readonly delay: string;
  readonly meanMs: number | null;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** CE marks that the receiver got. */
  readonly marks: number | null;
  readonly retransmits: number | null;
  /** Of a ping: replies and requests. */
  readonly answered: readonly [number, number] | null;
};

export type QueueRow = {
  readonly name: string;
  readonly qdisc: string;
  readonly meanMs: number | null;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly drops: number | null;
  readonly marks: number | null;
  readonly utilisation: number | null;
};

/** Flows in the order of the scenario, copies as one, and then pings. */
export function flowRows({ summary }: Pick<Output, "summary">): FlowRow[] {
  const rows = new Map(objects(summary.flows).map((flow) => [String(flow["name"]), flowRow(flow)]));
  const flows = [...copies([...rows.keys()])].map(([label, names]) => together(label, names.map((name) => rows.get(name)!)));
  return [...flows, ...objects(summary.pings).map(pingRow)];
}

export function queueRows({ queues }: Pick<Output, "queues">): QueueRow[] {
  return objects(queues).map((queue) => ({
    name: String(queue["name"] ?? ""),
    // The queue, not the shaper around it: `htb rate 50Mbit; dualpi2 limit ...`.
    qdisc: (String(queue["qdisc"] ?? "").split("; ").at(-1) ?? "").split(" ")[0] ?? "",
    meanMs: number(queue, "sojourn_ms", "mean"),
    p50Ms: number(queue, "sojourn_ms", "p50"),
    p99Ms: number(queue, "sojourn_ms", "p99"),
    drops: number(queue, "dropped"),
    marks: number(queue, "marked"),
    utilisation: number(queue, "utilisation"),
  }));
}

/** Whether a queue did anything worth a line: dropped, marked or delayed, other than at an ingress. */
export function isBusy({ name, drops, marks, p99Ms }: QueueRow): boolean {
  return Boolean(drops || marks || (p99Ms && !name.includes(".ingress")));
}

/** The queue whose rate was used most; the slowest where none has a rate. */
export function bottleneck(rows: readonly QueueRow[]): QueueRow | null {
  const rated = rows.filter(({ utilisation }) => utilisation !== null);
  if (rated.length) return rated.reduce((a, b) => (b.utilisation! > a.utilisation! ? b : a));
  const timed = rows.filter(({ p99Ms }) => p99Ms !== null);
  return timed.length ? timed.reduce((a, b) => (b.p99Ms! > a.p99Ms! ? b : a)) : null;
}

function flowRow(flow: Document): FlowRow {
  const [app, cc] = ["app", "cc"].map((key) => String(flow[key] ?? "").split(" ")[0]);
  const [delay, at] = DELAYS.find(([, path]) => number(flow, ...path, "p50") !== null) ?? ["", []];
  const ends = (key: string): number | null => total(["sender", "receiver"].map((end) => number(flow, end, key)));
  return {
    name: String(flow["name"]),
    what: `${app} ${cc}`.trim(),
    goodputMbps: number(flow, "goodput_mbps"),
    delay,
    meanMs: delay ? number(flow, ...at, "mean") : null,
    p50Ms: delay ? number(flow, ...at, "p50") : null,
    p99Ms: delay ? number(flow, ...at, "p99") : null,
    marks: ends("ce_received"),
    retransmits: ends("retransmits"),
    answered: null,
  };
}

function pingRow(ping: Document): FlowRow {
  const [received, sent] = [number(ping, "totals", "received"), number(ping, "totals", "sent")];
  return {
    name: String(ping["name"]),
    what: "ping",
    goodputMbps: null,
    delay: "RTT",
    meanMs: number(ping, "rtt_ms", "mean"),
    p50Ms: number(ping, "rtt_ms", "p50"),
    p99Ms: number(ping, "rtt_ms", "p99"),
    marks: null,
    retransmits: null,
    answered: received === null || sent === null ? null : [received, sent],
  };
}

/** Of a group, goodput and counts are sums, p50 and mean are medians of its flows', p99 is the largest. */
function together(label: string, rows: readonly FlowRow[]): FlowRow {
  if (rows.length === 1) return rows[0]!;
  const alike = new Set(rows.map(({ what }) => what));
  const sum = (of: (row: FlowRow) => number | null): number | null => total(rows.map(of));
  const middle = (of: (row: FlowRow) => number | null): number | null => {
    const values = present(rows.map(of)).sort((a, b) => a - b);
    return values.length ? quantile(values, 0.5) : null;
  };
  const largest = present(rows.map(({ p99Ms }) => p99Ms));
  return {
    name: label,
    what: alike.size === 1 ? rows[0]!.what : "mixed",
    goodputMbps: sum(({ goodputMbps }) => goodputMbps),
    delay: rows[0]!.delay,
    meanMs: middle(({ meanMs }) => meanMs),
    p50Ms: middle(({ p50Ms }) => p50Ms),
    p99Ms: largest.length ? Math.max(...largest) : null,
    marks: sum(({ marks }) => marks),
    retransmits: sum(({ retransmits }) => retransmits),
    answered: null,
  };
}

export type Document = Record<string, unknown>;

export function objects(rows: unknown): Document[] {
  return Array.isArray(rows) ? rows.filter((row) => typeof row === "object" && row !== null) : [];
}

/** A number in a document; null where there is none. */
export function number(document: unknown, ...path: string[]): number | null {
  for (const key of path) {
    if (typeof document !== "object" || document === null) return null;
    document = (document as Document)[key];
  }
  return typeof document === "number" && Number.isFinite(document) ? document : null;
}

export function present(values: readonly (number | null)[]): number[] {
  return values.filter((value) => value !== null);
}

export function total(values: readonly (number | null)[]): number | null {
  const found = present(values);
  return found.length ? found.reduce((sum, value) => sum + value, 0) : null;
}
