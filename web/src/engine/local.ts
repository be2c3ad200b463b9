/** The engine in this page: WebAssembly in a pool of workers, one run in each. */

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
import type { Call, Reply, Request } from "./protocol";

/** The JSON Schema of the scenario file, a script of its own: it is wanted when a form or the editor opens. */
const schema = async (): Promise<object> => (await import("../../../scenarios/scenario.schema.json")).default;

/** Where the build put these; relative to the page. */
declare const WORKER_URL: string;
declare const WASM_URL: string;

type Answer = { give: (value: string) => void; refuse: (error: Error) => void };

export class LocalEngine implements Engine {
  readonly name = "sim";
  /** Workers that carry out runs at the same time. */
  readonly size = Math.max(1, navigator.hardwareConcurrency || 1);
  readonly #module = compiled();
  readonly #idle: Worker[] = [];
  readonly #waiting: (() => void)[] = [];
  #busy = 0;
  readonly #answers = new Map<number, Answer>();
  #calls = 0;
  #caller: Promise<Worker> | undefined;
  #tables: Promise<Tables> | undefined;

  version(): Promise<string> {
    return this.#call("version");
  }

  async resolve(text: string, overrides: Override[] = []): Promise<Resolved> {
    return JSON.parse(await this.#call("resolve", text, JSON.stringify(overrides))) as Resolved;
  }

  async expand(text: string, overrides: Override[] = []): Promise<Point[]> {
    return JSON.parse(await this.#call("expand", text, JSON.stringify(overrides))) as Point[];
  }

  edit(text: string, key: string, value: string | null): Promise<string> {
    return this.#call("edit", text, key, value ?? undefined);
  }

  tables(): Promise<Tables> {
    this.#tables ??= Promise.all([this.#call("tables"), schema()]).then(([json, schema]) => ({ ...(JSON.parse(json) as Tables), schema }));
    return this.#tables;
  }

  async tc(text: string): Promise<{ script: string; limits: string[] }> {
    return JSON.parse(await this.#call("tc", text)) as { script: string; limits: string[] };
  }

  async start(toml: string, { captures, signal }: StartOptions): Promise<Run> {
    const worker = await this.#acquire(signal);
    return new Promise((resolve, reject) => {
      const run = new LocalRun(worker, (reusable) => this.#release(reusable ? worker : null));
      if (signal?.aborted) run.cancel();
      signal?.addEventListener("abort", () => run.cancel(), { once: true });
      run.started.then(() => resolve(run), reject);
      tell(worker, { kind: "start", toml, captures });
    });
  }

  async #call(call: Call, ...args: (string | undefined)[]): Promise<string> {
    this.#caller ??= this.#answering();
    const worker = await this.#caller;
    const id = this.#calls++;
    return new Promise((give, refuse) => {
      this.#answers.set(id, { give, refuse });
      tell(worker, { kind: "call", id, call, args });
    });
  }

  /** A worker for what answers at once, so that it never waits behind a run. */
  async #answering(): Promise<Worker> {
    const worker = await this.#spawn();
    worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      if (data.kind !== "answer" && data.kind !== "refused") return;
      const waiting = this.#answers.get(data.id);
      this.#answers.delete(data.id);
      if (data.kind === "answer") waiting?.give(data.value);
      else waiting?.refuse(ScenarioError.of(data.message));
    };
    worker.onerror = (event) => {
      for (const { refuse } of this.#answers.values()) refuse(new Error(event.message));
      this.#answers.clear();
      this.#caller = undefined;
      worker.terminate();
    };
    return worker;
  }

  async #spawn(): Promise<Worker> {
    const module = await this.#module;
    const worker = new Worker(WORKER_URL, { type: "module" });
    tell(worker, { kind: "module", module });
    return worker;
  }

  async #acquire(signal: AbortSignal | undefined): Promise<Worker> {
    if (signal?.aborted) throw new Cancelled();
    if (this.#busy >= this.size) await this.#turn(signal);
    else this.#busy += 1;
    try {
      return this.#idle.pop() ?? (await this.#spawn());
    } catch (error) {
      this.#release(null);
      throw error;
    }
  }

  /** Waits for a place; who gives up leaves the queue at once. */
  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((go, refuse) => {
      this.#waiting.push(go);
      const leave = (): void => {
        const at = this.#waiting.indexOf(go);
        if (at < 0) return;
        this.#waiting.splice(at, 1);
        refuse(new Cancelled());
      };
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  /** Its place goes to the next that waits, the worker itself, unless it was ended, to the idle ones. */
  #release(worker: Worker | null): void {
    if (worker) this.#idle.push(worker);
    const next = this.#waiting.shift();
    if (next) next();
    else this.#busy -= 1;
  }
}

class LocalRun implements Run {
  durationS = NaN;
  onprogress: (nowS: number, drained: Series[]) => void = () => undefined;
  readonly started: Promise<void>;
  readonly done: Promise<Output>;
  readonly #worker: Worker;
  #end: (error: Error) => void = () => undefined;

  constructor(worker: Worker, over: (reusable: boolean) => void) {
    this.#worker = worker;
    let begun: () => void;
    let refused: (error: Error) => void;
    this.started = new Promise((resolve, reject) => {
      begun = resolve;
      refused = reject;
    });
    this.done = new Promise((resolve, reject) => {
      let open = true;
      // A worker whose run failed may hold a broken module; it is not used again.
      const end = (reusable: boolean): boolean => {
        if (!open) return false;
        open = false;
        worker.onmessage = null;
        worker.onerror = null;
        if (!reusable) worker.terminate();
        over(reusable);
        return true;
      };
      this.#end = (error) => {
        if (!end(false)) return;
        refused(error);
        reject(error);
      };
      worker.onerror = (event) => this.#end(new Error(event.message));
      worker.onmessage = ({ data }: MessageEvent<Reply>) => {
        switch (data.kind) {
          case "started":
            this.durationS = data.durationS;
            begun();
            break;
          case "progress":
            this.onprogress(data.nowS, data.series);
            break;
          case "done":
            if (end(true)) resolve(data.output);
            break;
          case "failed":
            this.#end(ScenarioError.of(data.message));
            break;
        }
      };
    });
    // Whoever only waits for the start need not also look at the end.
    this.done.catch(() => undefined);
  }

  pause(): void {
    tell(this.#worker, { kind: "pause" });
  }

  resume(): void {
    tell(this.#worker, { kind: "resume" });
  }

  cancel(): void {
    this.#end(new Cancelled());
  }
}

function tell(worker: Worker, request: Request): void {
  worker.postMessage(request);
}

/** Compiled once and handed to every worker. */
async function compiled(): Promise<WebAssembly.Module> {
  const response = await fetch(WASM_URL);
  if (!response.ok) throw new Error(`${WASM_URL}: ${response.status} ${response.statusText}`);
  return WebAssembly.compile(await response.arrayBuffer());
}
