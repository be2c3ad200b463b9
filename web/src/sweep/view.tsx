/** A sweep over one or two parameters, as a curve or a heat map whose points open their run. */

import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

import { ScenarioFields } from "../compare/fields";
import { type Measure, measures } from "../compare/measures";
import { parameters } from "../scenario/parameters";
import { resolved, text } from "../scenario/document";
import { current, launch } from "../runs";
import { announcement, engine, tab } from "../state";
import { type Axis, axesOf, values } from "./axis";
import { CurveOf } from "./curve";
import { HeatMap } from "./heat";
import { type Cell, Sweep } from "./sweep";
import "../compare/compare.css";
import "./sweep.css";

type Draft = { readonly axes: readonly { key: string; values: string }[]; readonly seeds: number };

const sweep = signal<Sweep | null>(null);
const draft = signal<Draft>({ axes: [{ key: "", values: "" }], seeds: 1 });
const refused = signal("");
const chosen = signal("queue.mean");
/** The file's sweep that the form was filled with. */
let taken = "";

export function SweepView() {
  const base = current.value?.toml ?? resolved.value?.toml;
  const name = current.value?.label ?? "the open file";
  const offered = useMemo(() => (base ? parameters(base) : []), [base]);
  useOwnSweep();
  if (!base) return <p class="hint">Open or write a scenario first: a sweep runs it with each of the values.</p>;
  const { axes, seeds } = draft.value;
  const shown = sweep.value;
  const isRunning = shown?.status.value === "running";
  const change = (n: number, fields: { key?: string; value?: string }): void => {
    const { key, value } = fields;
    const axis = { ...axes[n]!, ...(key === undefined ? {} : { key }), ...(value === undefined ? {} : { values: value }) };
    draft.value = { ...draft.value, axes: axes.with(n, axis) };
  };
  const keyOf = (n: number): string => axes[n]!.key || (offered[n]?.key ?? "");
  const run = (): void => {
    try {
      const read = axes.map((axis, n): Axis => ({ key: keyOf(n), values: values(axis.values) }));
      refused.value = "";
      const next = new Sweep(base, read, seeds);
      sweep.value = next;
      void next.carry(engine.value).then(() => (announcement.value = next.error.value || "Sweep done"));
    } catch (error) {
      refused.value = (error as Error).message;
    }
  };
  return (
    <article class="sweep" aria-label="Sweep" data-status={shown?.status.value}>
      <form class="no-print" onSubmit={(event) => (event.preventDefault(), run())}>
        <p class="soft">Sweeps <b>{name}</b>: one run for each value, or for each pair of values of two parameters.</p>
        {axes.map(({ values }, n) => (
          <div key={n} class="compare-form">
            <ScenarioFields offered={offered} chosen={keyOf(n)} value={values} valueLabel="Values"
              placeholder="10ms, 20ms or 10ms .. 50ms x 5" change={(fields) => change(n, fields)} />
            {n === 1 && <button type="button" class="button" onClick={() => (draft.value = { ...draft.value, axes: axes.slice(0, 1) })}>Remove</button>}
          </div>
        ))}
        <div class="compare-form">
          <label>
            Seeds <input type="number" min={1} max={20} value={seeds}
              onInput={(event) => (draft.value = { ...draft.value, seeds: Number(event.currentTarget.value) || 1 })} />
          </label>
          {axes.length < 2 && (
            <button type="button" class="button" onClick={() => (draft.value = { ...draft.value, axes: [...axes, { key: "", values: "" }] })}>
              Add a second parameter
            </button>
          )}
          <button type="submit" class="button main" disabled={isRunning}>Run the sweep</button>
          {isRunning && <button type="button" class="button" onClick={() => shown.cancel()}>Cancel</button>}
        </div>
        {refused.value && <p class="warning" role="alert">{refused.value}</p>}
      </form>
      {shown && <Swept sweep={shown} />}
    </article>
  );
}

/** Fills the form with the sweep that the open file has, each time another file has one. */
function useOwnSweep(): void {
  const content = text.value;
  useEffect(() => {
    let isWanted = true;
    const take = async (): Promise<void> => {
      const own = axesOf(await engine.value.expand(content));
      const key = JSON.stringify(own);
      if (!isWanted || !own || key === taken) return;
      taken = key;
      draft.value = { axes: own.axes.map(({ key, values }) => ({ key, values: values.join(", ") })), seeds: own.seeds };
    };
    // What is wrong in the file is said beside it.
    if (/^\s*\[\[?sweep\b/m.test(content)) void take().catch(() => undefined);
    return () => void (isWanted = false);
  }, [content]);
}

function Swept({ sweep: shown }: { sweep: Sweep }) {
  const cells = shown.cells.value;
  const outputs = cells.flatMap((cell) => cell.outputs).filter((output) => output !== null);
  const offered = measures(outputs);
  const measure = offered.find(({ key }) => key === chosen.value) ?? offered[0];
  const status = shown.status.value;
  return (
    <>
      {status === "running" && (
        <p role="status">
          <progress max={shown.runs} value={shown.ended.value} aria-label="Runs" /> {shown.ended.value} of {shown.runs} runs
        </p>
      )}
      {status === "failed" && <p class="warning" role="alert">{shown.error.value}</p>}
      {status === "cancelled" && <p role="status">Cancelled after {shown.ended.value} of {shown.runs} runs; what had ended is below.</p>}
      {measure && (
        <>
          <Choice offered={offered} measure={measure} />
          {shown.axes.length === 1 && <CurveOf sweep={shown} measure={measure} open={open} />}
          <HeatMap sweep={shown} measure={measure} open={open} />
        </>
      )}
    </>
  );
}

function Choice({ offered, measure }: { offered: readonly Measure[]; measure: Measure }) {
  return (
    <p>
      <label>
        Shows{" "}
        <select value={measure.key} onChange={(event) => (chosen.value = event.currentTarget.value)}>
          {offered.map(({ key, label, unit }) => <option key={key} value={key}>{label}{unit && `, ${unit}`}</option>)}
        </select>
      </label>
    </p>
  );
}

function open(cell: Cell): void {
  launch(cell.toml, cell.values.join(", "));
  tab.value = "result";
}
