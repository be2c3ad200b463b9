/** Numbers that a run comes to, by which runs are compared and swept. */

import type { Output } from "../engine/engine";
import { bottleneck, flowRows, number, objects, queueRows, total } from "../run/glance";

export type Measure = {
  /** Stable, such as `queue.bneck.mean`. */
  readonly key: string;
  readonly label: string;
  readonly unit: string;
  /** Of this run; null where it has no such number. */
  readonly of: (output: Output) => number | null;
};

/** What every run has a number for, and what the flows of these outputs have; the first is the one to begin with. */
export function measures(outputs: readonly Output[]): Measure[] {
  const names = [...new Set(outputs.flatMap((output) => flowRows(output).filter(({ what }) => what !== "ping").map(({ name }) => name)))];
  const pings = [...new Set(outputs.flatMap(({ summary }) => objects(summary.pings).map(({ name }) => String(name))))];
  const every = [...OF_RUNS, ...names.flatMap(ofFlow), ...pings.map(ofPing)];
  return every.filter((measure) => outputs.some((output) => measure.of(output) !== null));
}

const OF_RUNS: readonly Measure[] = [
  { key: "queue.mean", label: "mean queue delay", unit: "ms", of: (output) => bottleneck(queueRows(output))?.meanMs ?? null },
  { key: "queue.p99", label: "p99 queue delay", unit: "ms", of: (output) => bottleneck(queueRows(output))?.p99Ms ?? null },
  { key: "goodput", label: "goodput of all flows", unit: "Mbit/s", of: (output) => total(flowRows(output).map(({ goodputMbps }) => goodputMbps)) },
  { key: "utilisation", label: "utilisation", unit: "%", of: (output) => percent(bottleneck(queueRows(output))?.utilisation) },
  { key: "jain", label: "Jain's fairness index", unit: "", of: ({ summary }) => number(summary, "metrics", "fairness", "jain") },
  { key: "marks", label: "marks", unit: "packets", of: (output) => total(queueRows(output).map(({ marks }) => marks)) },
  { key: "drops", label: "drops", unit: "packets", of: (output) => total(queueRows(output).map(({ drops }) => drops)) },
  { key: "retransmits", label: "retransmits", unit: "segments", of: (output) => total(flowRows(output).map(({ retransmits }) => retransmits)) },
];

function ofFlow(name: string): Measure[] {
  const row = (output: Output) => flowRows(output).find((one) => one.name === name);
  const delay = (output: Output): string => row(output)?.delay ?? "";
  return [
    { key: `flow.${name}.goodput`, label: `goodput of ${name}`, unit: "Mbit/s", of: (output) => row(output)?.goodputMbps ?? null },
    {
      key: `flow.${name}.share`,
      label: `share of ${name}`,
      unit: "%",
      of: (output) => {
        const all = total(flowRows(output).map(({ goodputMbps }) => goodputMbps));
        const own = row(output)?.goodputMbps;
        return own === null || own === undefined || !all ? null : (100 * own) / all;
      },
    },
    { key: `flow.${name}.delay`, label: `mean delay of ${name}`, unit: "ms", of: (output) => (delay(output) ? (row(output)?.meanMs ?? null) : null) },
    { key: `flow.${name}.p99`, label: `p99 delay of ${name}`, unit: "ms", of: (output) => row(output)?.p99Ms ?? null },
  ];
}

function ofPing(name: string): Measure {
  const row = (output: Output) => flowRows(output).find((one) => one.what === "ping" && one.name === name);
  return { key: `ping.${name}.mean`, label: `mean RTT of ${name}`, unit: "ms", of: (output) => row(output)?.meanMs ?? null };
}

function percent(share: number | null | undefined): number | null {
  return share === null || share === undefined ? null : 100 * share;
}
