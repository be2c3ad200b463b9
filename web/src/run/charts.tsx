/** The charts of a run, while it goes on and after. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { RunRecord } from "../runs";
import { Chart } from "./chart";
import type { Palette } from "./looks";
import { named, panels } from "./panels";
import type { TimeAxis } from "./time";
import { whenDrawn } from "./turns";

export type RunChartsProps = {
  readonly run: RunRecord;
  readonly axis: TimeAxis;
  /** Colours of the view's flows and queues. */
  readonly palette: Palette;
  /** Further series by name, `*` for any part. */
  readonly more: readonly string[];
  /** Of `useDrawn`: what is recorded is read again when it grows. */
  readonly version: number;
};

export function RunCharts({ run, axis, palette, more, version }: RunChartsProps) {
  const durationS = run.durationS.value;
  useEffect(() => {
    if (Number.isFinite(durationS)) axis.whole.value = [0, durationS];
  }, [axis, durationS]);
  const shown = useMemo(() => {
    const { recording } = run;
    const every = [...panels(recording, durationS), ...more.map((pattern) => named(recording, pattern))];
    return every.map((panel) => ({ ...panel, lines: palette.lines(panel.curves, panel.ofQueues) }));
  }, [run, palette, version, durationS, more]);
  return (
    <div class="charts">
      {shown.map(({ key, title, unit, fromZero, lines }) => (
        <Chart key={key} axis={axis} title={title} unit={unit} fromZero={fromZero} lines={lines} />
      ))}
    </div>
  );
}

/** Live curves are drawn no more often than this, ms; and drawing them, a picture for each chart, is followed by a rest. */
const INTERVAL_MS = 150;
const REST = 4;

/** The run's `drawn`, as often as there is time to draw it. */
export function useDrawn(run: RunRecord): number {
  const [drawn, setDrawn] = useState(run.drawn.peek());
  const next = useRef(0);
  const latest = run.drawn.value;
  const isOver = run.output.value !== null;
  useEffect(() => {
    if (latest === drawn) return undefined;
    const draw = (): void => {
      const begun = performance.now();
      next.current = Infinity;
      setDrawn(latest);
      whenDrawn(() => {
        const now = performance.now();
        next.current = Math.max(begun + INTERVAL_MS, now + REST * (now - begun));
      });
    };
    const wait = isOver ? 0 : next.current - performance.now();
    const timer = setTimeout(draw, Math.min(Math.max(0, wait), INTERVAL_MS));
    return () => clearTimeout(timer);
  }, [latest, isOver]);
  return drawn;
}
