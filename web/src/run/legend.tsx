/** What the lines are, with their values at the instant; a click hides one in all charts of the view. */

import { figure } from "./figure";
import type { Line } from "./looks";
import { valueAt } from "./recording";
import type { TimeAxis } from "./time";

export function Legend({ axis, lines, unit }: { axis: TimeAxis; lines: readonly Line[]; unit: string }) {
  const at = axis.instant.value;
  return (
    <ul class="chart-legend">
      {lines.map((line) => {
        const isHidden = axis.hidden.value.has(line.label);
        const value = valueAt(line, at ?? Infinity);
        return (
          <li key={line.label}>
            <button type="button" aria-pressed={!isHidden} onClick={() => axis.toggle(line.label)}
              title={`${isHidden ? "Show" : "Hide"} ${line.label}`}>
              <Swatch line={line} />
              <span>{line.label}</span> <output title={unit}>{figure(value)}</output>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** A piece of the line. */
export function Swatch({ line: { look, band } }: { line: Line }) {
  return (
    <svg class={`swatch ${look.colour}`} width="24" height="10" aria-hidden="true">
      {band && <rect class="swatch-band" width="24" height="10" />}
      <line x1="0" y1="5" x2="24" y2="5" stroke-width={look.width + 0.6} stroke-dasharray={look.dash.join(" ")} />
    </svg>
  );
}
