/** The open scenario: its text, and what the engine says of it. */

import { batch, computed, effect, signal } from "@preact/signals";

import { ScenarioError, type Resolved } from "../engine/engine";
import { engine } from "../state";

/** The text in the editor; every change of it, from form, editor or link, goes through here. */
export const text = signal("");
/** Title of what was opened: a suite's id, a gallery's scenario. */
export const origin = signal("");
/** Grows with every scenario that is opened: what was chosen in the one before is over. */
export const opened = signal(0);
/** What the engine made of the last text that was valid. */
export const resolved = signal<Resolved | null>(null);
/** What is wrong with the present text. */
export const error = signal<ScenarioError | null>(null);
/** Whether `resolved` is of the present text. */
export const isValid = computed(() => error.value === null && resolved.value !== null);

export function open(content: string, from: string): void {
  batch(() => {
    origin.value = from;
    resolved.value = null;
    text.value = content;
    opened.value += 1;
  });
}

/** Sets a parameter by its name as of `-s`, or removes it; an error is shown like the file's own. */
export async function edit(key: string, value: string | null): Promise<void> {
  try {
    text.value = await engine.value.edit(text.value, key, value);
  } catch (refused) {
    error.value = refused as ScenarioError;
  }
}

let asked = 0;

/** Resolves each text as it comes; answers that were overtaken are dropped. */
effect(() => {
  const content = text.value;
  const of = engine.value;
  const mine = ++asked;
  if (!content) {
    resolved.value = null;
    error.value = null;
    return;
  }
  of.resolve(content).then(
    (answer) => {
      if (mine !== asked) return;
      error.value = null;
      resolved.value = answer;
    },
    (refused: ScenarioError) => {
      if (mine === asked) error.value = refused;
    },
  );
});
