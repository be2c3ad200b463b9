/**
 * `<sojourn-figure src="NAME.json">` around a static picture: the engine draws that figure here, with sliders for its
 * parameters and the closed form over it. Without JavaScript, WebAssembly or the module the picture stays.
 */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { LocalEngine } from "../engine/local";
import type { Run } from "../engine/engine";
import { Recording } from "../run/recording";
import { type Line, lineOf, table } from "./columns";
import type { Colour, Config, Panel, Slider } from "./config";
import "./figure.css";
import { type Given, LAWS } from "./laws";

// The build writes these names where the lab has addresses; here they are beside this module, wherever the page is.
Object.assign(globalThis, {
  sojournWorker: new URL("worker.js", import.meta.url).href,
  sojournModule: new URL("sojourn.wasm", import.meta.url).href,
});

/** Okabe and Ito's, as in style.py; on dark pages lifted to be seen. */
const COLOURS: Record<Colour, [light: string, dark: string]> = {
  prague: ["#0072b2", "#3c9fdc"], cubic: ["#d55e00", "#ec7a1f"], reno: ["#cc79a7", "#d78db6"],
  bbr: ["#009e73", "#1fb88b"], dctcp: ["#56b4e9", "#6bc0f0"], spare: ["#e69f00", "#eead2b"],
};
const HEIGHT = 220;
/** How long a slider rests before the run starts. */
const REST_MS = 150;

let engine: LocalEngine | undefined;

class SojournFigure extends HTMLElement {
  #config: Config | undefined;
  readonly #values = new Map<string, number>();
  #plots: uPlot[] = [];
  #recording = new Recording();
  #run: Run | undefined;
  #turn = 0;
  #timer = 0;
  #status: HTMLElement | undefined;
  readonly #left = new AbortController();

