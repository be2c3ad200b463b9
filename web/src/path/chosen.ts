/** The element of the path whose parameters the form shows. */

import { signal } from "@preact/signals";

export type Element = { kind: "link" | "flow" | "ping"; name: string } | { kind: "run" };

export const chosen = signal<Element>({ kind: "run" });

export function isChosen(element: Element): boolean {
  const now = chosen.value;
  if (now.kind === "run" || element.kind === "run") return now.kind === element.kind;
  return now.kind === element.kind && now.name === element.name;
}
