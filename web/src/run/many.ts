/** Many runs on all cores; what comes of them is in the order that was asked for, whichever ends first. */

import { Cancelled, type Engine, type Output } from "../engine/engine";

export type Many = {
  readonly done: Promise<Output[]>;
  cancel(): void;
};

/** Starts all; the engine holds what has no core yet. The first that fails ends the others, and is the error. */
export function many(
  engine: Engine,
  tomls: readonly string[],
  ended: (place: number, output: Output) => void = () => undefined,
): Many {
  const give = new AbortController();
  const one = async (toml: string, place: number): Promise<Output> => {
    const run = await engine.start(toml, { captures: false, signal: give.signal });
    if (give.signal.aborted) run.cancel();
    const output = await run.done;
    ended(place, output);
    return output;
  };
  const done = Promise.all(tomls.map(one)).catch((error: unknown) => {
    give.abort();
    throw error;
  });
  return { done, cancel: () => give.abort(new Cancelled()) };
}
