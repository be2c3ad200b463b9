/** Numbers and times as the lists of the server show them. */

import type { Job } from "../engine/http";

/** Three digits, as the command's tables have; nothing for what is not known. */
export function figure(value: unknown): string {
  if (typeof value !== "number" || !Number.isFinite(value)) return "";
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(3)));
}

/** An instant of ISO 8601 in the reader's own zone, to the minute. */
export function when(iso: string): string {
  const instant = new Date(iso);
  if (Number.isNaN(instant.valueOf())) return iso;
  return instant.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/** How far a job is, in words: `3 of 8 runs, 41 %`. */
export function progress(job: Job): string {
  const percent = `${Math.floor((100 * job.now_s) / Math.max(job.duration_s, 1e-9))} %`;
  return job.count === 1 ? percent : `${job.over} of ${job.count} runs, ${percent}`;
}

export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
