/** One curve of each side, over each other. */

import { useEffect, useMemo } from "preact/hooks";

import { Chart } from "../run/chart";
import { overlaid } from "../run/looks";
import { panels, type Panel } from "../run/panels";
import { TimeAxis } from "../run/time";
import type { RunRecord } from "../runs";
import type { Asked } from "./ask";

const HEIGHT = 190;

export function Comparison({ asked }: { asked: Asked }) {
  const { chart, side } = asked.question;
  const axis = useMemo(() => new TimeAxis(), [asked]);
  const runs = side.flatMap(({ id, label }) => {
    const run = asked.runs.value.get(id);
    return run ? [{ label, run, panel: panelOf(run, chart.panel) }] : [];
  });
  const lastS = Math.max(1, ...runs.map(({ run }) => run.durationS.value || 0));
  useEffect(() => {
    axis.whole.value = [0, lastS];
  }, [axis, lastS]);
  const curves = runs.flatMap(({ label, panel }) => {
    const found = panel?.curves.find(({ name }) => name === chart.curve);
    return found ? [{ label, curves: [found] }] : [];
  });
  const lines = overlaid(curves).map((line, n) => ({ ...line, label: curves[n]!.label }));
  const unit = runs.find(({ panel }) => panel)?.panel?.unit ?? "";
  return <Chart axis={axis} title={chart.title} unit={unit} lines={lines} height={HEIGHT} />;
}

function panelOf({ recording, drawn, durationS }: RunRecord, wanted: string): Panel | undefined {
  return drawn.value > 0 ? panels(recording, durationS.value).find(({ key }) => key === wanted) : undefined;
}
