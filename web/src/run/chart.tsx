/** Lines over time: zoom, cursor and instant are those of all charts with the same axis; a legend, and the numbers as a table. */

import { effect, useSignalEffect } from "@preact/signals";
import { useEffect, useId, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import "uplot/dist/uPlot.min.css";

import "./chart.css";
import { figure } from "./figure";
import { Legend } from "./legend";
import type { Line } from "./looks";
import { Numbers } from "./numbers";
import { Plot } from "./plot";
import { themes } from "./theme";
import type { TimeAxis } from "./time";
import { drawSoon, forget } from "./turns";

export type ChartProps = {
  readonly axis: TimeAxis;
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly Line[];
  /** Whether the value axis begins at 0. */
  readonly fromZero?: boolean;
  readonly height?: number;
};

export function Chart({ axis, title, unit, lines, fromZero = true, height = 190 }: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const isSeen = useRef(true);
  /** What has changed and is not drawn yet. */
  const late = useRef<(() => void) | null>(null);
  const caption = useId();
  const { hidden, shown } = axis;
  const visible = useMemo(() => lines.filter(({ label }) => !hidden.value.has(label)), [lines, hidden.value]);
  const means = useMemo(() => lines.map(({ v }) => v.reduce((sum, value) => sum + value, 0) / v.length), [lines]);
  const range = shown.value;

  useLayoutEffect(() => {
    const at = host.current!;
    if (plot.current?.takes(lines)) {
      late.current = () => {
        late.current = null;
        plot.current?.draw(lines, hidden.peek());
      };
      if (isSeen.current) drawSoon(at, late.current);
      return;
    }
    late.current = null;
    forget(at);
    plot.current?.destroy();
    plot.current = new Plot(at, at.clientWidth || 600, axis, lines, { fromZero, height });
    plot.current.point();
  }, [lines, hidden.value, range, axis, fromZero]);

  useEffect(() => {
    const at = host.current!;
    const observer = new ResizeObserver(() => at.clientWidth > 0 && plot.current?.resize(at.clientWidth, height));
    observer.observe(at);
    // A chart out of sight is drawn when it comes in sight, or is printed.
    const sight = new IntersectionObserver((entries) => {
      isSeen.current = entries.at(-1)!.isIntersecting;
      if (isSeen.current && late.current) drawSoon(at, late.current);
    }, { rootMargin: "100px" });
    sight.observe(at);
    const print = (): void => {
      forget(at);
      late.current?.();
    };
    addEventListener("beforeprint", print);
    return () => {
      removeEventListener("beforeprint", print);
      sight.disconnect();
      observer.disconnect();
      forget(at);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [height]);

  useSignalEffect(() => {
    void axis.instant.value;
    plot.current?.point();
  });
  // At once, since paper does not wait for the next picture.
  useEffect(() => effect(() => {
    void themes.value;
    plot.current?.repaint();
  }), []);

  const press = (event: KeyboardEvent): void => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey && axis.press(event)) event.preventDefault();
  };

  return (
    <figure class="chart">
      <figcaption id={caption}>
        <b>{title}</b>{unit && `, ${unit}`}
      </figcaption>
      <div ref={host} class="chart-canvas" role="group" aria-roledescription="chart" tabIndex={0} onKeyDown={press}
        aria-label={described(title, unit, lines, means, visible)} aria-keyshortcuts="+ - 0 ArrowLeft ArrowRight" />
      <Legend axis={axis} lines={lines} unit={unit} />
      <Numbers axis={axis} lines={visible} title={title} unit={unit} />
    </figure>
  );
}

/** What a picture says to who does not see it: what is drawn, with means. */
function described(title: string, unit: string, lines: readonly Line[], means: readonly number[], visible: readonly Line[]): string {
  const drawn = visible.map((line) => `${line.label} mean ${figure(means[lines.indexOf(line)])}`);
  return `${title}${unit && ` in ${unit}`} over time: ${drawn.join("; ")}. Keys: plus, minus and 0 zoom, arrows move the instant.`;
}
