/** The answer to a question: sentences that conditions on the measured numbers choose, and the numbers in them. */

import type { Question, Sentence } from "./entry";
import { quantity } from "./measure";

/** By side and measure. */
export type Numbers = ReadonlyMap<string, ReadonlyMap<string, number | null>>;

export function answer(question: Question, numbers: Numbers): string[] {
  const units = new Map(question.measure.map(({ id, unit }) => [id, unit]));
  return question.answer.map((sentence) =>
    chosen(sentence, numbers).replaceAll(/\{(\w+)\.(\w+)\}/g, (_, side: string, measure: string) =>
      quantity(number(numbers, side, measure), units.get(measure)),
    ),
  );
}

function chosen({ when, say, otherwise }: Sentence, numbers: Numbers): string {
  return when.split(" and ").every((condition) => holds(condition, numbers)) ? say : otherwise;
}

const COMPARE: Record<string, (a: number, b: number) => boolean> = {
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  "=": (a, b) => a === b,
  ">=": (a, b) => a >= b,
  ">": (a, b) => a > b,
};

/** `SIDE.MEASURE OPERATOR NUMBER`, or `... [NUMBER *] SIDE.MEASURE`; false where a number is missing. */
function holds(condition: string, numbers: Numbers): boolean {
  const parts = /^(\w+\.\w+) (<|<=|=|>=|>) (?:([\d.]+)(?: \* (\w+\.\w+))?|(\w+\.\w+))$/.exec(condition.trim());
  if (!parts) throw new Error(`condition \`${condition}\`: expected SIDE.MEASURE, an operator and a number`);
  const [, left, operator, factor, product, right] = parts;
  const a = term(numbers, left);
  const b = factor === undefined ? term(numbers, right) : Number(factor) * (product ? term(numbers, product) : 1);
  return COMPARE[operator!]!(a, b);
}

/** NaN, which compares to nothing, where a number is missing. */
function term(numbers: Numbers, name: string | undefined): number {
  const [side, measure] = (name ?? "").split(".");
  return number(numbers, side ?? "", measure ?? "") ?? NaN;
}

function number(numbers: Numbers, side: string, measure: string): number | null {
  const value = numbers.get(side)?.get(measure);
  if (value === undefined) throw new Error(`${side}.${measure}: no such number`);
  return value;
}
