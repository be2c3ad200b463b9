/** One swept parameter: its name as of `-s`, and its values. */

export type Axis = { readonly key: string; readonly values: readonly string[] };

/** What a field for values says when it cannot be read. */
export class AxisError extends Error {
  override readonly name = "AxisError";
}

export const MOST_VALUES = 50;

const NUMBER = /^(-?\d+(?:\.\d+)?)\s*([A-Za-z%]*)$/;
const RANGE = /^(.+?)\s*\.\.\s*(.+?)\s+x\s*(\d+)(?:\s+(log))?$/;

/**
 * Values as they are typed: texts with commas between them (`fq_codel, dualpi2`), or equal steps (`10ms .. 50ms x 5`),
 * with `log` equal factors. A comma within parentheses or braces separates nothing.
 */
export function values(text: string): string[] {
  const range = RANGE.exec(text.trim());
  const found = range ? steps(range[1]!, range[2]!, Number(range[3]), range[4] === "log") : listed(text);
  if (found.length === 0) throw new AxisError("values: expected at least one, such as 10ms, 20ms or 10ms .. 50ms x 5");
  if (found.length > MOST_VALUES) throw new AxisError(`values: expected at most ${MOST_VALUES}, found ${found.length}`);
  return [...new Set(found)];
}

function steps(first: string, last: string, count: number, isLog: boolean): string[] {
  const [a, b] = [NUMBER.exec(first.trim()), NUMBER.exec(last.trim())];
  if (!a || !b) throw new AxisError(`values: expected numbers around .., found ${a ? last : first}`);
  const unit = b[2] || a[2] || "";
  if (a[2] && a[2] !== unit) throw new AxisError(`values: expected one unit, found ${a[2]} and ${b[2]}`);
  const [from, to] = [Number(a[1]), Number(b[1])];
  if (count < 2 || count > MOST_VALUES) throw new AxisError(`values: expected x 2 to x ${MOST_VALUES}, found x ${count}`);
  if (isLog && !(from > 0 && to > 0)) throw new AxisError("values: expected both ends above 0 for log");
  return Array.from({ length: count }, (_, n) => {
    const share = n / (count - 1);
    const value = isLog ? from * (to / from) ** share : from + (to - from) * share;
    return `${Number(value.toPrecision(4))}${unit}`;
  });
}

function listed(text: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const letter of text) {
    if ("({[".includes(letter)) depth += 1;
    if (")}]".includes(letter)) depth -= 1;
    if (letter === "," && depth <= 0) parts.push("");
    else parts[parts.length - 1] += letter;
  }
  return parts.map((part) => part.trim()).filter(Boolean);
}

/** The axes of a scenario's own sweep, whose points these are, and its seeds; null if they are no grid of one or two axes. */
export function axesOf(found: readonly { values: readonly (readonly [string, string])[] }[]): { axes: Axis[]; seeds: number } | null {
  const named = new Map<string, Set<string>>();
  for (const { values } of found) for (const [key, value] of values) named.set(key, (named.get(key) ?? new Set()).add(value));
  const seeds = named.get("seed")?.size ?? 1;
  named.delete("seed");
  const axes = Array.from(named, ([key, values]): Axis => ({ key, values: [...values] }));
  const isGrid = points(axes).length * seeds === found.length;
  return isGrid && (axes.length === 1 || axes.length === 2) ? { axes, seeds } : null;
}

/** Places on a number line if all values are numbers of one unit, else equal steps. */
export function places(axis: Axis): { at: number[]; unit: string } | null {
  const found = axis.values.map((value) => NUMBER.exec(value));
  const units = new Set(found.map((match) => match?.[2]));
  if (units.size !== 1 || found.some((match) => match === null)) return null;
  return { at: found.map((match) => Number(match![1])), unit: found[0]![2]! };
}

/** All points of up to two axes, the last varying fastest. */
export function points(axes: readonly Axis[]): string[][] {
  return axes.reduce<string[][]>((rows, { values }) => rows.flatMap((row) => values.map((value) => [...row, value])), [[]]);
}
