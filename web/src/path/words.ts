/** Short words for what a picture names. */

import type { DirectionOutline } from "../engine/engine";

const UNITS: readonly (readonly [number, string])[] = [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]];

export function rate(bps: number | null): string {
  if (bps === null) return "no rate";
  const [size, unit] = UNITS.find(([size]) => bps >= size) ?? UNITS[3]!;
  return `${Number((bps / size).toPrecision(4))} ${unit}`;
}

export function delay(ms: number): string {
  return `${Number(ms.toPrecision(4))} ms`;
}

/** The algorithm of a spec, without its parameters. */
export function algorithm(spec: string): string {
  return spec.split(" ", 1)[0] ?? spec;
}

/** Queue, rate and delay of one direction. */
export function direction({ qdisc, rate_bps, shaper, delay_ms, ingress }: DirectionOutline): string {
  const before = ingress.map(algorithm).join(", ");
  return [before && `${before} before`, algorithm(qdisc), shaper && algorithm(shaper), rate(rate_bps), delay(delay_ms)].filter(Boolean).join(", ");
}
