/** Runs the open scenario, and makes the link and the command line that repeat it. */

import type { RunRecord } from "../runs";
import { launch } from "../runs";
import { engine, notice } from "../state";
import { error, origin, text } from "./document";
import type { ScenarioError } from "../engine/engine";

/** Starts it; null if it is no scenario, which `error` then says. `seen` is the version that a link's sender had. */
export async function runOpen(seen?: string): Promise<RunRecord | null> {
  const of = engine.value;
  const content = text.value;
  try {
    const { toml } = await of.resolve(content);
    const version = await of.version();
    if (seen !== undefined && seen !== version) {
      notice.value = `The link is of engine ${seen}, this page has ${version}: numbers may differ.`;
    }
    return launch(toml, origin.value || nameIn(toml));
  } catch (refused) {
    error.value = refused as ScenarioError;
    return null;
  }
}

/** The name that a resolved scenario has. */
export function nameIn(toml: string): string {
  return /^name = "(.*)"$/m.exec(toml)?.[1] ?? "run";
}

/** What repeats the run on a command line that has the file. */
export function commandLine(toml: string): string {
  return `sojourn run ${fileName(toml)} --out results`;
}

/** Under which the open scenario is saved. */
export function fileName(toml: string): string {
  return `${nameIn(toml).replaceAll(/[^\w.-]+/g, "-").replaceAll(/^-+|-+$/g, "") || "scenario"}.toml`;
}
