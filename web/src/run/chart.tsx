import type { Series } from "../engine/engine";

/** One curve: a series under the name that its legend shows. */
export type Curve = { label: string; series: Series; colour?: string; dashed?: boolean };

export type ChartProps = {
  title: string;
  /** Of the vertical axis. */
  unit: string;
  curves: Curve[];
  /** CSS pixels. */
  height?: number;
  /** A new number draws anew: `run.drawn.value`. */
  version?: number;
};

export function Chart({ title }: ChartProps) {
  return <figure><figcaption>{title}</figcaption></figure>;
}
