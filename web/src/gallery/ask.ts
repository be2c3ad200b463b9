/** Asks a question: runs its sides beside each other, and takes the numbers from what they left. */

import { computed, signal, type ReadonlySignal } from "@preact/signals";

import type { Output } from "../engine/engine";
import { launch, type RunRecord } from "../runs";
import { engine } from "../state";
import { answer, type Numbers } from "./answer";
import type { Question, Side } from "./entry";
import { measured } from "./measure";

export class Asked {
  /** By side; those whose scenario was taken. */
  readonly runs = signal<ReadonlyMap<string, RunRecord>>(new Map());
  readonly error = signal<string | null>(null);
  readonly numbers: ReadonlySignal<Numbers> = computed(() => {
    const found = [...this.runs.value].map(([side, run]) => [side, numbersOf(this.question, run.output.value)] as const);
    return new Map(found);
  });
  /** Null until all sides are done. */
  readonly answer: ReadonlySignal<string[] | null> = computed(() => {
    const runs = [...this.runs.value.values()];
    const isDone = runs.length === this.question.side.length && runs.every(({ output }) => output.value !== null);
    return isDone ? answer(this.question, this.numbers.value) : null;
  });

  constructor(readonly question: Question) {
    void this.#run();
  }

  async #run(): Promise<void> {
    try {
      const found = await Promise.all(this.question.side.map(async (side) => [side, await scenarioOf(this.question, side)] as const));
      this.runs.value = new Map(found.map(([side, toml]) => [side.id, launch(toml, side.label, { select: false })]));
    } catch (error) {
      this.error.value = (error as Error).message;
    }
  }
}

/** What was asked in this page, by the question's id: an answer is not worked out twice. */
const asked = new Map<string, Asked>();

export function ask(question: Question): Asked {
  const known = asked.get(question.id);
  const found = known?.error.value === null ? known : new Asked(question);
  asked.set(question.id, found);
  return found;
}

/** The first sentence of the answer, if it was asked and answered. */
export function known(id: string): string | undefined {
  return asked.get(id)?.answer.value?.[0];
}

/** The side's scenario, resolved. */
async function scenarioOf({ scenario }: Question, side: Side): Promise<string> {
  return (await engine.value.resolve(scenario, Object.entries(side.set ?? {}))).toml;
}

/** The side's scenario as a file: with the question's comments, changed where the side is other. */
export async function fileOf({ scenario }: Question, side: Side): Promise<string> {
  let text = scenario.trimStart();
  for (const [key, value] of Object.entries(side.set ?? {})) text = await engine.value.edit(text, key, value);
  return text;
}

function numbersOf(question: Question, output: Output | null): ReadonlyMap<string, number | null> {
  return new Map(question.measure.map((measure) => [measure.id, output && measured(measure, output)]));
}
