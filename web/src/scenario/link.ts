/** The link to what is open in the lab. It follows the text, so that a reload finds it. */

import { effect, signal } from "@preact/signals";

import { engine, tab, type Tab } from "../state";
import { origin, text } from "./document";
import { encode } from "./share";

/** Its data; empty while there is none, or if the scenario is too long for one. */
export const link = signal("");

/** After the last change of the text, ms. */
const PAUSE_MS = 400;

/** Rejects with ShareError. */
export async function linkTo(content: string, name: string, shown: Tab): Promise<string> {
  return encode({ text: content, name, version: await engine.value.version(), tab: shown });
}

effect(() => {
  const [content, name, shown] = [text.value, origin.value, tab.value];
  if (!content) return undefined;
  const timer = setTimeout(() => {
    linkTo(content, name, shown).then((data) => (link.value = data), () => (link.value = ""));
  }, PAUSE_MS);
  return () => clearTimeout(timer);
});
