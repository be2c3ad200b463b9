/** A sweep over one parameter as a curve, with intervals where there are seeds; a click on a point opens its run. */

import type { Measure } from "../compare/measures";
import { figure, ticks } from "../run/figure";
import { yRange } from "../run/value-range";
import { places } from "./axis";
import { type Cell, type Sweep, value } from "./sweep";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [720, 300, 64, 24, 14, 46];
/** Values that span as much as this are drawn by their logarithms. */
const WIDE = 8;

type CurveProps = { sweep: Sweep; measure: Measure; open: (cell: Cell) => void };

export function CurveOf({ sweep, measure, open }: CurveProps) {
  const axis = sweep.axes[0]!;
  const found = sweep.cells.value.flatMap((cell, place) => {
    const mean = value(cell, measure);
    return mean ? [{ cell, place, mean }] : [];
  });
  // Between two queues there is nothing.
  const onLine = places(axis);
  const x = horizontal(axis.values.length, onLine?.at ?? null);
  const tops = found.flatMap(({ mean }) => [mean.low ?? mean.mean, mean.high ?? mean.mean]);
  const [bottom, top] = yRange(Math.min(...tops), Math.max(...tops), true);
  const y = (v: number): number => HEIGHT - BOTTOM - ((v - bottom) / (top - bottom)) * (HEIGHT - TOP - BOTTOM);
  const line = found.map(({ place, mean }) => `${x(place)},${y(mean.mean)}`).join(" ");
  return (
    <figure class="sweep-curve">
      <figcaption><b>{measure.label}</b>{measure.unit && `, ${measure.unit}`} over {axis.key}</figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="group" aria-label={`${measure.label} over ${axis.key}`}>
        {ticks(bottom, top, 5).map((at) => (
          <g key={at}>
            <line class="grid" x1={LEFT} x2={WIDTH - RIGHT} y1={y(at)} y2={y(at)} />
            <text x={LEFT - 8} y={y(at) + 4} text-anchor="end">{at}</text>
          </g>
        ))}
        {axis.values.map((text, place) => (
          <text key={text} x={x(place)} y={HEIGHT - BOTTOM + 18} text-anchor="middle">{text.length > 14 ? `${text.slice(0, 13)}…` : text}</text>
        ))}
        <text x={(LEFT + WIDTH - RIGHT) / 2} y={HEIGHT - 6} text-anchor="middle">{axis.key}</text>
        {onLine && <polyline class="curve" points={line} />}
        {found.map(({ cell, place, mean }) => (
          <g key={place} class="point" role="button" tabIndex={0} aria-label={`${cell.values[0]}: ${figure(mean.mean)} ${measure.unit}; open the run`}
            onClick={() => open(cell)} onKeyDown={(event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), open(cell))}>
            {mean.low !== null && mean.high !== null && <line class="interval" x1={x(place)} x2={x(place)} y1={y(mean.low)} y2={y(mean.high)} />}
            <circle class="target" cx={x(place)} cy={y(mean.mean)} r="14" />
            <circle class="dot" cx={x(place)} cy={y(mean.mean)} r="5" />
          </g>
        ))}
      </svg>
    </figure>
  );
}

/** Where the values are drawn: on a number line, by logarithms if they span much, or in equal steps. */
function horizontal(count: number, at: readonly number[] | null): (place: number) => number {
  const [left, width] = [LEFT + 24, WIDTH - LEFT - RIGHT - 48];
  const equal = (place: number): number => left + (count > 1 ? (place / (count - 1)) * width : width / 2);
  if (!at) return equal;
  const [least, most] = [Math.min(...at), Math.max(...at)];
  if (most === least) return equal;
  const scale = least > 0 && most / least >= WIDE ? Math.log : (number: number) => number;
  return (place) => left + ((scale(at[place]!) - scale(least)) / (scale(most) - scale(least))) * width;
}
