/** The element of the path whose parameters the form shows. */

import { effect, signal } from "@preact/signals";

import { opened, resolved } from "../scenario/document";

export type Element = { kind: "link" | "flow" | "ping"; name: string } | { kind: "run" };

export const chosen = signal<Element>({ kind: "run" });

/** Whether its parameters are shown: beside the results where there is room, else when an element is chosen. */
export const isOpen = signal(typeof matchMedia === "undefined" || matchMedia("(min-width: 1000px)").matches);

export function choose(element: Element): void {
  chosen.value = element;
  isOpen.value = true;
}

export function isChosen(element: Element): boolean {
  const now = chosen.value;
  if (now.kind === "run" || element.kind === "run") return now.kind === element.kind;
  return now.kind === element.kind && now.name === element.name;
}

let seen = 0;

/** In a scenario that was just opened the bottleneck is chosen: its queue is what one changes first. */
effect(() => {
  const answer = resolved.value;
  if (!answer || opened.value === seen) return;
  seen = opened.value;
  const name = answer.conditions.bottlenecks[0]?.split(".", 1)[0];
  chosen.value = name === undefined ? { kind: "run" } : { kind: "link", name };
});
