/** What `sojourn serve` answers, by its interface over HTTP (docs/guide/serve.md). */

import { ScenarioError, type Output, type Override, type Point, type Resolved, type Series, type Tables } from "./engine";

export type EngineRow = {
  name: string;
  available: boolean;
  /** Why it cannot run; empty if it can. */
  reason: string;
  version?: string;
  /** Whether a run takes as long as its scenario. */
  real_time?: boolean;
  repeats?: boolean;
};

/** A folder with results; `path` names it in requests, `shown` on the command line. */
export type ResultSet = { path: string; shown: string; runs: number; changed: string };

/** A run in few numbers: the columns of `ResultSet.summary()`, and swept values by their names. */
export type ResultRow = { path: string; id: string; complete: boolean; [column: string]: unknown };

export type ResultRun = {
  id: string;
  complete: boolean;
  numbers: Record<string, unknown>;
  manifest: Record<string, unknown>;
  summary: Output["summary"];
  queues: object;
  /** Resolved. */
  scenario: string;
  /** Names. */
  series: string[];
  captures: string[];
};

/** One run, or a part of the rows of a set. */
export type Shown = { path: string; shown: string } & (
  | { run: ResultRun }
  | { count: number; start: number; runs: ResultRow[]; errors: string[] }
);

export type About = {
  version: string;
  engines: EngineRow[];
  folder: string;
  /** Where runs of the page leave their results. */
  out: string;
  /** The file that the server was started with. */
  scenario: { name: string; text: string } | null;
  results: ResultSet[];
  suites: string[];
  at_once: number;
  most: { jobs: number; runs: number };
};

export type JobStatus = "waiting" | "going" | "paused" | "done" | "failed" | "cancelled";

export type Job = {
  id: string;
  title: string;
  engine: string;
  created: string;
  status: JobStatus;
  /** Of its results. */
  path: string;
  can_pause: boolean;
  /** Runs, and how many of them are over. */
  count: number;
  over: number;
  /** Of all runs together. */
  duration_s: number;
  now_s: number;
  /** Events so far. */
  events: number;
  error?: string;
  runs?: JobRun[];
};

export type JobRun = {
  id: string;
  status: JobStatus;
  duration_s: number;
  now_s: number;
  wall_s?: number;
  error?: string;
};

/** What a page wants to run: a text with overrides, a resolved one, or a run of a suite. */
export type JobRequest = ({ text: string } | { toml: string } | { case: string }) & {
  overrides?: Override[];
  engine?: string;
  seeds?: number;
  /** Whether the nearest scenario will do that the engine can run. */
  nearest?: boolean;
  /** Whether a job of the same runs that is under way will do, as after a reload. */
  join?: boolean;
};

/** `n` counts from 0; `run` is the number of a run in the job. */
export type JobEvent = { n: number } & (
  | { event: "start"; run: number; id: string; duration_s: number }
  | { event: "progress"; run: number; now_s: number; series: Series[] }
  | { event: "done"; run: number; path: string }
  | { event: "failed"; run: number; error: string }
  | { event: "cancelled"; run: number }
  | { event: "end"; status: JobStatus }
);

type Packed = { name: string; unit: string; t: string; v: string };

const KEY = "sojourn-token";
/** Before what broke is asked for again. */
const RETRY_MS = 1000;
/** A browser opens six connections to a server: beyond that number of streams, events are polled. */
const MOST_STREAMS = 3;
const LOOK_MS = 150;

/** The server refused a request. */
export class Refused extends Error {
  override readonly name = "Refused";

  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** The token of this page's server; it is taken out of the address, where it would be shown and shared. */
export function takeToken(): string | null {
  const url = new URL(location.href);
  const given = url.searchParams.get("token");
  if (given) {
    sessionStorage.setItem(KEY, given);
    url.searchParams.delete("token");
    history.replaceState(history.state, "", url);
  }
  return sessionStorage.getItem(KEY);
}

export class Client {
  #streams = 0;

  constructor(private readonly token: string) {}

  about(): Promise<About> {
    return this.#json("GET", "about");
  }

  tables(): Promise<Tables> {
    return this.#json("GET", "tables");
  }

  resolve(text: string, overrides: Override[]): Promise<Resolved> {
    return this.#json("POST", "resolve", { text, overrides });
  }

  expand(text: string, overrides: Override[]): Promise<Point[]> {
    return this.#json("POST", "expand", { text, overrides });
  }

