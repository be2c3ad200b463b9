/** What a testbed measured, dashed over what was simulated, with the differences in numbers. */

import { useEffect, useMemo, useState } from "preact/hooks";

import { signed } from "../compare/difference";
import type { Output } from "../engine/engine";
import { Chart } from "../run/chart";
import { figure } from "../run/figure";
import { Palette } from "../run/looks";
import { TimeAxis } from "../run/time";
import { TimeBar } from "../run/timebar";
import type { RunRecord } from "../runs";
import { engine } from "../state";
import { type Row, curvesBeside, percent, rowsBeside } from "./beside";
import { type Measurement, measurementOf } from "./measurement";
import { type Changed, changes } from "./original";

type Found = { readonly measurement: Measurement; readonly changed: readonly Changed[] | null };

export function MeasuredView({ run }: { run: RunRecord }) {
  const output = run.output.value;
  const found = useMeasurement(run, output);
  if (!output) return <p class="hint">The run goes on; measurements are shown when it is done.</p>;
  if (found === undefined) return <p role="status">Looks for a measurement …</p>;
  if (found === null) {
    return (
      <p class="hint">
        Nothing was measured for <b>{output.summary.name}</b>. Measurements are there for runs of the suites ect1,
        dualpi2-overload, linux72 and linux72-prague: open one of them under Suites.
      </p>
    );
  }
  return <Beside run={run} output={output} found={found} />;
}

function useMeasurement(run: RunRecord, output: Output | null): Found | null | undefined {
  const [found, setFound] = useState<Found | null | undefined>(undefined);
  useEffect(() => {
    let isWanted = true;
    setFound(undefined);
    if (!output) return undefined;
    const look = async (): Promise<void> => {
      const { name } = output.summary;
      const measurement = await measurementOf(name);
      const changed = measurement && (await changes(engine.value, name, run.toml));
      if (isWanted) setFound(measurement && { measurement, changed });
    };
    look().catch(() => isWanted && setFound(null));
    return () => void (isWanted = false);
  }, [run, output]);
  return found;
}

function Beside({ run, output, found: { measurement, changed } }: { run: RunRecord; output: Output; found: Found }) {
  const durationS = output.summary.duration_s;
  const axis = useMemo(() => new TimeAxis(durationS), [run]);
  const pairs = useMemo(() => {
    const palette = new Palette();
    return curvesBeside(run.recording, measurement).map((pair) => ({ ...pair, lines: palette.lines(pair.curves, false) }));
  }, [run, measurement]);
  const rows = rowsBeside(output, measurement);
  const [from, to] = measurement.window_s;
  return (
    <article class="measured" aria-label="Measured">
      <h2>Simulated beside measured</h2>
      <p class="lead answer">
        {said(rows)}.
      </p>
      <p class="soft">Source: {measurement.source}. Dashed: measured, thinned for the picture; numbers are of the full data.</p>
      {changed && changed.length > 0 && <Other changed={changed} />}
      <TimeBar axis={axis} end={{ value: durationS }} />
      <div class="charts">
        {pairs.map(({ title, unit, lines, fromZero }) => <Chart key={title} axis={axis} title={title} unit={unit} lines={lines} fromZero={fromZero} />)}
      </div>
      <div class="box" tabIndex={0} role="group" aria-label="Differences from the measurement">
        <table class="run-table">
          <caption>Measured from {from.toFixed(1)} to {to.toFixed(1)} s, simulated from {output.summary.measure.from_s} to {output.summary.measure.to_s} s.</caption>
          <thead>
            <tr>
              <th scope="col" class="text">quantity</th><th scope="col" class="text">unit</th><th scope="col">simulated</th>
              <th scope="col">measured</th><th scope="col">difference</th><th scope="col">in %</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => {
              const share = percent(row);
              return (
                <tr key={row.what}>
                  <th scope="row" class="text">{row.what}</th><td class="text">{row.unit}</td><td class="a">{figure(row.simulated)}</td>
                  <td>{figure(row.measured)}</td><td>{row.simulated === null ? "–" : signed(row.simulated - row.measured)}</td>
                  <td>{share === null ? "–" : signed(share)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </article>
  );
}

function said(rows: readonly Row[]): string {
  const kept = rows.filter(({ what }) => /^(goodput|mean)/.test(what));
  const text = kept.map(({ what, simulated, unit, measured }) => `${what} ${figure(simulated)} ${unit}, measured ${figure(measured)}`).join("; ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function Other({ changed }: { changed: readonly Changed[] }) {
  return (
    <div class="warning">
      This run is not of the scenario that was measured:{" "}
      {changed.slice(0, 8).map(({ key, measured, here }) => `${key} is ${here}, was ${measured}`).join("; ")}
      {changed.length > 8 && `; and ${changed.length - 8} more`}.
    </div>
  );
}
