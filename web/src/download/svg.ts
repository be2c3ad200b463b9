/** Charts as one SVG picture, from their data: sharp on paper, and text that can be searched. */

import { type Range, decimate } from "../run/decimate";
import { ticks } from "../run/figure";
import type { Line } from "../run/looks";
import { yRange } from "../run/value-range";
import type { Theme } from "../run/theme";

export type Part = { readonly title: string; readonly unit: string; readonly lines: readonly Line[]; readonly fromZero: boolean };

const WIDTH = 960;
const [LEFT, RIGHT, TOP] = [64, 200, 30];
const [HEIGHT, GAP, FOOT] = [150, 26, 44];
const PLOT = WIDTH - LEFT - RIGHT;
const LEGEND_LINE = 18;

/** Of what charts show in this range of seconds; the text is well-formed XML whatever the names are. */
export function svg(heading: string, parts: readonly Part[], range: Range, theme: Theme): string {
  const heights = parts.map(({ lines }) => Math.max(HEIGHT, lines.length * LEGEND_LINE));
  const tops = heights.map((_, n) => TOP + GAP + heights.slice(0, n).reduce((sum, height) => sum + height + GAP, 0));
  const height = (tops.at(-1) ?? TOP) + (heights.at(-1) ?? 0) + FOOT;
  const bodies = parts.map((part, n) => panel(part, range, tops[n]!, heights[n]!, theme, n === parts.length - 1));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}"`,
    ` font-family="${escape(theme.font)}" font-size="12" fill="${theme.ink}">`,
    `<title>${escape(heading)}</title><rect width="100%" height="100%" fill="${theme.paper}"/>`,
    `<text x="${LEFT}" y="20" font-size="15" font-weight="600">${escape(heading)}</text>`,
    ...bodies,
    "</svg>\n",
  ].join("");
}

function panel({ title, unit, lines, fromZero }: Part, range: Range, top: number, height: number, theme: Theme, isLast: boolean): string {
  const drawn = lines.map((line) => ({
    line,
    v: decimate(line, range, PLOT),
    ...(line.band ? { low: decimate({ t: line.t, v: line.band.low }, range, PLOT), high: decimate({ t: line.t, v: line.band.high }, range, PLOT) } : {}),
  }));
  const every = drawn.flatMap(({ v, low = [], high = [] }) => [...v, ...low, ...high]).filter((value) => value !== null);
  const least = every.reduce((a, b) => Math.min(a, b), Infinity);
  const [bottom, ceiling] = yRange(least, every.reduce((a, b) => Math.max(a, b), -Infinity), fromZero);
  const y = (value: number): string => (top + height - ((value - bottom) / (ceiling - bottom)) * height).toFixed(1);
  const x = (time: number): string => (LEFT + ((time - range[0]) / (range[1] - range[0])) * PLOT).toFixed(1);
  const at = (n: number): string => (LEFT + (n + 0.5) / 2).toFixed(1);
  const path = (v: readonly (number | null)[]): string[] => v.flatMap((value, n) => (value === null ? [] : [`${at(n)} ${y(value)}`]));
  const grid = [
    ...ticks(bottom, ceiling, 4).map(
      (value) =>
        `<line x1="${LEFT}" x2="${LEFT + PLOT}" y1="${y(value)}" y2="${y(value)}" stroke="${theme.grid}"/>` +
        `<text x="${LEFT - 6}" y="${y(value)}" dy="4" text-anchor="end" fill="${theme.soft}">${value}</text>`,
    ),
    ...ticks(range[0], range[1], 10).map(
      (time) =>
        `<line x1="${x(time)}" x2="${x(time)}" y1="${top}" y2="${top + height}" stroke="${theme.grid}"/>` +
        (isLast ? `<text x="${x(time)}" y="${top + height + 16}" text-anchor="middle" fill="${theme.soft}">${time} s</text>` : ""),
    ),
  ];
  const curves = drawn.map(({ line: { look }, v, low, high }) => {
    const colour = theme[look.colour];
    const band = low && high ? `<path d="M${[...path(high), ...path(low).reverse()].join("L")}Z" fill="${colour}" opacity="0.2"/>` : "";
    const points = path(v);
    const dash = look.dash.length ? ` stroke-dasharray="${look.dash.join(" ")}"` : "";
    return `${band}${points.length ? `<path d="M${points.join("L")}" fill="none" stroke="${colour}" stroke-width="${look.width}"${dash} stroke-linejoin="round"/>` : ""}`;
  });
  const legend = lines.map(({ label, look }, n) => {
    const [left, middle] = [LEFT + PLOT + 12, top + 8 + n * LEGEND_LINE];
    const dash = look.dash.length ? ` stroke-dasharray="${look.dash.join(" ")}"` : "";
    return (
      `<line x1="${left}" x2="${left + 24}" y1="${middle}" y2="${middle}" stroke="${theme[look.colour]}" stroke-width="${look.width + 0.6}"${dash}/>` +
      `<text x="${left + 30}" y="${middle}" dy="4">${escape(label)}</text>`
    );
  });
  return [
    `<text x="${LEFT}" y="${top - 7}"><tspan font-weight="600">${escape(title)}</tspan>${unit ? `, ${escape(unit)}` : ""}</text>`,
    ...grid,
    ...curves,
    ...legend,
  ].join("");
}

/** For text and attributes; what XML cannot hold is left out. */
function escape(text: string): string {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(/[^\x09\x0a\x0d\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "").replace(/[&<>"]/g, (sign) => entities[sign]!);
}
