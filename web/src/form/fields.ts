/** What can be set of an element of the scenario, from the schema: keys, help, defaults, choices. */

import { parse } from "smol-toml";

import type { Tables } from "../engine/engine";
import type { Element } from "../path/chosen";

export type Field = {
  /** As of `-s`. */
  key: string;
  label: string;
  help: string;
  /** What the file says; null if nothing. */
  own: string | null;
  /** What holds, with defaults. */
  value: string;
  /** Registry of the algorithms that it names. */
  registry: Exclude<keyof Tables, "schema"> | null;
  choices: readonly string[];
};
export type Section = { title: string; fields: readonly Field[] };

export type Schema = {
  description?: string;
  type?: string | string[];
  const?: string;
  enum?: string[];
  $ref?: string;
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  $defs?: Record<string, Schema>;
};

const REGISTRIES: Record<string, Field["registry"]> = { qdisc: "qdiscs", shaper: "qdiscs", cc: "controllers", app: "apps" };
/** Tables of the file by kind of element. */
const TABLES = { link: "LinkTable", flow: "FlowTable", ping: "PingTable" } as const;
/** What names an element is changed in the text. */
const HIDDEN: readonly string[] = ["name", "format", "exec", "sysctl"];
/** In the order in which one thinks of them; the others are behind these, where the file does not set them. */
const FIRST = ["rate", "qdisc", "delay", "shaper", "ingress", "cc", "app", "start", "stop", "direction", "bytes", "flows", "duration", "seed", "interval"];

/** The sections of an element; the first is its own, the others are of tables within. */
export function sections(element: Element, text: string, toml: string, root: Schema): Section[] {
  const [own, whole] = [documentOf(text), documentOf(toml)];
  const definition = element.kind === "run" ? root : root.$defs?.[TABLES[element.kind]];
  const prefix = element.kind === "run" ? "" : `${element.kind}.${element.name}.`;
  return tables(definition ?? {}, root, prefix, at(own, element), at(whole, element));
}

/** The table of an element in a document. */
function at(document: Document, element: Element): Document {
  if (element.kind === "run") return document;
  const rows = document[element.kind];
  const found = Array.isArray(rows) ? rows.find((row) => isTable(row) && row["name"] === element.name) : undefined;
  return isTable(found) ? found : {};
}

function tables(of: Schema, root: Schema, prefix: string, own: Document, whole: Document, title = ""): Section[] {
  const inner: Section[] = [];
  const fields: Field[] = [];
  for (const [name, property] of Object.entries(of.properties ?? {})) {
    const schema = deref(property, root);
    const key = prefix + name;
    if (HIDDEN.includes(name) || isArrayOfTables(schema, root)) continue;
    if (schema.properties) {
      inner.push(...tables(schema, root, `${key}.`, table(own[name]), table(whole[name]), name));
      continue;
    }
    if (name === "sweep" || name === "sample") continue;
    fields.push({
      key,
      label: name,
      help: (property.description ?? schema.description ?? "").replaceAll("\n", " "),
      own: own[name] === undefined ? null : written(own[name]),
      value: whole[name] === undefined ? "" : written(whole[name]),
      registry: REGISTRIES[name] ?? null,
      choices: choices(schema),
    });
  }
  const rank = ({ label }: Field): number => (FIRST.indexOf(label) + FIRST.length + 1) % (FIRST.length + 1);
  fields.sort((a, b) => rank(a) - rank(b));
  if (title !== "") return [{ title, fields }, ...inner];
  const isRare = (field: Field): boolean => rank(field) === FIRST.length && field.own === null;
  return [{ title, fields: fields.filter((field) => !isRare(field)) }, ...inner, { title: "more", fields: fields.filter(isRare) }];
}

/** The schema itself, behind references and what may be absent. */
export function deref(schema: Schema, root: Schema): Schema {
  const name = schema.$ref?.replace("#/$defs/", "");
  if (name !== undefined) return deref(root.$defs?.[name] ?? {}, root);
  const options = schema.anyOf?.filter(({ type }) => type !== "null");
  return options?.length === 1 ? deref(options[0]!, root) : schema;
}

/** The words that a value can be; none if it can be anything. */
export function choices(schema: Schema): string[] {
  if (schema.type === "boolean") return ["true", "false"];
  if (schema.enum) return schema.enum;
  const constants = schema.oneOf?.map((one) => one.const ?? one.enum) ?? [];
  return constants.includes(undefined) ? [] : (constants.flat() as string[]);
}

function isArrayOfTables(schema: Schema, root: Schema): boolean {
  return schema.items !== undefined && deref(schema.items, root).properties !== undefined;
}

type Document = Record<string, unknown>;

function documentOf(text: string): Document {
  try {
    return parse(text);
  } catch {
    return {};
  }
}

function isTable(value: unknown): value is Document {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function table(value: unknown): Document {
  return isTable(value) ? value : {};
}

function written(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
