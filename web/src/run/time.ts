/** The time axis that the charts of a view share: what part is shown, and which instant is looked at. */

import { computed, signal } from "@preact/signals";

import type { Range } from "./decimate";

const STEP = 0.02;
let views = 0;

export class TimeAxis {
  /** By which the charts follow each other's cursors. */
  readonly key = `time-${++views}`;
  /** All of the run, s. */
  readonly whole = signal<Range>([0, 1]);
  /** The part that is shown; null is all. */
  readonly zoom = signal<Range | null>(null);
  /** What the slider is at; null is the end, which moves while a run goes on. */
  readonly pinned = signal<number | null>(null);
  /** Under the pointer. */
  readonly hovered = signal<number | null>(null);
  readonly shown = computed<Range>(() => this.zoom.value ?? this.whole.value);
  /** The instant that legends and the queue's picture show; null is the end. */
  readonly instant = computed(() => this.hovered.value ?? this.pinned.value);
  /** Names that are hidden in all charts. */
  readonly hidden = signal<ReadonlySet<string>>(new Set());

  constructor(durationS = 1) {
    this.whole.value = [0, durationS];
  }

  /** Shows a part of the run, no less than a thousandth of it. */
  show([from, to]: Range): void {
    const [first, last] = this.whole.value;
    const least = (last - first) / 1000;
    const size = Math.min(Math.max(to - from, least), last - first);
    const start = Math.min(Math.max(from, first), last - size);
    this.zoom.value = size >= (last - first) * 0.999 ? null : [start, start + size];
  }

  /** Zooms about the instant, or the middle. */
  scale(factor: number): void {
    const [from, to] = this.shown.value;
    const about = Math.min(Math.max(this.instant.value ?? (from + to) / 2, from), to);
    this.show([about - (about - from) * factor, about + (to - about) * factor]);
  }

  /** Moves the part that is shown by a share of its length. */
  pan(share: number): void {
    const [from, to] = this.shown.value;
    this.show([from + share * (to - from), to + share * (to - from)]);
  }

  /** Moves the instant by a fiftieth of what is shown. */
  step(sign: 1 | -1): void {
    const [from, to] = this.shown.value;
    const at = this.pinned.value ?? (sign > 0 ? from : to);
    this.pinned.value = Math.min(Math.max(at + sign * STEP * (to - from), from), to);
  }

  reset(): void {
    this.zoom.value = null;
    this.pinned.value = null;
  }

  toggle(name: string): void {
    const hidden = new Set(this.hidden.value);
    if (!hidden.delete(name)) hidden.add(name);
    this.hidden.value = hidden;
  }

  /** Acts on a key of a chart; whether it had a meaning. */
  press(event: Pick<KeyboardEvent, "key" | "shiftKey">): boolean {
    switch (event.key) {
      case "+":
      case "=":
        this.scale(0.5);
        return true;
      case "-":
        this.scale(2);
        return true;
      case "0":
      case "Escape":
        this.reset();
        return true;
      case "ArrowLeft":
      case "ArrowRight": {
        const sign = event.key === "ArrowLeft" ? -1 : 1;
        if (event.shiftKey) this.pan(0.2 * sign);
        else this.step(sign);
        return true;
      }
      default:
        return false;
    }
  }
}
