/** Confidence intervals of means by Student's t, as in the tables of the command line. */

export const CONFIDENCE = 0.95;

/** A mean with its interval; `low` and `high` are null with one value. */
export type Mean = { readonly mean: number; readonly low: number | null; readonly high: number | null; readonly n: number };

/** Of at least one value. */
export function mean(values: readonly number[]): Mean {
  const n = values.length;
  const middle = sum(values) / n;
  if (n < 2) return { mean: middle, low: null, high: null, n };
  const spread = Math.sqrt(sum(values.map((value) => (value - middle) ** 2)) / (n - 1));
  const half = (quantile((1 + CONFIDENCE) / 2, n - 1) * spread) / Math.sqrt(n);
  return { mean: middle, low: middle - half, high: middle + half, n };
}

/** The mean of b - a, pair by pair: what is common to a seed's two runs cancels out. */
export function paired(a: readonly number[], b: readonly number[]): Mean {
  return mean(b.map((value, n) => value - a[n]!));
}

/** Whether the interval does not contain 0. */
export function isDistinct({ low, high }: Mean): boolean {
  return low !== null && high !== null && (low > 0 || high < 0);
}

/**
 * Quantile of Student's t for whole degrees of freedom, by bisection of the distribution function: its closed forms
 * are exact (Abramowitz and Stegun, 26.7.3 and 26.7.4).
 */
export function quantile(probability: number, freedom: number): number {
  if (probability < 0.5) return -quantile(1 - probability, freedom);
  let [low, high] = [0, 1];
  while (distribution(high, freedom) < probability) high *= 2;
  for (let n = 0; n < 100 && high - low > 1e-14 * high; n += 1) {
    const middle = (low + high) / 2;
    if (distribution(middle, freedom) < probability) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Probability that t with these degrees of freedom is at most this, of t >= 0. */
export function distribution(t: number, freedom: number): number {
  const angle = Math.atan(t / Math.sqrt(freedom));
  const square = Math.cos(angle) ** 2;
  const isOdd = freedom % 2 === 1;
  let [term, series] = [1, 0];
  for (let n = isOdd ? 1 : 0; n <= freedom - 2; n += 2) {
    series += term;
    term *= (square * (n + 1)) / (n + 2);
  }
  const inside = isOdd
    ? (2 / Math.PI) * (angle + Math.sin(angle) * Math.cos(angle) * series)
    : Math.sin(angle) * series;
  return (1 + inside) / 2;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
