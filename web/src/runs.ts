/** The runs of this page: what was started, how far it is, and what it left. */

import { computed, signal, type Signal } from "@preact/signals";

import { Cancelled, type Output, type Override, type Run, type StartOptions } from "./engine/engine";
import { Recording } from "./run/recording";
import { announcement, engine } from "./state";

export type Status = "waiting" | "running" | "paused" | "done" | "failed" | "cancelled";

/** Whose fork a run is, and what is other in it. */
export type Fork = { of: string; changes: Override[] };

/** Begins a run, or goes on with one that is under way or over. */
export type Begin = (options: StartOptions) => Promise<Run>;

export class RunRecord {
  readonly status = signal<Status>("waiting");
  readonly nowS = signal(0);
  readonly durationS = signal(NaN);
  /** What was recorded so far. */
  recording = new Recording();
  /** Grows with every piece of data: what draws `recording` reads it. */
  readonly drawn = signal(0);
  readonly output = signal<Output | null>(null);
  readonly error = signal<string | null>(null);
  readonly #give = new AbortController();
  #run: Run | undefined;
  /** Of wall time, from the start of the run to its end, ms. */
  readonly tookMs = signal(NaN);

  constructor(
    readonly id: string,
    readonly label: string,
    /** Resolved. */
    readonly toml: string,
    readonly fork: Fork | null,
    readonly captures: boolean,
  ) {}

  pause(): void {
    this.#run?.pause();
    this.status.value = "paused";
  }

  resume(): void {
    this.#run?.resume();
    this.status.value = "running";
  }

  cancel(): void {
    this.#give.abort();
  }

  /** Carries it out; ends with the status, and never rejects. */
  async carry(begin: Begin = (options) => engine.value.start(this.toml, options)): Promise<void> {
    try {
      const { signal } = this.#give;
      const run = await begin({ captures: this.captures, signal });
      const begun = performance.now();
      this.#run = run;
      this.durationS.value = run.durationS;
      this.status.value = "running";
      run.onprogress = (nowS, drained) => {
        this.nowS.value = nowS;
        this.recording.append(drained);
        this.drawn.value += 1;
      };
      const output = await run.done;
      this.tookMs.value = performance.now() - begun;
      this.recording = Recording.of(output.series);
      this.drawn.value += 1;
      this.nowS.value = run.durationS;
      this.output.value = output;
      this.status.value = "done";
      announcement.value = `${this.label}: done`;
    } catch (error) {
      this.status.value = error instanceof Cancelled ? "cancelled" : "failed";
      this.error.value = (error as Error).message;
      announcement.value = `${this.label}: ${(error as Error).message}`;
    }
  }
}

/** In the order of their start. */
export const runs: Signal<readonly RunRecord[]> = signal([]);
/** The one that is looked at. */
export const selected = signal<string | null>(null);
export const current = computed(() => runs.value.find(({ id }) => id === selected.value) ?? null);

let count = 0;

export type LaunchOptions = { fork?: Fork; captures?: boolean; select?: boolean; begin?: Begin };

/** Starts a resolved scenario and lists it; it is looked at unless `select` is false. */
export function launch(toml: string, label: string, options: LaunchOptions = {}): RunRecord {
  const record = new RunRecord(`run-${++count}`, distinct(label), toml, options.fork ?? null, options.captures ?? false);
  runs.value = [...runs.value, record];
  if (options.select !== false) selected.value = record.id;
  void record.carry(options.begin);
  return record;
}

/** With a number where there is a run of this label already. */
function distinct(label: string): string {
  const taken = new Set(runs.peek().map((run) => run.label));
  let found = label;
  for (let n = 2; taken.has(found); n += 1) found = `${label} (${n})`;
  return found;
}

export function remove(record: RunRecord): void {
  record.cancel();
  runs.value = runs.value.filter((other) => other !== record);
  if (selected.value === record.id) selected.value = runs.value.at(-1)?.id ?? null;
}
