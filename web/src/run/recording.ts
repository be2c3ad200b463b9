/** What the series of a run say, by the names of flows, pings and queues. */

import type { Series } from "../engine/engine";

/** Times in seconds, and values. */
export type Samples = { readonly t: Float64Array; readonly v: Float64Array };

export const EMPTY: Samples = { t: new Float64Array(0), v: new Float64Array(0) };

class Column {
  #t: Float64Array = new Float64Array(64);
  #v: Float64Array = new Float64Array(64);
  #length = 0;
  /** Whether every value so far is a number; else those that are, once they were wanted. */
  #isFinite = true;
  #finite: Samples | null = null;

  constructor(readonly unit: string) {}

  append({ t, v }: Samples): void {
    const length = this.#length + t.length;
    if (length > this.#t.length) {
      this.#t = grown(this.#t, length);
      this.#v = grown(this.#v, length);
    }
    this.#t.set(t, this.#length);
    this.#v.set(v, this.#length);
    this.#length = length;
    this.#isFinite &&= v.every(Number.isFinite);
    this.#finite = null;
  }

  get all(): Samples {
    return { t: this.#t.subarray(0, this.#length), v: this.#v.subarray(0, this.#length) };
  }

  get finite(): Samples {
    return (this.#finite ??= this.#isFinite ? this.all : finite(this.all));
  }
}

/** The series of a run, as far as it has come; they grow at their ends. */
export class Recording {
  readonly #columns = new Map<string, Column>();

  static of(series: Iterable<Series>): Recording {
    const recording = new Recording();
    recording.append(series);
    return recording;
  }

  append(drained: Iterable<Series>): void {
    for (const { name, unit, t, v } of drained) {
      const column = this.#columns.get(name) ?? new Column(unit);
      this.#columns.set(name, column);
      column.append({ t, v });
    }
  }

  /** Names in the order in which they came. */
  names(): string[] {
    return [...this.#columns.keys()];
  }

  unit(name: string): string {
    return this.#columns.get(name)?.unit ?? "";
  }

  /** The samples of a series that are numbers; none if there is no such series. */
  finite(name: string): Samples {
    return this.#columns.get(name)?.finite ?? EMPTY;
  }

  /** Every series, with what is no number. */
  series(): Series[] {
    return [...this.#columns].map(([name, { unit, all }]) => ({ name, unit, ...all }));
  }

  /** Names of flows that have series of their own. */
  flows(): string[] {
    return named(this.names(), /^flow\.([^.]+)\./);
  }

  /** Names of groups of flows without series of their own. */
  groups(): string[] {
    return named(this.names(), /^group\.([^.]+)\./);
  }

  pings(): string[] {
    return named(this.names(), /^ping\.([^.]+)\.rtt$/);
  }

  /** Queues in their order, without those at an ingress. */
  ports(): string[] {
    return named(this.names(), /^queue\.(.+)\.sojourn$/).filter((port) => !port.includes(".ingress"));
  }
}

/** Value of the last sample at this time or before it; null before the first. */
export function valueAt({ t, v }: Samples, time: number): number | null {
  const after = upperBound(t, time);
  return after === 0 ? null : (v[after - 1] ?? null);
}

/** Place of the first time after this one. */
export function upperBound(t: Float64Array, time: number): number {
  let [low, high] = [0, t.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (t[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function named(names: string[], pattern: RegExp): string[] {
  const found = names.map((name) => pattern.exec(name)?.[1]);
  return [...new Set(found.filter((name) => name !== undefined))];
}

function finite({ t, v }: Samples): Samples {
  const kept = Array.from(v.keys()).filter((n) => Number.isFinite(v[n]));
  return { t: Float64Array.from(kept, (n) => t[n]!), v: Float64Array.from(kept, (n) => v[n]!) };
}

function grown(column: Float64Array, least: number): Float64Array {
  const larger = new Float64Array(Math.max(least, 2 * column.length));
  larger.set(column);
  return larger;
}
