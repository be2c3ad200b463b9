/** What the page asks of an engine, whether it is WebAssembly here or `sojourn serve` behind HTTP. */

/** A recorded column; `t` in seconds of the scenario. */
export type Series = { name: string; unit: string; t: Float64Array; v: Float64Array };

/** Key and value as of `-s` on the command line. */
export type Override = [key: string, value: string];

/** A run of a sweep: values of the axes and the resolved scenario. */
export type Point = { values: Override[]; toml: string };

export type Conditions = {
  capacity: { from_s: number; mbps: number }[];
  base_rtt_ms: { least: number; greatest: number } | null;
  bottlenecks: string[];
  queue_shapes: boolean;
  queues: string[];
};

/** One direction of a link, and what packets pass there before its wire. */
export type Port = {
  forward: boolean;
  name: string;
  rate_bps: number | null;
  shaper: string;
  qdisc: string;
  elements: string[];
};

export type Link = { name: string; a: string; b: string; ports: Port[]; delay_ns: number };
export type PathFlow = { name: string; path: string[]; reverse: boolean; cc?: string; app?: string };
export type Topology = { nodes: { name: string }[]; links: Link[]; flows: PathFlow[] };

export type Resolved = {
  /** With every default written out: what runs. */
  toml: string;
  /** The same without defaults. */
  brief: string;
  warnings: string[];
  conditions: Conditions;
  topology: Topology;
};

/** A parameter of an algorithm, as `sojourn qdisc NAME` shows it. */
export type Parameter = { key: string; kind: string; default: string; help: string; [more: string]: unknown };
/** An algorithm, as `sojourn qdisc` shows it. */
export type Entry = {
  name: string;
  summary: string;
  source: string;
  parameters: Parameter[];
  [more: string]: unknown;
};
export type Tables = { qdiscs: Entry[]; controllers: Entry[]; apps: Entry[]; schema: object };

export type Output = {
  summary: Summary;
  queues: object;
  series: Series[];
  /** Whether the run reached its end. */
  complete: boolean;
  captures: { name: string; bytes: Uint8Array }[];
};

export type Statistics = { n: number; mean: number; p50: number; p95: number; p99: number; max: number };

/** What of `summary.json` the page reads by name; the file has more. */
export type Summary = {
  name: string;
  seed: number;
  duration_s: number;
  measure: { from_s: number; to_s: number };
  conditions: Conditions;
  flows: { name: string; cc?: string; [more: string]: unknown }[];
  pings: { name: string; [more: string]: unknown }[];
  metrics: Record<string, unknown>;
  [more: string]: unknown;
};

export type StartOptions = {
  captures: boolean;
  /** Gives up a run that waits for a free worker, and ends one under way. */
  signal?: AbortSignal;
};

export interface Engine {
  readonly name: string;
  version(): Promise<string>;
  /** Rejects with ScenarioError. */
  resolve(text: string, overrides?: Override[]): Promise<Resolved>;
  /** The runs of a sweep, or the only one. Rejects with ScenarioError. */
  expand(text: string, overrides?: Override[]): Promise<Point[]>;
  /** Sets a dotted name as of `-s`, or removes it; comments and layout stay. Rejects with ScenarioError. */
  edit(text: string, key: string, value: string | null): Promise<string>;
  tables(): Promise<Tables>;
  /** The script that builds a scenario on Linux, and what it cannot do. */
  tc(text: string): Promise<{ script: string; limits: string[] }>;
  /** A run of a resolved scenario; it comes when a worker is free. */
  start(toml: string, options: StartOptions): Promise<Run>;
}

export interface Run {
  readonly durationS: number;
  /** At most every 100 ms; with what was sampled since the last call. */
  onprogress: (nowS: number, drained: Series[]) => void;
  pause(): void;
  resume(): void;
  cancel(): void;
  /** Rejects with one line if it fails, and with `Cancelled`. */
  done: Promise<Output>;
}

/** A scenario that cannot be used: one line, as the command line prints it. */
export class ScenarioError extends Error {
  override readonly name = "ScenarioError";
  /** Line in the file, from 1, where the message names one. */
  readonly line: number | undefined;

  constructor(message: string) {
    super(message);
    const found = /^[^:\s]+:(\d+): /.exec(message);
    this.line = found ? Number(found[1]) : undefined;
  }
}

/** The user ended a run. */
export class Cancelled extends Error {
  override readonly name = "Cancelled";

  constructor() {
    super("cancelled");
  }
}