  connectedCallback(): void {
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      seen.disconnect();
      this.#begin().catch((error: unknown) => this.#say(`not live here: ${error instanceof Error ? error.message : String(error)}`));
    }, { rootMargin: "300px" });
    seen.observe(this);
  }

  disconnectedCallback(): void {
    this.#left.abort();
    this.#run?.cancel();
    this.#plots.forEach((plot) => plot.destroy());
  }

  async #begin(): Promise<void> {
    if (typeof WebAssembly === "undefined" || location.protocol === "file:") return;
    const response = await fetch(new URL(this.getAttribute("src") ?? "", document.baseURI));
    if (!response.ok) throw new Error(`${response.url}: ${response.status}`);
    const config = (this.#config = (await response.json()) as Config);
    engine ??= new LocalEngine();
    await engine.version();
    const shell = document.createElement("div");
    shell.className = "live";
    const controls = document.createElement("div");
    controls.className = "live-controls";
    for (const slider of config.sliders) controls.append(this.#slider(slider));
    this.#status = document.createElement("p");
    this.#status.className = "live-status";
    this.#status.setAttribute("role", "status");
    const panels = document.createElement("div");
    shell.append(controls, panels, this.#status);
    const picture = this.querySelector("img");
    if (picture) {
      const still = document.createElement("details");
      const summary = document.createElement("summary");
      summary.textContent = "The picture of this page";
      still.append(summary, ...this.childNodes);
      shell.append(still);
    }
    this.append(shell);
    this.#draw(panels);
    this.#watch(panels);
    await this.#start();
  }

  #slider({ name, label, unit, values, start }: Slider): HTMLElement {
    const row = document.createElement("label"), text = document.createElement("span");
    const input = document.createElement("input"), output = document.createElement("output");
    text.textContent = label;
    Object.assign(input, { type: "range", min: "0", max: String(values.length - 1), step: "1" });
    input.value = String(values.indexOf(start));
    this.#values.set(name, start);
    const show = (): void => {
      const value = values[Number(input.value)]!;
      this.#values.set(name, value);
      output.value = `${value} ${unit}`.trim();
      input.setAttribute("aria-valuetext", output.value);
    };
    show();
    input.addEventListener("input", () => {
      show();
      clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => void this.#start(), REST_MS);
    });
    row.append(text, input, output);
    return row;
  }

  /** Runs the scenario with what the sliders say; a run that is under way ends. */
  async #start(): Promise<void> {
    const config = this.#config!, turn = (this.#turn += 1), began = performance.now();
    this.#run?.cancel();
    const overrides = config.sliders.map(({ name, key, unit, factor = 1 }): [string, string] =>
      [key, `${Number((this.#values.get(name)! * factor).toPrecision(12))}${unit.replace("/s", "")}`]);
    try {
      const { toml } = await engine!.resolve(config.scenario, overrides);
      if (turn !== this.#turn) return;
      const run = await engine!.start(toml, { captures: false });
      if (turn !== this.#turn) return run.cancel();
      const recording = new Recording();
      this.#run = run;
      this.#say(`running ${run.durationS} s`);
      run.onprogress = (now, drained) => {
        recording.append(drained);
        this.#show(recording);
        this.#say(`running: ${now.toFixed(0)} of ${run.durationS} s`);
      };
      const { series } = await run.done;
      if (turn !== this.#turn) return;
      recording.append(series);
      this.#show(recording);
      const changed = overrides.map(([key, value]) => `-s ${key}=${value}`).join(" ");
      this.#say(`${run.durationS} s simulated in ${((performance.now() - began) / 1e3).toFixed(1)} s by this page; ${changed}`);
    } catch (error) {
      if (turn === this.#turn) this.#say(error instanceof Error ? error.message : String(error));
    }
  }

  #say(text: string): void {
    if (this.#status) this.#status.textContent = text;
  }

  #show(recording: Recording): void {
    this.#recording = recording;
    this.#config!.panels.forEach((panel, i) => {
      // What the reader zoomed to stays.
      this.#plots[i]?.setData(this.#data(panel), false);
      this.#plots[i]?.redraw(true, false);
    });
  }

  #value(name: string): number {
    const value = this.#values.get(name) ?? this.#config!.constants?.[name];
    if (value === undefined) throw new Error(`${name}: expected a slider or a constant of that name`);
    return value;
  }

  #data({ curves, laws = [], log = false }: Panel): uPlot.AlignedData {
    const { window } = this.#config!, series = (name: string) => this.#recording.finite(name);
    const given: Given = { value: (name) => this.#value(name), series, window };
    const lines: Line[] = [
      ...curves.map((curve) => lineOf(curve, series(curve.series), this.#value("rate_mbps"))),
      ...laws.map((law) => LAWS[law.law]!(law, given)),
    ];
    return table(lines, log, window) as uPlot.AlignedData;
  }

  #draw(host: HTMLElement): void {
    this.#plots.forEach((plot) => plot.destroy());
    const style = getComputedStyle(this), dark = isLight(style.color), ink = style.color;
    const faint = dark ? "#ffffff22" : "#00000018", config = this.#config!;
    this.#plots = config.panels.map((panel, i) => {
      const axis = { stroke: ink, grid: { stroke: faint, width: 1 }, ticks: { show: false }, font: `12px ${style.fontFamily}` };
      return new uPlot({
        title: i === 0 ? config.title : "", width: host.clientWidth, height: HEIGHT + (i === 0 ? 24 : 0),
        cursor: { sync: { key: this.getAttribute("src") ?? "" }, drag: { x: true, y: false } },
        scales: {
          x: { time: false, min: config.window[0], max: config.window[1] },
          y: { range: rangeOf(panel), distr: panel.log ? 3 : 1 },
        },
        axes: [
          { ...axis, size: 30, values: (_, ticks) => ticks.map((t) => `${t} s`) },
          { ...axis, size: 56, label: panel.label, labelSize: 18, labelFont: axis.font,
            values: (_, ticks) => ticks.map((tick) => (tick == null ? "" : String(Number(tick.toPrecision(3))))) },
        ],
        series: [
          { label: "time", value: (_, t) => (t == null ? "" : `${t.toFixed(2)} s`) },
          ...panel.curves.map(({ label, colour }) => ({
            label, stroke: COLOURS[colour][dark ? 1 : 0], width: 1.4, spanGaps: false, points: { show: false }, value: shown,
          })),
          ...(panel.laws ?? []).map(({ label }) => ({ label, stroke: ink, width: 1.4, dash: [6, 4], spanGaps: false, points: { show: false }, value: shown })),
        ],
      }, this.#data(panel), host);
    });
  }

  /** The width of the page, and its colours. */
  #watch(host: HTMLElement): void {
    let width = host.clientWidth;
    const resized = new ResizeObserver(() => {
      if (host.clientWidth === width || host.clientWidth === 0) return;
      width = host.clientWidth;
      this.#plots.forEach((plot) => plot.setSize({ width, height: plot.height }));
    });
    resized.observe(host);
    const repainted = new MutationObserver(() => this.#draw(host));
    repainted.observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
    this.#left.signal.addEventListener("abort", () => {
      resized.disconnect();
      repainted.disconnect();
    });
  }
}

function rangeOf({ range: [low, high], grows = false }: Panel): uPlot.Range.MinMax | uPlot.Range.Function {
  return grows ? (_, __, most) => [low, Math.max(high, 1.05 * (most ?? 0))] : [low, high];
}

function shown(_: uPlot, value: number | null): string {
  return value == null ? "" : value.toPrecision(3);
}

/** Whether text of this colour stands on a dark page. */
function isLight(colour: string): boolean {
  const [r = 0, g = 0, b = 0] = (colour.match(/[\d.]+/g) ?? []).map(Number);
  return 0.299 * r + 0.587 * g + 0.114 * b > 128;
}

customElements.define("sojourn-figure", SojournFigure);
