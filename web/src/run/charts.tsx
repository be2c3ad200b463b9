/** The charts of a run, while it goes on and after: `<RunCharts run={run} only={["rate", "queue_delay"]} />`. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { RunRecord } from "../runs";
import { Chart } from "./chart";
import { type Line, Palette } from "./looks";
import { type Panel, type PanelKey, named, panels } from "./panels";
import { TimeAxis } from "./time";

export type RunChartsProps = {
  readonly run: RunRecord;
  /** Of the caller, if other things follow the same time; else the charts have one of their own. */
  readonly axis?: TimeAxis;
  /** Which panels are drawn, in their order; all without it. */
  readonly only?: readonly PanelKey[];
  /** Further series by name, `*` for any part. */
  readonly more?: readonly string[];
  /** Drawn over the lines of a panel. */
  readonly over?: (panel: Panel) => readonly Line[];
  readonly height?: number;
  /** Of the caller, if other charts show the same flows. */
  readonly palette?: Palette;
};

export function RunCharts({ run, axis, only, more = [], over, height, palette }: RunChartsProps) {
  const own = useMemo(() => new TimeAxis(), [run]);
  const time = axis ?? own;
  const ownPalette = useMemo(() => new Palette(), [run]);
  const colours = palette ?? ownPalette;
  const version = useDrawn(run);
  const durationS = run.durationS.value;
  useEffect(() => {
    if (Number.isFinite(durationS)) time.whole.value = [0, durationS];
  }, [time, durationS]);
  const shown = useMemo(() => {
    const every = panels(run.recording, durationS);
    const kept = only ? only.flatMap((key) => every.filter((panel) => panel.key === key)) : every;
    return [...kept, ...more.map((pattern) => named(run.recording, pattern))];
  }, [run, version, durationS, only?.join(), more.join()]);
  return (
    <div class="charts">
      {shown.map((panel) => (
        <Chart key={panel.key} axis={time} title={panel.title} unit={panel.unit} fromZero={panel.fromZero}
          lines={[...colours.lines(panel.curves, panel.ofQueues), ...(over?.(panel) ?? [])]}
          {...(height === undefined ? {} : { height })} />
      ))}
    </div>
  );
}

/** Live curves are drawn no more often than this, ms; and a redraw of 60 ms is followed by none for 240 ms. */
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
      setDrawn(latest);
      requestAnimationFrame(() => {
        const now = performance.now();
        next.current = Math.max(begun + INTERVAL_MS, now + REST * (now - begun));
      });
    };
    const wait = isOver ? 0 : next.current - performance.now();
    const timer = setTimeout(draw, Math.max(0, wait));
    return () => clearTimeout(timer);
  }, [latest, isOver]);
  return drawn;
}
