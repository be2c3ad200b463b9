/** Whether a run is of the scenario that was measured, or of one that was changed since. */

import type { Engine } from "../engine/engine";
import { parameters } from "../scenario/parameters";

export type Changed = { readonly key: string; readonly measured: string; readonly here: string };

/** Parameters in which a resolved scenario is other than the suite's; null where the suite's is not there. */
export async function changes(engine: Engine, name: string, toml: string): Promise<Changed[] | null> {
  const suite = name.split("/")[0];
  const response = await fetch(`scenarios/${suite}.json`).catch(() => null);
  const text = response?.ok ? ((await response.json()) as Record<string, string>)[name] : undefined;
  if (text === undefined) return null;
  const original = new Map(parameters((await engine.resolve(text)).toml).map(({ key, value }) => [key, value]));
  const here = new Map(parameters(toml).map(({ key, value }) => [key, value]));
  const keys = new Set([...original.keys(), ...here.keys()]);
  return [...keys].flatMap((key): Changed[] => {
    const [measured, now] = [original.get(key) ?? "absent", here.get(key) ?? "absent"];
    return measured === now ? [] : [{ key, measured, here: now }];
  });
}
