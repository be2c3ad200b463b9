import type { RunRecord } from "../runs";

export function RunView({ run }: { run: RunRecord }) {
  return <p>{run.label}</p>;
}
