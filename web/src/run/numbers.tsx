/** What a chart shows, as a table: the lines at equal steps of the time that is shown. */

import { useState } from "preact/hooks";

import { figure } from "./figure";
import type { Line } from "./looks";
import { upperBound, valueAt } from "./recording";
import type { TimeAxis } from "./time";

const ROWS = 20;

type NumbersProps = { axis: TimeAxis; lines: readonly Line[]; title: string; unit: string };

export function Numbers({ axis, lines, title, unit }: NumbersProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="chart-numbers no-print" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Numbers<span class="visually-hidden"> of {title}</span></summary>
      {isOpen && <Table axis={axis} lines={lines} title={title} unit={unit} />}
    </details>
  );
}

function Table({ axis, lines, title, unit }: NumbersProps) {
  const [from, to] = axis.shown.value;
  const times = Array.from({ length: ROWS + 1 }, (_, n) => from + (n * (to - from)) / ROWS);
  return (
    <div class="box" tabIndex={0} role="group" aria-label={`Numbers of ${title}`}>
      <table>
        <caption>{title}{unit && `, ${unit}`}: the last sample at or before each time, and the mean of the samples shown</caption>
        <thead>
          <tr><th scope="col">time, s</th>{lines.map(({ label }) => <th key={label} scope="col">{label}</th>)}</tr>
        </thead>
        <tbody>
          {times.map((time) => (
            <tr key={time}>
              <th scope="row">{time.toFixed(2)}</th>
              {lines.map((line) => <td key={line.label}>{figure(valueAt(line, time))}</td>)}
            </tr>
          ))}
          <tr>
            <th scope="row">mean</th>
            {lines.map((line) => <td key={line.label}>{figure(mean(line, from, to))}</td>)}
          </tr>
        </tbody>
      </table>
    </div>
  );
}

function mean({ t, v }: Line, from: number, to: number): number | null {
  const kept = v.subarray(upperBound(t, from - 1e-9), upperBound(t, to));
  return kept.length ? kept.reduce((sum, value) => sum + value, 0) / kept.length : null;
}
