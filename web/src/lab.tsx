/** The lab: a scenario on one side, what came of it on the other. */

import { CompareView } from "./compare/view";
import { DownloadView } from "./download/view";
import { MeasuredView } from "./measured/view";
import { RunView } from "./run/view";
import { current } from "./runs";
import { tab, type Tab } from "./state";
import { SweepView } from "./sweep/view";

const TABS: [Tab, string][] = [
  ["result", "Result"],
  ["compare", "Fork and compare"],
  ["sweep", "Sweep"],
  ["measured", "Measured"],
  ["download", "Download"],
];

export function LabView() {
  return (
    <div class="lab">
      <section class="lab-scenario" aria-label="Scenario"></section>
      <section class="lab-outcome" aria-label="Outcome">
        <nav class="tabs" aria-label="Outcome">
          {TABS.map(([name, label]) => (
            <button key={name} type="button" aria-pressed={tab.value === name} onClick={() => (tab.value = name)}>
              {label}
            </button>
          ))}
        </nav>
        <Outcome />
      </section>
    </div>
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
  return <p class="hint">Nothing has run yet. Run the scenario to see what comes of it.</p>;
}
