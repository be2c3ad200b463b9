/** How numbers are written, on axes, in legends and in tables. */

/** Three significant digits, all of them before the point, as the tables of the command line; an en dash for none. */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 0.0005) return value.toExponential(1);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3);
}

/** Seconds of the scenario. */
export function seconds(value: number): string {
  return `${value.toFixed(2)} s`;
}

/** Steps of an axis: 1, 2 or 5 times a power of ten, no more than `most` of them. */
export function ticks(from: number, to: number, most: number): number[] {
  if (!(to > from)) return [from];
  const raw = (to - from) / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= raw * (1 - 1e-9)) ?? 10);
  const first = Math.ceil(from / step - 1e-9);
  const count = Math.floor(to / step + 1e-9) - first + 1;
  return Array.from({ length: count }, (_, n) => Number(((first + n) * step).toPrecision(12)));
}
