/** What can be written at a place of a scenario file, from the schema and the tables of algorithms. */

import { deref, choices, type Schema } from "../form/fields";
import type { Tables } from "../engine/engine";

export type Proposal = { label: string; info: string; apply: string };
/** Proposals for the text from `from` on, a place in the file. */
export type Completion = { from: number; proposals: Proposal[] };

/** Keys whose values name an algorithm. */
const REGISTRIES: Record<string, Exclude<keyof Tables, "schema">> = { qdisc: "qdiscs", shaper: "qdiscs", cc: "controllers", app: "apps" };

export function complete(text: string, at: number, tables: Tables): Completion | null {
  const line = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  const root = tables.schema as Schema;
  const table = tableAt(text.slice(0, at - line.length), root);
  const header = /^\s*\[+([\w.-]*)$/.exec(line);
  if (header) return proposed(at - header[1]!.length, headers(root));
  const value = /^\s*([\w.-]+)\s*=\s*"([^"]*)$/.exec(line);
  if (value) return values(value[1]!, value[2]!, at, table, root, tables);
  const key = /^\s*([\w.-]*)$/.exec(line);
  return key ? proposed(at - key[1]!.length, keys(table, root)) : null;
}

function proposed(from: number, proposals: Proposal[]): Completion {
  return { from, proposals };
}

/** The schema of the table that the text ends in. */
function tableAt(before: string, root: Schema): Schema {
  const header = [...before.matchAll(/^\s*\[+\s*([\w.-]+)\s*\]+/gm)].at(-1)?.[1];
  return header === undefined ? root : within(root, header.split("."), root);
}

function within(schema: Schema, path: readonly string[], root: Schema): Schema {
  return path.reduce<Schema>((at, key) => {
    const inner = deref(at.properties?.[key] ?? {}, root);
    return inner.items ? deref(inner.items, root) : inner;
  }, schema);
}

function keys(table: Schema, root: Schema): Proposal[] {
  return Object.entries(table.properties ?? {}).map(([name, schema]) => {
    const inner = deref(schema, root);
    const isText = inner.type === "string" || inner.oneOf !== undefined || (Array.isArray(inner.type) && inner.type.includes("string"));
    return { label: name, info: help(schema, inner), apply: isText ? `${name} = "` : `${name} = ` };
  });
}

/** Tables of the file: `link` as `[[link]]`. */
function headers(root: Schema): Proposal[] {
  return Object.entries(root.properties ?? {}).flatMap(([name, schema]) => {
    const inner = deref(schema, root);
    if (!inner.properties && !inner.items) return [];
    return [{ label: name, info: help(schema, inner), apply: inner.items ? `[${name}]]` : `${name}]` }];
  });
}

function values(key: string, written: string, at: number, table: Schema, root: Schema, tables: Tables): Completion | null {
  const path = key.split(".");
  const entries = tables[REGISTRIES[path.at(-1)!] ?? "qdiscs"];
  if (path.at(-1)! in REGISTRIES) {
    const words = written.split(" ");
    const last = words.at(-1)!;
    if (words.length === 1) {
      return proposed(at - last.length, entries.map(({ name, summary }) => ({ label: name, info: summary, apply: name })));
    }
    const parameters = entries.find(({ name }) => name === words[0])?.parameters ?? [];
    const named = parameters.flatMap(({ name, value, default: usual, doc }) =>
      name.split("|").map((label) => ({ label, info: `${value} ${doc} (default ${usual})`.trim(), apply: label })),
    );
    return proposed(at - last.length, named);
  }
  const words = choices(within(table, path, root));
  return words.length > 0 ? proposed(at - written.length, words.map((label) => ({ label, info: "", apply: label }))) : null;
}

function help(schema: Schema, inner: Schema): string {
  return (schema.description ?? inner.description ?? "").replaceAll("\n", " ");
}
