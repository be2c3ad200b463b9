/** Flows under one name where there are too many to tell apart: `p-* (50)`. */

/** More lines than these in one chart are not distinguished. */
export const MOST = 8;
/** Fewer copies than these are easier to read one by one. */
const LEAST = 4;

/** Names by label, in at most `most` groups: as they are, copies together, what begins alike, all. */
export function gathered(names: readonly string[], most = MOST): Map<string, string[]> {
  const parts = new Map(names.map((name) => [name, name.match(/\p{L}+|\d+/gu) ?? []]));
  const depth = Math.max(0, ...[...parts.values()].map((of) => of.length)) - 1;
  const choices = [() => new Map(names.map((name) => [name, [name]])), () => copies(names)];
  for (let n = depth; n > 0; n -= 1) {
    choices.push(() => labelled(grouped(names, (name) => parts.get(name)!.slice(0, n).join("\0"))));
  }
  for (const choice of choices) {
    const groups = choice();
    if (groups.size <= most) return groups;
  }
  return new Map([[`all ${names.length}`, [...names]]]);
}

/** Flows that differ by a counter alone together, where there are at least four; every other name by itself. */
export function copies(names: readonly string[]): Map<string, string[]> {
  const stem = (name: string): string | undefined => /^(.+)-\d+$/.exec(name)?.[1];
  const together = grouped(names.filter(stem), (name) => stem(name)!);
  const found = new Map<string, string[]>();
  for (const name of names) {
    const members = together.get(stem(name) ?? "") ?? [];
    if (members.length >= LEAST) found.set(`${stem(name)}-* (${members.length})`, members);
    else found.set(name, [name]);
  }
  return found;
}

function grouped(names: readonly string[], by: (name: string) => string): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const name of names) groups.set(by(name), [...(groups.get(by(name)) ?? []), name]);
  return groups;
}

function labelled(groups: Map<string, string[]>): Map<string, string[]> {
  return new Map(
    [...groups.values()].map((names) => [names.length > 1 ? `${prefix(names)}* (${names.length})` : names[0]!, names]),
  );
}

function prefix(names: readonly string[]): string {
  const [first, ...others] = names as [string, ...string[]];
  let length = first.length;
  for (const other of others) while (!other.startsWith(first.slice(0, length))) length -= 1;
  return first.slice(0, length);
}
