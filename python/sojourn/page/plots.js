// @ts-check
/** Curves over time by uPlot, for report and lab: what is near the view is drawn, a figure's plots zoom together. */

import { legible, onTheme, tone } from "./page.js";

/**
 * @typedef {{ label: string, side: 0 | 1, colour: string, dash: number, edge: "" | "low" | "high", data: Column,
 *   t?: Column, shape?: "line" | "stairs" | "points" | "bars", low?: Column }} Series
 * @typedef {(number | null)[]} Column
 * @typedef {{ series: Series[], unit: string, range: [number, number], peak: number | null }} Panel
 * @typedef {{ end: number, window: [number, number] | null, plots: Record<string, Panel> }} Run
 * @typedef {[number, number]} Span in seconds
 */

const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3]];

/** A column of little-endian float32 in base64, NaN for gaps. @param {string} text @returns {Column} */
export function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0)), view = new DataView(bytes.buffer);
  return Array.from({ length: bytes.length / 4 }, (_, i) => {
    const value = view.getFloat32(4 * i, true);
    return Number.isNaN(value) ? null : value;
  });
}

/** Times of a series without its own: middles of equal steps. @param {number} count @param {number} end_s */
export const steps = (count, end_s) => Array.from({ length: count }, (_, i) => ((i + 0.5) * end_s) / count);

/** The plots of a page: boxes `.plot[data-panel]` within `figure[data-run]`. */
export class Plots {
  /** @type {Map<Element, any>} */
  #drawn = new Map();
  /** @type {Map<string, Span>} */
  #zoomed = new Map();
  #isFar = false;
  #left = new AbortController();
  #near;
  #far;

