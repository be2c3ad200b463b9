/** A scenario over the values of one or two parameters, and over seeds, on all cores. */

import { signal } from "@preact/signals";

import { type Mean, mean } from "../compare/student";
import type { Measure } from "../compare/measures";
import { Cancelled, type Engine, type Output, type Override } from "../engine/engine";
import { type Many, many } from "../run/many";
import { valueOf } from "../scenario/parameters";
import { type Axis, points } from "./axis";

export const MOST_RUNS = 1000;

/** A point of the sweep: its values, its scenario with the first seed, and what its runs left, by seed. */
export type Cell = {
  readonly values: readonly string[];
  readonly toml: string;
  readonly outputs: readonly (Output | null)[];
};

export class Sweep {
  readonly status = signal<"running" | "done" | "failed" | "cancelled">("running");
  readonly error = signal("");
  /** In the order of the points, whichever run ends first. */
  readonly cells = signal<readonly Cell[]>([]);
  readonly ended = signal(0);
  #many: Many<void> | null = null;

  constructor(
    readonly base: string,
    readonly axes: readonly Axis[],
    readonly seeds: number,
  ) {}

  get runs(): number {
    return this.seeds * points(this.axes).length;
  }

  /** Runs all of it; ends with the status, and never rejects. */
  async carry(engine: Engine): Promise<void> {
    try {
      if (this.runs > MOST_RUNS) throw new Error(`sweep: expected at most ${MOST_RUNS} runs, found ${this.runs}`);
      const first = Number(valueOf(this.base, "seed") ?? 1);
      const plan = points(this.axes).map((values) => {
        const set = values.map((value, n): Override => [this.axes[n]!.key, value]);
        const seeds = Array.from({ length: this.seeds }, (_, n) => String(first + n));
        return { values, overrides: seeds.map((seed): Override[] => [["seed", seed], ...set]) };
      });
      // A value that is refused is named before anything runs.
      const tomls = await Promise.all(
        plan.map(({ overrides }) => Promise.all(overrides.map(async (set) => (await engine.resolve(this.base, set)).toml))),
      );
      this.cells.value = plan.map(({ values }, n) => ({ values, toml: tomls[n]![0]!, outputs: tomls[n]!.map(() => null) }));
      this.#many = many(engine, tomls.flat(), (output, place) => this.#put(place, { ...output, series: [] }));
      await this.#many.done;
      this.status.value = "done";
    } catch (error) {
      this.status.value = error instanceof Cancelled ? "cancelled" : "failed";
      this.error.value = (error as Error).message;
    }
  }

  cancel(): void {
    this.#many?.cancel();
  }

  #put(place: number, output: Output): void {
    const [cell, seed] = [Math.floor(place / this.seeds), place % this.seeds];
    this.cells.value = this.cells.value.map((one, n) => (n === cell ? { ...one, outputs: one.outputs.with(seed, output) } : one));
    this.ended.value += 1;
  }
}

/** Of the seeds that have ended; null if none has, or a run has no such number. */
export function value({ outputs }: Cell, measure: Measure): Mean | null {
  const found = outputs.filter((output) => output !== null).map(measure.of);
  return found.length > 0 && found.every((one) => one !== null) ? mean(found as number[]) : null;
}
