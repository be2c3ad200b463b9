/** The points of a sweep as a table: rows and columns are values, shades the measure, a click opens the run. */

import { useId } from "preact/hooks";

import type { Measure } from "../compare/measures";
import { figure } from "../run/figure";
import { type Cell, type Sweep, value } from "./sweep";

type HeatProps = { sweep: Sweep; measure: Measure; open: (cell: Cell) => void };

export function HeatMap({ sweep, measure, open }: HeatProps) {
  const caption = useId();
  const [rows, columns] = sweep.axes;
  const cells = sweep.cells.value;
  const means = cells.map((cell) => value(cell, measure));
  const found = means.filter((mean) => mean !== null).map(({ mean }) => mean);
  const [least, most] = [Math.min(...found), Math.max(...found)];
  const across = columns?.values ?? [""];
  return (
    <div class="box" tabIndex={0} role="group" aria-label={`Table of ${measure.label}`}>
      <p class="heat-caption soft" id={caption}>
        <b>{measure.label}</b>{measure.unit && `, ${measure.unit}`}{sweep.seeds > 1 ? `: means over ${sweep.seeds} seeds ± half of the 95 % interval` : ""}.
        A click opens the run.
      </p>
      <table class="heat" aria-labelledby={caption}>
        <thead>
          {columns && <tr><td /><th scope="colgroup" colSpan={across.length}>{columns.key}</th></tr>}
          <tr>
            <th scope="col" class="text">{rows!.key}</th>
            {across.map((column) => <th key={column} scope="col">{column || measure.label}</th>)}
          </tr>
        </thead>
        <tbody>
          {rows!.values.map((row, y) => (
            <tr key={row}>
              <th scope="row" class="text">{row}</th>
              {across.map((column, x) => {
                const place = y * across.length + x;
                const [cell, mean] = [cells[place], means[place]];
                if (!cell || !mean) return <td key={column} class="soft">…</td>;
                const share = most > least ? (mean.mean - least) / (most - least) : 0;
                const half = mean.high === null ? "" : ` ± ${figure(mean.high - mean.mean)}`;
                return (
                  <td key={column} class="heat-cell" style={{ "--share": `${(100 * share).toFixed(1)}%` }}>
                    <button type="button" onClick={() => open(cell)} aria-label={`${cell.values.join(", ")}: ${figure(mean.mean)} ${measure.unit}; open the run`}>
                      {figure(mean.mean)}{half}
                    </button>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
