/** Many runs on all cores; what comes of them is in the order that was asked for, whichever ends first. */

import { Cancelled, type Engine, type Output } from "../engine/engine";

export type Many<T> = {
  readonly done: Promise<T[]>;
  cancel(): void;
};

/**
 * Starts all; the engine holds what has no core yet. Of each output only what `keep` makes of it is kept. The first run
 * that fails ends the others, and is the error; one that was cancelled rejects with `Cancelled`.
 */
export function many<T>(engine: Engine, tomls: readonly string[], keep: (output: Output, place: number) => T): Many<T> {
  const give = new AbortController();
  const one = async (toml: string, place: number): Promise<T> => {
    const run = await engine.start(toml, { captures: false, signal: give.signal });
    if (give.signal.aborted) run.cancel();
    return keep(await run.done, place);
  };
  const done = Promise.all(tomls.map(one)).catch((error: unknown) => {
    give.abort();
    throw error;
  });
  return { done, cancel: () => give.abort(new Cancelled()) };
}
