/** The parameters of a scenario under their names as of `-s`, with their values. */

import { parse } from "smol-toml";

export type Parameter = { readonly key: string; readonly value: string };

/** Tables whose entries go by their name: `link.bneck.qdisc`. */
const NAMED = new Set(["link", "flow", "ping", "tunnel"]);
/** What no fork and no sweep changes. */
const NOT_OFFERED = /^(format|name|description|seed|capture|schedule|sweep|sample)(\.|$)|\.(name|path)$/;
/** What most questions are about comes first. */
const FIRST = [/\.qdisc$/, /^link\.[^.]+\.rate$/, /^link\.[^.]+\.delay$/, /\.cc$/, /^tcp\.ecn$/, /\.shaper$/, /^link\./, /^flow\.[^.]+\.[^.]+$/];

/** Of a resolved scenario, in which all have a value. */
export function parameters(toml: string): Parameter[] {
  const found = [...leaves(parse(toml), "")].filter(({ key }) => !NOT_OFFERED.test(key));
  const rank = ({ key }: Parameter): number => {
    const place = FIRST.findIndex((pattern) => pattern.test(key));
    return place < 0 ? FIRST.length : place;
  };
  return found.map((one, n) => [rank(one), n, one] as const).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, , one]) => one);
}

/** The value of a parameter, also of one that is not offered. */
export function valueOf(toml: string, key: string): string | null {
  for (const leaf of leaves(parse(toml), "")) if (leaf.key === key) return leaf.value;
  return null;
}

function* leaves(value: unknown, key: string): Generator<Parameter> {
  if (Array.isArray(value) && value.some((entry) => typeof entry === "object")) {
    if (!NAMED.has(key)) return;
    for (const entry of value as Record<string, unknown>[]) yield* leaves(entry, `${key}.${String(entry["name"])}`);
  } else if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    for (const [name, inner] of Object.entries(value)) yield* leaves(inner, key ? `${key}.${name}` : name);
  } else if (!Array.isArray(value)) {
    yield { key, value: String(value) };
  }
}
