/** The lab: a scenario on one side, what came of it on the other. */

import { useEffect } from "preact/hooks";

import { CompareView } from "./compare/view";
import "./download/download.css";
import { ScenarioText } from "./editor/view";
import { FormView } from "./form/view";
import { questions } from "./gallery/questions";
import { later } from "./later";
import { MeasuredView } from "./measured/view";
import { PathView } from "./path/view";
import { RunView } from "./run/view";
import { current, remove, runs, selected } from "./runs";
import { ScenarioBar } from "./scenario/bar";
import { open, text } from "./scenario/document";
import { tab, type Tab } from "./state";
import { SweepView } from "./sweep/view";
import { Tabs } from "./tabs";

const TABS: readonly [Tab, string][] = [
  ["result", "Result"],
  ["compare", "Compare"],
  ["sweep", "Sweep"],
  ["measured", "Measured"],
  ["download", "Download"],
];

/** With a writer of Parquet, as much code as all the rest. */
const DownloadView = later(async () => (await import("./download/view")).DownloadView);

export function LabView() {
  useEffect(() => {
    if (!text.value) open(questions[0]!.scenario.trimStart(), "");
  }, []);
  return (
    <div class="lab">
      <section class="lab-path" aria-label="Scenario">
        <ScenarioBar />
        <PathView />
        <FormView />
      </section>
      <section class="lab-outcome" aria-label="Outcome">
        <RunChoice />
        <Tabs label="Outcome" tabs={TABS} chosen={tab} />
        <Outcome />
      </section>
      <ScenarioText />
    </div>
  );
}

/** Which of the page's runs is looked at, once there are several. */
function RunChoice() {
  const run = current.value;
  if (runs.value.length < 2 || !run) return null;
  return (
    <p class="run-choice no-print">
      <label>
        Run{" "}
        <select value={run.id} onChange={(event) => (selected.value = event.currentTarget.value)}>
          {runs.value.map(({ id, label, status }) => (
            <option key={id} value={id}>{label}{status.value === "done" ? "" : `, ${status.value}`}</option>
          ))}
        </select>
      </label>
      <button type="button" class="button" onClick={() => remove(run)}>Remove</button>
    </p>
  );
}

function Outcome() {
  const run = current.value;
  switch (tab.value) {
    case "compare":
      return <CompareView />;
    case "sweep":
      return <SweepView />;
    case "result":
      return run ? <RunView run={run} /> : <Nothing />;
    case "measured":
      return run ? <MeasuredView run={run} /> : <Nothing />;
    case "download":
      return run ? <DownloadView run={run} /> : <Nothing />;
  }
}

function Nothing() {
  return <p class="hint">Nothing has run yet: press Run.</p>;
}
