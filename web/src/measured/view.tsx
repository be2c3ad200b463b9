import type { RunRecord } from "../runs";

export function MeasuredView({ run }: { run: RunRecord }) {
  return <p>{run.label}</p>;
}
