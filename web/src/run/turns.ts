/** Charts are drawn one in a picture: an input in between waits for one of them, not for all. */

const waiting = new Map<HTMLElement, () => void>();
let settled: (() => void)[] = [];
let asked = 0;

/** Draws at the next picture that has room, in the place of what this chart had waiting; the chart with the focus is first. */
export function drawSoon(at: HTMLElement, draw: () => void): void {
  waiting.set(at, draw);
  ask();
}

/** What waits for this chart is no longer wanted. */
export function forget(at: HTMLElement): void {
  waiting.delete(at);
}

/** Calls back in a picture in which nothing is left to draw. */
export function whenDrawn(then: () => void): void {
  settled.push(then);
  ask();
}

function ask(): void {
  asked ||= requestAnimationFrame(picture);
}

function picture(): void {
  asked = 0;
  const focus = document.activeElement;
  const next = focus instanceof HTMLElement && waiting.has(focus) ? focus : waiting.keys().next().value;
  const draw = next && waiting.get(next);
  if (next) waiting.delete(next);
  draw?.();
  if (waiting.size > 0) {
    ask();
    return;
  }
  const calls = settled;
  settled = [];
  for (const then of calls) then();
}
