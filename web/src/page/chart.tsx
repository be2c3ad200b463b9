/** Charts of parameter studies, as report/charts.py prints them: every mark says what it is where a pointer rests on it. */

import type { Axis, Chart, Curve, Mark, Panel, Scale } from "./model";

const WIDTH = 330, HEIGHT = 240, LEFT = 62, TOP = 28, BELOW = 48, ASIDE = 14, BAR = 240;
const BOTTOM = TOP + HEIGHT;
const DASHES = ["", "6 3", "2 3", "8 3 2 3", "1 2", "10 3", "4 4", "5 2 1 2"];
const LONG_WORD = 9, LONG_LINE = 40;
/** Shapes of marks around a point, for those who see no colours. */
const SHAPES = [
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z",
  "M-3.6 -3.6H3.6V3.6H-3.6Z",
  "M0 -5L5 0L0 5L-5 0Z",
  "M-4.4 -3.4H4.4L0 4.6Z",
  "M-4.4 3.4H4.4L0 -4.6Z",
  "M-1.5 -4.5H1.5V-1.5H4.5V1.5H1.5V4.5H-1.5V1.5H-4.5V-1.5H-1.5Z",
  "M0 -5L1.5 -1.5L5 -1.5L2.2 0.8L3.2 4.6L0 2.4L-3.2 4.6L-2.2 0.8L-5 -1.5L-1.5 -1.5Z",
  "M-2.2 -4.6H2.2L4.6 0L2.2 4.6H-2.2L-4.6 0Z",
];

/** Where a chart's values are in a picture. */
type Frame = { left: number; isTurned: boolean; width: number; height: number; x(value: number): number; y(value: number): number };

function share({ range: [low, high], log = false }: Axis, value: number): number {
  if (value <= low) return 0;
  return Math.min(log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low), 1);
}

function frameOf({ x, y }: Chart): Frame {
  const words = x.ticks.map(([, text]) => text.length), longest = Math.max(0, ...y.ticks.map(([, text]) => text.length));
  const isTurned = words.reduce((a, b) => a + b, 0) > LONG_LINE || Math.max(0, ...words) > LONG_WORD;
  const left = LEFT + 6 * Math.max(longest - 6, 0);
  return {
    left, isTurned, width: left + WIDTH + ASIDE, height: BOTTOM + BELOW + (isTurned ? 44 : 0),
    x: (value) => left + WIDTH * share(x, value), y: (value) => BOTTOM - HEIGHT * share(y, value),
  };
}

function at(value: number): string {
  return value.toFixed(1);
}

function named({ label, log = false }: Axis): string {
  return label + (log ? " (logarithmic)" : "");
}

function Axes({ chart, frame }: { chart: Chart; frame: Frame }) {
  const right = frame.left + WIDTH, hasGrid = chart.kind !== "heat";
  return (
    <>
      {chart.x.ticks.map(([value, text]) => {
        const x = frame.x(value);
        const place = frame.isTurned
          ? { transform: `translate(${at(x)} ${BOTTOM + 14}) rotate(-30)`, "text-anchor": "end" as const }
          : { x: at(x), y: BOTTOM + 16, "text-anchor": "middle" as const };
        return [hasGrid && <line x1={at(x)} y1={BOTTOM} x2={at(x)} y2={TOP} class="grid" />, <text {...place}>{text}</text>];
      })}
      {chart.y.ticks.map(([value, text]) => {
        const y = frame.y(value);
        return [
          hasGrid && <line x1={frame.left} y1={at(y)} x2={right} y2={at(y)} class="grid" />,
          <text x={frame.left - 6} y={at(y + 4)} text-anchor="end">{text}</text>,
        ];
      })}
      <text x={frame.left + WIDTH / 2} y={frame.height - 10} text-anchor="middle">{named(chart.x)}</text>
      <text transform={`translate(13 ${TOP + HEIGHT / 2}) rotate(-90)`} text-anchor="middle">{named(chart.y)}</text>
    </>
  );
}

/** Below this lightness what is written on a cell is white. */
const DARK = 0.55;