  /**
   * @param {any} uPlot
   * @param {(run: string) => Run | undefined} run
   * @param {[string, string]} sides what the sides of a comparison are called
   * @param {(run: string, span: Span | null) => void} [zoomed] called with what the reader zooms to, null for all of it
   */
  constructor(uPlot, run, sides, zoomed = () => {}) {
    this.uPlot = uPlot;
    this.run = run;
    this.sides = sides;
    this.zoomed = zoomed;
    // Hundreds of canvases would fill the memory: what is far away is forgotten.
    this.#near = new IntersectionObserver(seen => seen.forEach(e => { if (e.isIntersecting) this.draw(e.target); }), { rootMargin: "1200px" });
    this.#far = new IntersectionObserver(seen => seen.forEach(e => { if (!e.isIntersecting) this.#forget(e.target); }), { rootMargin: "8000px" });
    let wide = innerWidth;
    const { signal } = this.#left;
    addEventListener("resize", () => {
      if (innerWidth === wide) return;
      wide = innerWidth;
      this.#drawn.forEach((u, box) => { if (box.clientWidth) u.setSize({ width: box.clientWidth, height: u.height }); });
    }, { signal });
    onTheme(() => [...this.#drawn.keys()].forEach(box => { this.#forget(box); this.draw(box); }), signal);
  }

  /** Ends it: nothing is drawn or listened to any more. */
  leave() {
    this.#left.abort();
    this.#near.disconnect();
    this.#far.disconnect();
    for (const box of [...this.#drawn.keys()]) this.#forget(box);
  }

  /** Takes over the boxes within a part of the page. @param {ParentNode} root */
  observe(root) {
    const boxes = [.../** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(".plot"))];
    this.#isFar ||= boxes.length > 80;
    for (const box of boxes) {
      box.addEventListener("dblclick", () => this.zoom(nameOf(box), null));
      box.addEventListener("keydown", event => this.#key(box, event));
      this.#near.observe(box);
      if (this.#isFar) this.#far.observe(box);
    }
    return boxes;
  }

  /** Shows a span of a run in all its plots; null is all of it. @param {string} run @param {Span | null} span */
  zoom(run, span) {
    if (span) this.#zoomed.set(run, span); else this.#zoomed.delete(run);
    for (const [box, u] of this.#drawn) if (nameOf(box) === run) this.#show(u, run);
    this.zoomed(run, span);
  }

  /** @param {any} u @param {string} run */
  #show(u, run) {
    const [min, max] = this.#zoomed.get(run) ?? [0, this.run(run)?.end ?? 0];
    u.setScale("x", { min, max });
  }

  /** Zooms to what was dragged over. @param {any} u @param {string} run */
  #select(u, run) {
    const { left, width } = u.select;
    if (!width) return;
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.zoom(run, [u.posToVal(left, "x"), u.posToVal(left + width, "x")]);
  }

  /** @param {Element} box */
  #forget(box) {
    const u = this.#drawn.get(box);
    if (u) { u.destroy(); this.#drawn.delete(box); }
  }

  /** @param {HTMLElement} box @param {KeyboardEvent} event */
  #key(box, event) {
    const u = this.#drawn.get(box), name = nameOf(box), run = this.run(name);
    if (!u || !run || event.ctrlKey || event.metaKey || event.altKey) return;
    const { min, max } = u.scales.x, mid = (min + max) / 2, half = (max - min) / 2;
    /** @type {Record<string, Span | null>} */
    const to = {
      "+": [mid - half / 1.5, mid + half / 1.5], "=": [mid - half / 1.5, mid + half / 1.5],
      "-": [mid - half * 1.5, mid + half * 1.5], ArrowLeft: [min - half / 2, max - half / 2],
      ArrowRight: [min + half / 2, max + half / 2], 0: null,
    };
    const span = to[event.key];
    if (span === undefined) return;
    event.preventDefault();
    this.zoom(name, span && within(span, run.end));
  }

  /** Draws one box, if it is not drawn and can be seen. @param {Element} element */
  draw(element) {
    const box = /** @type {HTMLElement} */ (element);
    if (this.#drawn.has(box) || !box.clientWidth) return;
    const name = nameOf(box), run = this.run(name), kind = box.dataset.panel ?? "", panel = run?.plots[kind];
    if (!run || !panel) { box.textContent = "no samples"; box.style.minHeight = "0"; return; }
    const hasSides = panel.series.some(s => s.side), isTimed = panel.series.some(s => s.t);
    const ordered = [...panel.series].sort((p, q) => q.side - p.side);
    const look = (/** @type {Series} */ s) => this.#look(s, panel.unit, hasSides, kind === "completion");
    const [data, series] = isTimed ? joined(this.uPlot, ordered, look)
      : [[steps(ordered[0]?.data.length ?? 0, run.end), ...ordered.map(s => s.data)], ordered.map(look)];
    const axis = () => ({ stroke: tone("--soft"), grid: { stroke: tone("--grid"), width: 1 }, ticks: { show: false } });
    const u = new this.uPlot({
      title: box.dataset.title + (panel.peak ? ` (highest ${panel.peak.toFixed(0)})` : ""),
      width: box.clientWidth, height: kind === "sequence" ? 360 : 230, cursor: { drag: { x: true, y: false, setScale: false }, sync: { key: name, scales: ["x", null] } },
      scales: { x: { time: false }, y: { range: isTimed ? fitted(panel.range) : () => panel.range } },
      axes: [
        { ...axis(), size: 30, values: (/** @type {any} */ _, /** @type {number[]} */ v) => v.map(t => t + " s") },
        { ...axis(), size: 50 },
      ],
      series: [{ label: "time", value: (/** @type {any} */ _, /** @type {number | null} */ v) => v == null ? "" : v.toFixed(isTimed ? 4 : 1) + " s" }, ...series],
      bands: isTimed ? [] : ordered.flatMap((s, i) => s.edge === "high" ? [{ series: [i + 1, i - 1], fill: legible(s.colour) + "30" }] : []),
      hooks: {
        drawClear: [windowOf(run.window)], draw: [drawOver],
        setSelect: [(/** @type {any} */ u) => this.#select(u, name)],
      },
    }, data, box);
    this.#show(u, name);
    this.#drawn.set(box, u);
    box.style.minHeight = box.offsetHeight + "px";
  }

  /** @param {Series} s @param {string} unit @param {boolean} hasSides @param {boolean} isDots */
  #look(s, unit, hasSides, isDots) {
    const colour = legible(s.colour);
    return {
      label: s.label + (hasSides ? ", " + this.sides[s.side] : ""), stroke: s.side ? colour + "60" : colour,
      width: isDots || s.edge ? 0 : s.side ? 4 : 1.2, ...(s.edge ? { class: "edge" } : {}), dash: DASHES[s.dash % DASHES.length],
      spanGaps: true, points: { show: isDots, size: 4, fill: colour },
      value: (/** @type {any} */ _, /** @type {number | null} */ v) => v == null ? "" : `${v.toFixed(2)} ${unit}`,
    };
  }
}

/** @param {Element} box @returns {string} */
const nameOf = box => /** @type {HTMLElement} */ (box.closest("figure"))?.dataset.run ?? "";

/** A span moved and shortened to be within a run. @param {Span} span @param {number} end @returns {Span} */
function within([low, high], end) {
  const length = Math.min(high - low, end), from = Math.min(Math.max(low, 0), end - length);
  return [from, from + length];
}

/** Shades the measuring window. @param {Span | null} window_s */
const windowOf = window_s => (/** @type {any} */ u) => {
  if (!window_s) return;
  const [a = 0, b = 0] = window_s.map(t => Math.min(Math.max(u.valToPos(t, "x", true), u.bbox.left), u.bbox.left + u.bbox.width));
  u.ctx.save();
  u.ctx.fillStyle = tone("--band");
  u.ctx.fillRect(a, u.bbox.top, b - a, u.bbox.height);
  u.ctx.restore();
};

/** Where a part is zoomed, the values in it have the whole height; all of it has the range that was given. @param {Span} range */
const fitted = range => (/** @type {any} */ u, /** @type {number | null} */ low, /** @type {number} */ high) => {
  const { min, max } = u.scales.x, x = u.data[0];
  if (low == null || (x.length && min <= x[0] && max >= x[x.length - 1])) return range;
  const room = Math.max((high - low) * 0.05, Math.abs(high) * 0.01, 1e-9);
  return [Math.max(low - room, range[0]), high + room];
};

/**
 * Series with times of their own as one table of all times; of bars the lower ends are a column that is not shown.
 * @param {any} uPlot @param {Series[]} series @param {(s: Series) => any} look
 */
function joined(uPlot, series, look) {
  const tables = series.map(s => (s.shape === "bars" ? [s.t, s.low, s.data] : [s.t, s.data]));
  const shown = series.flatMap(s => {
    const base = look(s);
    if (s.shape === "points") return [{ ...base, width: 0, paths: () => null, points: { show: false }, dots: true }];
    if (s.shape === "bars") return [{ show: false, class: "edge" }, { ...base, paths: () => null, points: { show: false }, bars: true }];
    return [{ ...base, ...(s.shape === "stairs" ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}), points: { show: false } }];
  });
  return [uPlot.join(tables), shown];
}

/** Bars, and points that are the smaller the more of them are to be seen. @param {any} u */
function drawOver(u) {
  u.series.forEach((/** @type {any} */ s, /** @type {number} */ i) => {
    if (!(s.bars || s.dots) || !s.show) return;
    const { ctx, bbox } = u, [x, low, high] = [u.data[0], u.data[i - 1], u.data[i]], { min, max } = u.scales.x, seen = [];
    for (let k = 0; k < x.length; k++) if (high[k] != null && x[k] >= min && x[k] <= max) seen.push(k);
    const px = devicePixelRatio, r = px * (seen.length > 1000 ? 1.2 : seen.length > 200 ? 2 : 3.5);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.strokeStyle = ctx.fillStyle = s.stroke(u, i);
    ctx.lineWidth = 1.5 * px;
    ctx.beginPath();
    for (const k of seen) {
      const at = u.valToPos(x[k], "x", true), top = u.valToPos(high[k], "y", true);
      if (s.bars) { ctx.moveTo(at, Math.max(u.valToPos(low[k], "y", true), top + 2)); ctx.lineTo(at, top); }
      else { ctx.moveTo(at + r, top); ctx.arc(at, top, r, 0, 7); }
    }
    if (s.bars) ctx.stroke(); else ctx.fill();
    ctx.restore();
  });
}
