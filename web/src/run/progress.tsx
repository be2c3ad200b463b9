/** How far a run is, and what can be done about it. */

import type { RunRecord } from "../runs";

export function Progress({ run }: { run: RunRecord }) {
  const status = run.status.value;
  const duration = run.durationS.value;
  const isOpen = status === "waiting" || status === "running" || status === "paused";
  return (
    <div class="run-progress">
      <h2>{run.label}</h2>
      {isOpen && <progress max={Number.isFinite(duration) ? duration : 1} value={run.nowS.value} aria-label="Simulated time" />}
      <span class="run-status">{said(run)}</span>
      {isOpen && (
        <span class="tools no-print">
          {status === "running" && <button type="button" class="button" onClick={() => run.pause()}>Pause</button>}
          {status === "paused" && <button type="button" class="button main" onClick={() => run.resume()}>Resume</button>}
          <button type="button" class="button" onClick={() => run.cancel()}>Cancel</button>
        </span>
      )}
    </div>
  );
}

function said(run: RunRecord): string {
  const [now, duration] = [run.nowS.value, run.durationS.value];
  const of = Number.isFinite(duration) ? `${now.toFixed(1)} of ${duration} s` : "";
  switch (run.status.value) {
    case "waiting":
      return "waits for a core";
    case "running":
      return of;
    case "paused":
      return `${of}, paused`;
    case "done":
      return `${duration} s simulated in ${(run.tookMs.value / 1000).toFixed(2)} s`;
    case "cancelled":
      return `cancelled at ${now.toFixed(1)} s; what is below is as far as it came`;
    case "failed":
      return `failed: ${run.error.value ?? ""}`;
  }
}