function Cell({ chart, frame, mark }: { chart: Chart; frame: Frame; mark: Mark }) {
  const width = WIDTH / chart.x.ticks.length - 2, height = HEIGHT / chart.y.ticks.length - 2, colour = mark.colour ?? "";
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((from) => parseInt(colour.slice(from, from + 2), 16) / 255);
  const ink = 0.299 * red + 0.587 * green + 0.114 * blue < DARK ? "#fff" : "#000";
  const x = frame.x(mark.x), y = frame.y(mark.y);
  return (
    <>
      <rect x={at(x - width / 2)} y={at(y - height / 2)} width={at(width)} height={at(height)} fill={colour}><title>{mark.label}</title></rect>
      {mark.text && 7 * mark.text.length < width && (
        <text x={at(x)} y={at(y + 4)} text-anchor="middle" style={{ fill: ink, pointerEvents: "none" }}>{mark.text}</text>
      )}
    </>
  );
}

function Point({ curve, frame, mark }: { curve: Curve; frame: Frame; mark: Mark }) {
  const x = at(frame.x(mark.x)), colour = mark.colour || curve.colour, { low, high } = mark;
  return (
    <>
      {low != null && high != null && <line x1={x} x2={x} y1={at(frame.y(low))} y2={at(frame.y(high))} stroke={colour} stroke-width="1.6" />}
      <path d={SHAPES[(curve.shape ?? 0) % SHAPES.length]!} transform={`translate(${x} ${at(frame.y(mark.y))})`} fill={colour} fill-opacity={mark.faint ? ".3" : undefined}>
        <title>{mark.label}</title>
      </path>
    </>
  );
}

function PanelView({ chart, panel }: { chart: Chart; panel: Panel }) {
  const frame = frameOf(chart);
  const marks = (curve: Curve): Mark[] => curve.marks.toSorted((a, b) => Number(b.faint ?? false) - Number(a.faint ?? false));
  return (
    <svg viewBox={`0 0 ${frame.width} ${frame.height}`} role="img" aria-label={`${chart.title} ${panel.title}`.trim()}>
      <text x={frame.left} y="18" class="head-text">{panel.title}</text>
      <Axes chart={chart} frame={frame} />
      {panel.curves.filter((curve) => curve.is_joined).map((curve) => (
        <polyline
          points={curve.marks.map((mark) => `${at(frame.x(mark.x))},${at(frame.y(mark.y))}`).join(" ")}
          fill="none" stroke={curve.colour} stroke-width="1.5"
          stroke-dasharray={curve.is_front ? "4 3" : DASHES[(curve.shape ?? 0) % DASHES.length]!}
        />
      ))}
      {panel.curves.filter((curve) => !curve.is_front).map((curve) => marks(curve).map((mark) =>
        chart.kind === "heat" ? <Cell chart={chart} frame={frame} mark={mark} /> : <Point curve={curve} frame={frame} mark={mark} />))}
    </svg>
  );
}

/** What the curves are, each with its shape and its dashes. */
function Legend({ chart }: { chart: Chart }) {
  const curves = new Map(chart.panels.flatMap((panel) => panel.curves).filter((curve) => curve.name).map((curve) => [curve.name, curve]));
  return (
    <>
      <b>{chart.legend}</b>{" "}
      {[...curves.values()].map((curve) => {
        const shape = curve.shape ?? 0;
        return (
          <span>
            <svg viewBox="0 0 26 14" width="26" height="14" aria-hidden="true">
              {curve.is_joined && <line x1="0" x2="26" y1="7" y2="7" stroke={curve.colour} stroke-width="1.5" stroke-dasharray={DASHES[shape % DASHES.length]!} />}
              <path d={SHAPES[shape % SHAPES.length]!} transform="translate(13 7)" fill={curve.colour} />
            </svg>{" "}
            {curve.name}
          </span>
        );
      })}
    </>
  );
}

/** Colours from low to high, with the values at their places. */
function ScaleView({ scale }: { scale: Scale }) {
  const step = BAR / scale.colours.length;
  return (
    <>
      <b>{scale.label}</b>{" "}
      <svg viewBox={`0 0 ${BAR + 60} 30`} width={BAR + 60} height="30" aria-hidden="true">
        {scale.colours.map((colour, n) => <rect x={at(30 + n * step)} y="0" width={at(step + 0.5)} height="10" fill={colour} />)}
        {scale.ticks.map(([place, text]) => <text x={at(30 + place * BAR)} y="24" text-anchor="middle">{text}</text>)}
      </svg>
    </>
  );
}

export function ChartView({ chart }: { chart: Chart }) {
  return (
    <>
      <div class="legend">{chart.legend ? <Legend chart={chart} /> : chart.scale && <ScaleView scale={chart.scale} />}</div>
      <div class="overview charts">{chart.panels.map((panel) => <PanelView chart={chart} panel={panel} />)}</div>
    </>
  );
}
