/** What the page knows of its server; none if it was opened from somewhere else. */

import { effect, signal } from "@preact/signals";

import { Client, takeToken, type About, type Job, type ResultRow, type ResultSet } from "../engine/http";

export const client = signal<Client | null>(null);
export const about = signal<About | null>(null);
export const jobs = signal<readonly Job[]>([]);
export const sets = signal<readonly ResultSet[]>([]);
/** The set whose runs are listed. */
export const listed = signal<{ set: ResultSet; rows: ResultRow[]; count: number; errors: string[] } | null>(null);

const KEY = "sojourn-engine";
/** Name of the engine of the next runs; a reload keeps it. */
export const chosen = signal("sim");
effect(() => {
  if (about.value) sessionStorage.setItem(KEY, chosen.value);
});

/** Between two looks at jobs under way. */
const LOOK_MS = 1000;

/** Finds the server that this page came from. Resolves to whether there is one. */
export async function connect(): Promise<boolean> {
  const token = takeToken();
  if (token === null) return false;
  const found = new Client(token);
  let known: About;
  try {
    known = await found.about();
  } catch {
    return false; // another server, or one that was started anew
  }
  const before = sessionStorage.getItem(KEY);
  if (known.engines.some(({ name, available }) => name === before && available)) chosen.value = before!;
  client.value = found;
  sets.value = known.results;
  about.value = known;
  await look();
  return true;
}

/** Asks for the jobs now, and as long as one is under way again; for the results when one is over, or `all`. */
export async function look(all = false): Promise<void> {
  const from = client.value;
  if (!from) return;
  clearTimeout(timer);
  const before = jobs.value.filter(isUnderWay).length;
  let now = before;
  try {
    jobs.value = await from.jobs();
    now = jobs.value.filter(isUnderWay).length;
    if (all || now < before) sets.value = await from.results();
  } finally {
    // A look that fails is not the last.
    if (now > 0) timer = setTimeout(() => void look().catch(() => undefined), LOOK_MS);
  }
}

let timer: ReturnType<typeof setTimeout> | undefined;

export function isUnderWay({ status }: Job): boolean {
  return status === "waiting" || status === "going" || status === "paused";
}

/** Lists the runs of a set, or more of them. */
export async function list(set: ResultSet): Promise<void> {
  const known = listed.value?.set.path === set.path ? listed.value.rows : [];
  const shown = await client.value!.show(set.path, known.length);
  if ("runs" in shown) {
    listed.value = { set, rows: [...known, ...shown.runs], count: shown.count, errors: shown.errors };
    return;
  }
  const { id, complete, numbers } = shown.run;
  listed.value = { set, rows: [{ path: set.path, id, complete, ...numbers }], count: 1, errors: [] };
}
