/** The lab: a scenario on one side, what came of it on the other. */

import { CompareView } from "./compare/view";
import { DownloadView } from "./download/view";
import { ScenarioText } from "./editor/view";
import { FormView } from "./form/view";
import { MeasuredView } from "./measured/view";
import { PathView } from "./path/view";
import { RunView } from "./run/view";
import { current } from "./runs";
import { ScenarioBar } from "./scenario/bar";
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

export function LabView() {
  return (
    <div class="lab">
      <section class="lab-path" aria-label="Path">
        <ScenarioBar />
        <PathView />
      </section>
      <section class="lab-outcome" aria-label="Outcome">
        <Tabs label="Outcome" tabs={TABS} chosen={tab} />
        <Outcome />
      </section>
      <section class="lab-scenario" aria-label="Scenario">
        <FormView />
        <ScenarioText />
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
  return <p class="hint">Nothing has run yet: press Run.</p>;
}
