/** An engine of `sojourn serve`: runs are jobs of the server, which go on when this page is closed. */

import {
  Cancelled,
  ScenarioError,
  type Engine,
  type Output,
  type Override,
  type Point,
  type Resolved,
  type Run,
  type Series,
  type StartOptions,
  type Tables,
} from "./engine";
import type { Client, Job } from "./http";

export class RemoteEngine implements Engine {
  readonly #waiting: (() => void)[] = [];
  #busy = 0;
  #tables: Promise<Tables> | undefined;

  constructor(
    private readonly client: Client,
    readonly name: string = "sim",
    /** Runs that the server carries out at the same time. */
    readonly size = 4,
  ) {}

  async version(): Promise<string> {
    const { engines, version } = await this.client.about();
    return engines.find(({ name }) => name === this.name)?.version ?? version;
  }

  resolve(text: string, overrides: Override[] = []): Promise<Resolved> {
    return this.client.resolve(text, overrides);
  }

  expand(text: string, overrides: Override[] = []): Promise<Point[]> {
    return this.client.expand(text, overrides);
  }

  edit(text: string, key: string, value: string | null): Promise<string> {
    return this.client.edit(text, key, value);
  }

  tables(): Promise<Tables> {
    this.#tables ??= this.client.tables();
    return this.#tables;
  }

  tc(text: string): Promise<{ script: string; limits: string[] }> {
    return this.client.tc(text);
  }

  async start(toml: string, options: StartOptions): Promise<Run> {
    if (this.#busy >= this.size) await new Promise<void>((go) => this.#waiting.push(go));
    else this.#busy += 1;
    try {
      if (options.signal?.aborted) throw new Cancelled();
      const job = await this.client.submit({ toml, engine: this.name, join: true });
      const run = await follow(this.client, job, options);
      run.done.then(() => this.#release(), () => this.#release());
      return run;
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#busy -= 1;
  }
}

/** A run of a job that is under way or over, from its beginning: also one that an earlier page started. */
export async function follow(client: Client, job: Job, options: StartOptions, number = 0): Promise<Run> {
  const run = new RemoteRun(client, job, number, options);
  await run.started;
  return run;
}

class RemoteRun implements Run {
  durationS = NaN;
  onprogress: (nowS: number, drained: Series[]) => void = () => undefined;
  readonly started: Promise<void>;
  readonly done: Promise<Output>;
  /** What came while it was paused, or before anybody looked. */
  readonly #held: [nowS: number, drained: Series[]][] = [];
  #isHeld = true;

  constructor(
    private readonly client: Client,
    private readonly job: Job,
    private readonly number: number,
    options: StartOptions,
  ) {
    let begun: () => void = () => undefined;
    let refused: (error: Error) => void = () => undefined;
    this.started = new Promise((resolve, reject) => {
      begun = resolve;
      refused = reject;
    });
    this.done = this.#carry(begun, options.captures);
    // Whoever only waits for the start need not also look at the end.
    this.done.catch(refused);
    options.signal?.addEventListener("abort", () => this.cancel(), { once: true });
    if (options.signal?.aborted) this.cancel();
    // Who gets the run sets `onprogress` first.
    void this.started.then(() => setTimeout(() => this.#show()), () => undefined);
  }

  pause(): void {
    this.#isHeld = true;
    // What runs in real time goes on; it is shown later.
    if (this.job.can_pause) this.client.pause(this.job.id).catch(() => undefined);
  }

  resume(): void {
    if (this.job.can_pause) this.client.resume(this.job.id).catch(() => undefined);
    this.#show();
  }

  cancel(): void {
    this.client.cancel(this.job.id).catch(() => undefined);
  }

  async #carry(begun: () => void, captures: boolean): Promise<Output> {
    for await (const event of this.client.events(this.job.id)) {
      if (event.event === "end") break;
      if (event.run !== this.number) continue;
      switch (event.event) {
        case "start":
          this.durationS = event.duration_s;
          begun();
          break;
        case "progress":
          if (this.#isHeld) this.#held.push([event.now_s, event.series]);
          else this.onprogress(event.now_s, event.series);
          break;
        case "done":
          return output(this.client, event.path, captures);
        case "failed":
          throw new ScenarioError(event.error);
        case "cancelled":
          throw new Cancelled();
      }
    }
    throw new Cancelled();
  }

  #show(): void {
    this.#isHeld = false;
    for (const [nowS, drained] of this.#held.splice(0)) this.onprogress(nowS, drained);
  }
}

/** A run that is over, as one that ends at once. */
export async function stored(client: Client, path: string, { captures }: StartOptions): Promise<Run> {
  const found = await output(client, path, captures);
  const nothing = (): void => undefined;
  const { duration_s } = found.summary;
  return { durationS: duration_s, onprogress: nothing, pause: nothing, resume: nothing, cancel: nothing, done: Promise.resolve(found) };
}

/** What a stored run left, as a run of this page would have. */
export async function output(client: Client, path: string, captures: boolean): Promise<Output> {
  const [shown, series] = await Promise.all([client.show(path), client.series(path)]);
  if (!("run" in shown)) throw new Error(`${path}: expected one run`);
  const { summary, queues, complete, captures: names } = shown.run;
  const files = names.map(async (name) => ({ name, bytes: await client.file(path, name) }));
  return { summary, queues, series, complete, captures: captures ? await Promise.all(files) : [] };
}