  async edit(text: string, key: string, value: string | null): Promise<string> {
    return (await this.#json<{ text: string }>("POST", "edit", { text, key, value })).text;
  }

  tc(text: string): Promise<{ script: string; limits: string[] }> {
    return this.#json("POST", "tc", { text });
  }

  results(): Promise<ResultSet[]> {
    return this.#json("GET", "results");
  }

  show(path: string, start = 0): Promise<Shown> {
    return this.#json("GET", `results/${inUrl(path)}?start=${start}`);
  }

  /** All series of a run, or those of these names, in which * stands for anything. */
  async series(path: string, names?: string[]): Promise<Series[]> {
    const chosen = names ? `?names=${encodeURIComponent(names.join(","))}` : "";
    const { series } = await this.#json<{ series: Packed[] }>("GET", `results/${inUrl(path)}/series${chosen}`);
    return series.map(unpacked);
  }

  /** One of a run's files, such as series.parquet or a capture. */
  async file(path: string, name: string): Promise<Uint8Array> {
    const response = await this.#ask("GET", `results/${inUrl(path)}/file?name=${encodeURIComponent(name)}`);
    return new Uint8Array(await response.arrayBuffer());
  }

  /** The report as a `Page`, over measured data or over other results. */
  report(path: string, beside?: string): Promise<unknown> {
    return this.#json("GET", `report/${inUrl(path)}${beside ? `?beside=${encodeURIComponent(beside)}` : ""}`);
  }

  /** What `sojourn compare A B --json` prints. */
  compare(a: string, b: string): Promise<unknown> {
    return this.#json("GET", `compare?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`);
  }

  jobs(): Promise<Job[]> {
    return this.#json("GET", "jobs");
  }

  job(id: string): Promise<Job> {
    return this.#json("GET", `jobs/${inUrl(id)}`);
  }

  submit(request: JobRequest): Promise<Job> {
    return this.#json("POST", "jobs", request);
  }

  /** The resolved scenario of a run of a job. */
  async scenario(id: string, run = 0): Promise<string> {
    return (await this.#json<{ toml: string }>("GET", `jobs/${inUrl(id)}/scenario?run=${run}`)).toml;
  }

  cancel(id: string): Promise<Job> {
    return this.#json("DELETE", `jobs/${inUrl(id)}`);
  }

  pause(id: string): Promise<Job> {
    return this.#json("POST", `jobs/${inUrl(id)}/pause`, {});
  }

  resume(id: string): Promise<Job> {
    return this.#json("POST", `jobs/${inUrl(id)}/resume`, {});
  }

  /** The events of a job from number `from` on to its end, across lost connections; ends early with the signal. */
  async *events(id: string, from = 0, signal?: AbortSignal): AsyncGenerator<JobEvent> {
    let next = from;
    for (;;) {
      const isStream = this.#streams < MOST_STREAMS;
      let pause = isStream ? RETRY_MS : LOOK_MS;
      if (isStream) this.#streams += 1;
      try {
        const path = `jobs/${inUrl(id)}/events?from=${next}${isStream ? "" : "&now"}`;
        const response = await this.#ask("GET", path, undefined, signal);
        for await (const line of lines(response.body!)) {
          const event = read(line);
          next = event.n + 1;
          yield event;
          if (event.event === "end") return;
        }
      } catch (error) {
        if (signal?.aborted) return;
        if (error instanceof Refused) throw error;
        pause = RETRY_MS;
      } finally {
        if (isStream) this.#streams -= 1;
      }
      await new Promise((go) => setTimeout(go, pause));
    }
  }

  async #json<T>(method: string, path: string, body?: object): Promise<T> {
    return patiently(method === "GET", async () => (await this.#ask(method, path, body)).json() as Promise<T>);
  }

  async #ask(method: string, path: string, body?: object, signal?: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { "X-Sojourn-Token": this.token };
    if (body) headers["Content-Type"] = "application/json";
    const response = await fetch(`api/${path}`, {
      method,
      headers,
      ...(body ? { body: JSON.stringify(body) } : {}),
      ...(signal ? { signal } : {}),
    });
    if (response.ok) return response;
    const said = (await response.json().catch(() => ({}))) as { error?: string; line?: number };
    const message = said.error ?? `${response.status} ${response.statusText}`;
    const isText = response.status === 400 && ["resolve", "expand", "edit", "tc", "jobs"].includes(path);
    throw isText ? new ScenarioError(message, said.line) : new Refused(message, response.status);
  }
}

/**
 * What a request gives. One that the browser aborts belongs to a page that is being left, where nobody waits for an
 * error; a page that is still there after a while asks again, or fails if asking twice would do something twice.
 */
async function patiently<T>(canRepeat: boolean, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof DOMException && error.name === "AbortError")) throw error;
      await new Promise((go) => setTimeout(go, RETRY_MS));
      if (!canRepeat) throw error;
    }
  }
}

/** A path with its slashes, and everything else as a URL has it. */
function inUrl(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

/** Lines that hold something. */
async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      yield* parts.filter((part) => part !== "");
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

function read(line: string): JobEvent {
  const event = JSON.parse(line) as JobEvent & { series?: Packed[] };
  return event.event === "progress" ? { ...event, series: (event.series ?? []).map(unpacked) } : event;
}

function unpacked({ name, unit, t, v }: Packed): Series {
  return { name, unit, t: numbers(t), v: numbers(v) };
}

/** 64-bit floats of base 64, little-endian as every machine that runs browsers. */
function numbers(text: string): Float64Array {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = characters.charCodeAt(at);
  return new Float64Array(bytes.buffer);
}
