/** Scatter figures of a page, as report/scatter.py prints them: the other side across, the results up. */

import type { Dot, Scatter } from "./model";
import type { Numbers } from "./table";

const SIZE = 340, LEFT = 56, TOP = 30, PLOT = 250, LINE = 13, LETTER = 5.6;
const BOTTOM = TOP + PLOT, RIGHT = LEFT + PLOT;

type Sides = [string, string];

/** How far along the axes a value is, in the picture's units. */
function along({ range: [low, high], log = false }: Scatter, value: number): number {
  const within = Math.min(Math.max(value, low), high);
  return PLOT * (log ? Math.log(within / low) / Math.log(high / low) : (within - low) / (high - low));
}

function at(value: number): string {
  return value.toFixed(1);
}

function Point({ scatter, dot, sides }: { scatter: Scatter; dot: Dot; sides: Sides }) {
  const x = LEFT + along(scatter, dot.x), y = BOTTOM - along(scatter, dot.y);
  const tip = <title>{`${dot.label}: ${sides[0]} ${at(dot.y)}, ${sides[1]} ${at(dot.x)}`}</title>;
  return dot.is_new
    ? <circle cx={at(x)} cy={at(y)} r="4.5" fill={dot.colour} fill-opacity=".75">{tip}</circle>
    : <rect x={at(x - 4)} y={at(y - 4)} width="8" height="8" class="open" stroke={dot.colour} stroke-width="1.8">{tip}</rect>;
}

type NameProps = { scatter: Scatter; dot: Dot; row: number; sides: Sides; numbers: Numbers };

function Named({ scatter, dot, row, sides, numbers }: NameProps) {
  const isAbove = dot.y > dot.x, width = LETTER * dot.name!.length;
  const x = LEFT + along(scatter, dot.x), y = BOTTOM - along(scatter, dot.y);
  const left = isAbove ? Math.min(x - 3, SIZE - width) : Math.max(x + 3, width);
  const line = isAbove ? TOP + LINE * (row + 1) : BOTTOM - 5 - LINE * row;
  const parts = (
    <>
      <line x1={at(x)} y1={at(y)} x2={at(x)} y2={at(line + (isAbove ? 3 : -10))} class="leader" />
      <Point scatter={scatter} dot={dot} sides={sides} />
      <text x={at(left)} y={at(line)} text-anchor={isAbove ? "start" : "end"} class="far">{dot.name}</text>
    </>
  );
  const number = numbers.get(dot.label.slice(0, dot.label.lastIndexOf(" ")));
  return number ? <a href={`#run-${number}`}>{parts}</a> : parts;
}

export function ScatterView({ scatter, sides, numbers }: { scatter: Scatter; sides: Sides; numbers: Numbers }) {
  const named = scatter.dots.filter((dot) => dot.name).sort((a, b) => a.x - b.x);
  const above = named.filter((dot) => dot.y > dot.x), below = named.filter((dot) => dot.y <= dot.x).reverse();
  const [up, across] = sides, middle = TOP + PLOT / 2;
  return (
    <svg viewBox={`0 0 ${SIZE} ${SIZE}`} role="group" aria-label={`${scatter.title}: ${up} against ${across}`}>
      <text x={LEFT} y="18" class="head-text">{scatter.title}</text>
      <rect x={LEFT} y={TOP} width={PLOT} height={PLOT} class="frame" />
      <line x1={LEFT} y1={BOTTOM} x2={RIGHT} y2={TOP} class="same" />
      {scatter.ticks.map((tick) => {
        const x = at(LEFT + along(scatter, tick)), y = BOTTOM - along(scatter, tick);
        return [
          <line x1={x} y1={BOTTOM} x2={x} y2={TOP} class="grid" />,
          <line x1={LEFT} y1={at(y)} x2={RIGHT} y2={at(y)} class="grid" />,
          <text x={x} y={BOTTOM + 16} text-anchor="middle">{tick}</text>,
          <text x={LEFT - 6} y={at(y + 4)} text-anchor="end">{tick}</text>,
        ];
      })}
      {scatter.dots.filter((dot) => !dot.name).map((dot) => <Point scatter={scatter} dot={dot} sides={sides} />)}
      {above.map((dot, row) => <Named scatter={scatter} dot={dot} row={row} sides={sides} numbers={numbers} />)}
      {below.map((dot, row) => <Named scatter={scatter} dot={dot} row={row} sides={sides} numbers={numbers} />)}
      <text x={LEFT + PLOT / 2} y={BOTTOM + 36} text-anchor="middle">{across}</text>
      <text transform={`translate(14 ${middle}) rotate(-90)`} text-anchor="middle">{up}</text>
    </svg>
  );
}
