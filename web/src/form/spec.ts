/** An algorithm with its parameters, in tc's grammar: taken apart to change one of them, and put together again. */

import type { Entry, Parameter } from "../engine/engine";

/** Words of a parameter, its key first; before the first key an empty parameter holds what stands there. */
type Setting = { parameter: string; words: string[] };

/** The name of the algorithm. */
export function nameOf(spec: string): string {
  return words(spec)[0] ?? "";
}

/** What a spec says of a parameter: its value, of a flag the word itself; null where it says nothing. */
export function settingOf(spec: string, entry: Entry, parameter: Parameter): string | null {
  const found = settings(spec, entry).find((one) => one.parameter === parameter.name);
  if (!found) return null;
  return (isFlag(parameter) ? found.words : found.words.slice(1)).join(" ");
}

/** The spec with this value of a parameter; null leaves it to its default. */
export function withSetting(spec: string, entry: Entry, parameter: Parameter, value: string | null): string {
  const others = settings(spec, entry).filter((one) => one.parameter !== parameter.name);
  const key = isFlag(parameter) ? [] : [parameter.name];
  const own = value === null ? [] : [{ parameter: parameter.name, words: [...key, value] }];
  return [nameOf(spec), ...[...others, ...own].flatMap((one) => one.words)].join(" ");
}

/** Whether it is one of several words, and takes no value. */
export function isFlag({ value }: Parameter): boolean {
  return value === "";
}

/** The words that a flag can be, or that a value can be if it is one of a list. */
export function alternatives({ name, value }: Parameter): string[] {
  if (value === "") return name.split("|");
  return /^[\w.-]+(\|[\w.-]+)+$/.test(value) && value !== value.toUpperCase() ? value.split("|") : [];
}

function settings(spec: string, entry: Entry): Setting[] {
  const byKey = new Map(entry.parameters.flatMap((one) => (isFlag(one) ? one.name.split("|") : [one.name]).map((key) => [key, one.name])));
  const found: Setting[] = [{ parameter: "", words: [] }];
  for (const word of words(spec).slice(1)) {
    const parameter = byKey.get(word);
    if (parameter === undefined) found.at(-1)!.words.push(word);
    else found.push({ parameter, words: [word] });
  }
  return found;
}

/** A text in braces is one word: a discipline within another. */
function words(spec: string): string[] {
  return spec.match(/\{[^}]*\}|\S+/g) ?? [];
}
