/** What a change did: each measure of both sides over seeds, its difference, and one sentence. */

import type { Output } from "../engine/engine";
import { figure } from "../run/figure";
import { type Measure, measures } from "./measures";
import { type Mean, isDistinct, mean, paired } from "./student";

export type Difference = {
  readonly measure: Measure;
  readonly a: Mean;
  readonly b: Mean;
  /** b - a, paired by seed. */
  readonly difference: Mean;
};

/** Of the outputs of both sides, the same seed at the same place. Measures that a run lacks are left out. */
export function differences(a: readonly Output[], b: readonly Output[]): Difference[] {
  return measures([...a, ...b]).flatMap((measure): Difference[] => {
    const [of, other] = [a.map(measure.of), b.map(measure.of)];
    if (![...of, ...other].every((value) => value !== null)) return [];
    return [{ measure, a: mean(of as number[]), b: mean(other as number[]), difference: paired(of as number[], other as number[]) }];
  });
}

/** Such as `mean queue delay 12.3 ms → 1.10 ms: difference -11.2 ms [-11.9, -10.5], 5 seeds`. */
export function sentence({ measure, a, b, difference }: Difference): string {
  const unit = measure.unit && ` ${measure.unit}`;
  const { low, high, n } = difference;
  const values = `${measure.label} ${figure(a.mean)}${unit} → ${figure(b.mean)}${unit}`;
  if (low === null || high === null) return `${values}: difference ${signed(difference.mean)}${unit}, 1 seed: no interval`;
  const verdict = isDistinct(difference) ? "" : "; with these seeds it cannot be distinguished from none";
  if (low === high) return `${values}: difference ${signed(low)}${unit}, the same with all ${n} seeds`;
  return `${values}: difference ${signed(difference.mean)}${unit} [${signed(low)}, ${signed(high)}], ${n} seeds${verdict}`;
}

/** With a minus sign of the same width as the plus. */
export function signed(value: number): string {
  const text = figure(Math.abs(value));
  return value < 0 && text !== "0" ? `−${text}` : value > 0 && text !== "0" ? `+${text}` : text;
}

/** What is said first: the delay of the queue, what all flows got, and the flow whose goodput changed most. */
export function headline(found: readonly Difference[]): Difference[] {
  const wanted = ["queue.mean", "goodput"].map((key) => found.find(({ measure }) => measure.key === key));
  const every = found.filter(({ measure }) => /^flow\..*\.goodput$/.test(measure.key));
  const flows = every.length > 1 ? every.filter(({ difference }) => isDistinct(difference)) : [];
  const size = ({ a, difference }: Difference): number => Math.abs(difference.mean) / Math.max(Math.abs(a.mean), 1e-9);
  const most = flows.length ? flows.reduce((a, b) => (size(b) > size(a) ? b : a)) : undefined;
  return [...wanted, most].filter((one) => one !== undefined);
}
