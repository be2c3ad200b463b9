/** What is open in the page. Views read signals from here, and change them through the functions of their module. */

import { signal } from "@preact/signals";

import { LocalEngine } from "./engine/local";
import type { Engine } from "./engine/engine";

export type View = "gallery" | "lab" | "suites" | "serve";
/** What is shown beside the scenario in the lab. */
export type Tab = "result" | "compare" | "sweep" | "measured" | "download";

export const view = signal<View>("gallery");
export const tab = signal<Tab>("result");
/** The question that is open in the gallery, by its id. */
export const question = signal<string | null>(null);

/** The one that works: `sojourn serve` puts its own here. */
export const engine = signal<Engine>(new LocalEngine());

/** Said by the live region: what changed, for who does not see it. */
export const announcement = signal("");
/** What went wrong outside of the scenario, such as a damaged link; shown until it is closed. */
export const notice = signal<string | null>(null);
