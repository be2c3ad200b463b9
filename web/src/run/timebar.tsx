/** The slider that all charts and the queue's picture follow, and what zooms them; at `end`, in seconds, if not elsewhere. */

import type { TimeAxis } from "./time";

export function TimeBar({ axis, end }: { axis: TimeAxis; end: { readonly value: number } }) {
  const [first, last] = axis.whole.value;
  const [from, to] = axis.shown.value;
  const at = axis.instant.value;
  const shown = at ?? end.value;
  return (
    <div class="timebar no-print">
      <label class="timebar-slider">
        <span>Time</span>
        <input type="range" min={first} max={last} step={(last - first) / 1000} value={shown}
          aria-valuetext={`${shown.toFixed(2)} s`}
          onInput={(event) => (axis.pinned.value = Number(event.currentTarget.value))} />
      </label>
      <output class="timebar-at">{at === null ? "end" : `${at.toFixed(2)} s`}</output>
      <span class="tools">
        <button type="button" class="button" onClick={() => axis.scale(0.5)} aria-label="Zoom in" title="Zoom in (+)">+</button>
        <button type="button" class="button" onClick={() => axis.scale(2)} aria-label="Zoom out" title="Zoom out (−)" disabled={axis.zoom.value === null}>−</button>
        <button type="button" class="button" onClick={() => axis.reset()} disabled={axis.zoom.value === null && axis.pinned.value === null}>All</button>
      </span>
      {axis.zoom.value && <span class="soft">{from.toFixed(2)} to {to.toFixed(2)} s</span>}
    </div>
  );
}
