/** Numbers that a run left, by name. */

import type { Output } from "../engine/engine";
import { figure } from "../run/figure";
import type { Measure } from "./entry";

/** What a measure is in a run; null if the run has no such number. */
export function measured(measure: Measure, output: Pick<Output, "summary" | "queues">): number | null {
  const value = place(measure.of, output);
  if (value === null || measure.over === undefined) return value;
  const whole = place(measure.over, output);
  return whole === null || whole === 0 ? null : value / whole;
}

/**
 * `flow.NAME.KEYS` and `ping.NAME.KEYS` are a row of the summary, `queue.NAME.KEYS` one of the queues, `run.KEYS` the
 * summary itself.
 */
function place(path: string, { summary, queues }: Pick<Output, "summary" | "queues">): number | null {
  const [kind, ...keys] = path.split(".");
  const rows = { flow: summary.flows, ping: summary.pings, queue: queues }[kind ?? ""];
  const from = rows ? named(rows, keys.shift()) : kind === "run" ? summary : undefined;
  const value = keys.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), from);
  return typeof value === "number" ? value : null;
}

function named(rows: unknown, name: string | undefined): unknown {
  return Array.isArray(rows) ? rows.find((row) => isObject(row) && row["name"] === name) : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** Without its unit, in which a share is of a hundred; counts, which have none, as they are. */
export function amount(value: number | null, unit?: string): string {
  if (value !== null && unit === undefined && Number.isInteger(value)) return String(value);
  return figure(value !== null && unit === "%" ? 100 * value : value);
}

/** With its unit, on one line. */
export function quantity(value: number | null, unit?: string): string {
  return unit ? `${amount(value, unit)}\u00a0${unit}` : amount(value);
}
