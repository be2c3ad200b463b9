/** Messages between the page and a worker. */

import type { Output, Series } from "./engine";

/** Functions of the module that answer at once; their arguments and answers are text. */
export type Call = "version" | "resolve" | "expand" | "edit" | "tables" | "tc";

export type Request =
  | { kind: "module"; module: WebAssembly.Module }
  | { kind: "call"; id: number; call: Call; args: (string | undefined)[] }
  | { kind: "start"; toml: string; captures: boolean }
  | { kind: "pause" }
  | { kind: "resume" };

export type Reply =
  | { kind: "answer"; id: number; value: string }
  | { kind: "refused"; id: number; message: string }
  | { kind: "started"; durationS: number }
  | { kind: "progress"; nowS: number; series: Series[] }
  | { kind: "done"; output: Output }
  | { kind: "failed"; message: string };

/** What is below the arrays of these columns, which changes hands instead of being copied. */
export function buffers(series: Series[]): ArrayBuffer[] {
  return [...new Set(series.flatMap(({ t, v }) => [t.buffer as ArrayBuffer, v.buffer as ArrayBuffer]))];
}
