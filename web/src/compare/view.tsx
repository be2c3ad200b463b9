/** Fork a run: change one parameter, and see what differs, in curves and in numbers with their intervals. */

import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";

import { ScenarioFields } from "./fields";
import { Comparison } from "./comparison";
import { Outcome } from "./outcome";
import { current } from "../runs";
import { parameters } from "../scenario/parameters";
import { resolved } from "../scenario/document";
import { announcement, engine } from "../state";
import "./compare.css";

/** The one that is shown; it stays when another tab is looked at. */
const comparison = signal<Comparison | null>(null);
const draft = signal({ key: "", value: "", seeds: 5 });

export function CompareView() {
  const base = current.value?.toml ?? resolved.value?.toml;
  const offered = useMemo(() => (base ? parameters(base) : []), [base]);
  if (!base) return <p class="hint">Open or write a scenario first: a fork is that scenario with one parameter changed.</p>;
  const key = draft.value.key || (offered[0]?.key ?? "");
  const shown = comparison.value;
  const isRunning = shown?.status.value === "running";
  const run = (): void => {
    const next = new Comparison(base, { key, value: draft.value.value.trim() }, draft.value.seeds);
    comparison.value = next;
    void next.carry(engine.value).then(() => {
      announcement.value = next.status.value === "done" ? "Comparison done" : next.error.value;
    });
  };
  return (
    <article class="compare" aria-label="Fork and compare" data-status={shown?.status.value}>
      <p class="soft no-print">Forks <b>{current.value?.label ?? "the open file"}</b>: the same scenario with one parameter changed, each with the same seeds.</p>
      <form class="compare-form no-print" onSubmit={(event) => (event.preventDefault(), run())}>
        <ScenarioFields offered={offered} chosen={key} value={draft.value.value} valueLabel="New value"
          change={(fields) => (draft.value = { ...draft.value, ...fields })} />
        <label>
          Seeds <input type="number" min={1} max={50} value={draft.value.seeds}
            onInput={(event) => (draft.value = { ...draft.value, seeds: Number(event.currentTarget.value) || 1 })} />
        </label>
        <button type="submit" class="button main" disabled={isRunning || !draft.value.value.trim()}>Run both</button>
        {isRunning && <button type="button" class="button" onClick={() => shown.cancel()}>Cancel</button>}
      </form>
      {shown && <Outcome comparison={shown} />}
    </article>
  );
}
