/** One uPlot: lines and bands over the time that is shown, decimated to its pixels. */

import uPlot from "uplot";

import { decimate, grid, nothing } from "./decimate";
import type { Line, Look } from "./looks";
import { yRange } from "./value-range";
import type { TimeAxis } from "./time";
import { type Theme, present } from "./theme";

export type Frame = { readonly fromZero: boolean; readonly height: number };

/** At the browser's usual text size; all grow with it. */
const AXIS_WIDTH = 52;
const TIME_HEIGHT = 34;
const TEXT = 12;
/** Of a band, in the colour of its median. */
const BAND_OPACITY = 0.2;

/** Columns of uPlot's data: bounds of the band where there is one, and the line. */
type Column = { readonly line: Line; readonly role: "line" | "low" | "high" };

export class Plot {
  readonly #plot: uPlot;
  readonly #axis: TimeAxis;
  #columns: readonly Column[];
  #hidden: ReadonlySet<string>;
  #theme: Theme = present();

  constructor(host: HTMLElement, width: number, axis: TimeAxis, lines: readonly Line[], frame: Frame) {
    this.#axis = axis;
    this.#columns = columns(lines);
    this.#hidden = axis.hidden.peek();
    this.#plot = new uPlot({ width, height: scale() * frame.height, ...this.#options(frame) }, this.#data(width), host);
  }

  /** Whether these lines are drawn as those that are there, so that only their data change. */
  takes(lines: readonly Line[]): boolean {
    const wanted = columns(lines);
    return (
      wanted.length === this.#columns.length &&
      wanted.every(({ line, role }, n) => {
        const have = this.#columns[n]!;
        return have.role === role && have.line.label === line.label && same(have.line.look, line.look);
      })
    );
  }

  /** Draws lines but those with these labels. */
  draw(lines: readonly Line[], hidden: ReadonlySet<string>): void {
    this.#columns = columns(lines);
    this.#hidden = hidden;
    this.#columns.forEach((column, n) => {
      const show = this.#isShown(column);
      if (this.#plot.series[n + 1]!.show !== show) this.#plot.setSeries(n + 1, { show }, false);
    });
    this.#plot.setData(this.#data(this.#plot.width));
    this.point();
  }

  resize(width: number, height: number): void {
    this.#plot.setSize({ width, height: scale() * height });
    this.#plot.setData(this.#data(width));
    this.point();
  }

  repaint(): void {
    this.#theme = present();
    this.#plot.redraw(false, true);
  }

  /** Puts the cursor at the instant that is looked at. */
  point(): void {
    const at = this.#axis.instant.peek();
    const [from, to] = this.#axis.shown.peek();
    const isShown = at !== null && at >= from && at <= to;
    this.#plot.setCursor({ left: isShown ? this.#plot.valToPos(at, "x") : -10, top: -10 }, false);
  }

  destroy(): void {
    this.#plot.destroy();
  }

  #data(width: number): uPlot.AlignedData {
    const range = this.#axis.shown.peek();
    const pixels = Math.max(40, Math.round(width - scale() * AXIS_WIDTH));
    const rows = this.#columns.map(({ line, role }) => {
      const v = role === "line" ? line.v : line.band![role];
      return this.#hidden.has(line.label) ? nothing(pixels) : decimate({ t: line.t, v }, range, pixels);
    });
    return [grid(range, pixels), ...rows];
  }

  #options({ fromZero }: Frame): Omit<uPlot.Options, "width" | "height"> {
    const axis = this.#axis;
    return {
      legend: { show: false },
      padding: [8, scale() * 18, 0, 0],
      cursor: { points: { show: false }, y: false, drag: { x: true, y: false, setScale: false, dist: 4 }, bind: this.#bind() },
      scales: {
        x: { time: false, range: () => [...axis.shown.peek()] as [number, number] },
        y: { range: (_, low, high) => yRange(low, high, fromZero) },
      },
      axes: [
        { ...this.#look(), size: scale() * TIME_HEIGHT, values: (_, at) => at.map((value) => `${Number(value.toPrecision(8))} s`), space: scale() * 70 },
        { ...this.#look(), size: scale() * AXIS_WIDTH, values: (_, at) => at.map(tick), space: scale() * 32 },
      ],
      series: [{}, ...this.#columns.map((column) => this.#series(column))],
      bands: this.#columns.flatMap(({ line, role }, n): uPlot.Band[] =>
        role === "high" ? [{ series: [n + 1, n], fill: () => faded(this.#theme[line.look.colour]) }] : [],
      ),
      hooks: {
        setSelect: [
          (plot) => {
            const { left, width } = plot.select;
            if (width < 4) return;
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            axis.show([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
          },
        ],
        setCursor: [
          (plot) => {
            const { left } = plot.cursor;
            if (left !== undefined && left >= 0) axis.hovered.value = plot.posToVal(left, "x");
          },
        ],
      },
    };
  }

  #bind(): uPlot.Cursor.Bind {
    return {
      dblclick: () => () => {
        this.#axis.reset();
        return null;
      },
      mouseleave: (_, __, handler) => (event) => {
        this.#axis.hovered.value = null;
        return handler(event);
      },
    };
  }

  #look(): Partial<uPlot.Axis> {
    return {
      stroke: () => this.#theme.soft,
      font: `${scale() * TEXT}px ${this.#theme.font}`,
      grid: { stroke: () => this.#theme.grid, width: 1 },
      ticks: { stroke: () => this.#theme.grid, width: 1, size: 5 },
      gap: 4,
    };
  }

  #isShown({ line }: Column): boolean {
    return !this.#hidden.has(line.label);
  }

  #series(column: Column): uPlot.Series {
    const { line, role } = column;
    const { look } = line;
    return {
      label: line.label,
      show: this.#isShown(column),
      spanGaps: true,
      points: { show: false },
      width: role === "line" ? look.width : 0,
      stroke: () => this.#theme[look.colour],
      ...(role === "line" && look.dash.length ? { dash: [...look.dash] } : {}),
    };
  }
}

/** Of the page's text: screens of 4 K and readers with weak eyes have larger. */
function scale(): number {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) / 16 || 1;
}

function same(a: Look, b: Look): boolean {
  return a.colour === b.colour && a.width === b.width && a.dash.join() === b.dash.join();
}

function columns(lines: readonly Line[]): Column[] {
  return lines.flatMap((line): Column[] =>
    line.band ? [{ line, role: "low" }, { line, role: "high" }, { line, role: "line" }] : [{ line, role: "line" }],
  );
}

function tick(value: number): string {
  const size = Math.abs(value);
  return size >= 1e5 || (size > 0 && size < 1e-4) ? value.toExponential(0) : String(Number(value.toPrecision(6)));
}

/** The colour, translucent; computed colours are `rgb(r, g, b)` or hexadecimal. */
function faded(colour: string): string {
  return `color-mix(in srgb, ${colour} ${100 * BAND_OPACITY}%, transparent)`;
}

