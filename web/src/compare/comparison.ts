/** A run, its fork with one parameter changed, and both again with other seeds. */

import { signal } from "@preact/signals";

import { Cancelled, type Engine, type Output } from "../engine/engine";
import { type Many, many } from "../run/many";
import { valueOf } from "../scenario/parameters";
import { type Difference, differences } from "./difference";

export type Change = { readonly key: string; readonly value: string };

export class Comparison {
  readonly status = signal<"running" | "done" | "failed" | "cancelled">("running");
  readonly ended = signal(0);
  readonly error = signal("");
  readonly found = signal<readonly Difference[]>([]);
  /** Of the first seed, for the curves. */
  readonly sides = signal<readonly [Output, Output] | null>(null);
  /** Resolved scenarios of the first seed: as it was, and changed. */
  tomls: readonly [string, string] = ["", ""];
  readonly labels: readonly [string, string];
  #many: Many<Output> | null = null;

  constructor(
    readonly base: string,
    readonly change: Change,
    readonly seeds: number,
  ) {
    this.labels = [valueOf(base, change.key) ?? "as it was", change.value];
  }

  /** Runs all of it; ends with the status, and never rejects. */
  async carry(engine: Engine): Promise<void> {
    try {
      const first = Number(valueOf(this.base, "seed") ?? 1);
      const seeds = Array.from({ length: this.seeds }, (_, n) => String(first + n));
      const { key, value } = this.change;
      // Refused at once, before anything runs.
      const changed = await Promise.all(seeds.map((seed) => engine.resolve(this.base, [["seed", seed], [key, value]])));
      const kept = await Promise.all(seeds.map((seed) => engine.resolve(this.base, [["seed", seed]])));
      this.tomls = [kept[0]!.toml, changed[0]!.toml];
      // Both sides of a seed beside each other: the curves are those of the first two.
      const tomls = kept.flatMap(({ toml }, n) => [toml, changed[n]!.toml]);
      this.#many = many(engine, tomls, (output, place) => {
        this.ended.value += 1;
        return place < 2 ? output : { ...output, series: [] };
      });
      const outputs = await this.#many.done;
      const side = (of: number): Output[] => outputs.filter((_, n) => n % 2 === of);
      this.sides.value = [outputs[0]!, outputs[1]!];
      this.found.value = differences(side(0), side(1));
      this.status.value = "done";
    } catch (error) {
      this.status.value = error instanceof Cancelled ? "cancelled" : "failed";
      this.error.value = (error as Error).message;
    }
  }

  cancel(): void {
    this.#many?.cancel();
  }
}
