import type { RunRecord } from "../runs";

export function DownloadView({ run }: { run: RunRecord }) {
  return <p>{run.label}</p>;
}
