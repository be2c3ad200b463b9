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

/** One direction of a link; texts as tc and the file have them, with every parameter. */
export type DirectionOutline = {
  /** Null is infinitely fast. */
  rate_bps: number | null;
  delay_ms: number;
  shaper: string | null;
  qdisc: string;
  /** Elements before the queue. */
  ingress: string[];
};
export type LinkOutline = {
  name: string;
  /** Indices of nodes; null in a chain. */
  ends: [from: number, to: number] | null;
  forward: DirectionOutline;
  reverse: DirectionOutline;
};
/** A flow, a ping, or one of a group of flows that are alike. */
export type FlowOutline = {
  name: string;
  count: number;
  /** Without parameters; empty if it has none. */
  cc: string;
  /** Without parameters, or `ping`. */
  app: string;
  /** Whether its data cross the links backward. */
  up: boolean;
  start_s: number;
  /** Ways that its packets may take: indices of links. */
  paths: { link: number; forward: boolean }[][];
};
/** What a scenario consists of, as a drawing of it needs that; every name is that of the file. */
export type Outline = {
  /** Empty for a chain of links. */
  nodes: string[];
  links: LinkOutline[];
  flows: FlowOutline[];
  pings: FlowOutline[];
  changes_s: number[];
};

export type Resolved = {
  /** With every default written out: what runs. */
  toml: string;
  /** The same without defaults. */
  brief: string;
  warnings: string[];
  conditions: Conditions;
  outline: Outline;
};

/** A parameter of an algorithm. */
export type Parameter = {
  /** Its key; of a flag the words that it can be, with `|` between them. */
  name: string;
  /** What it takes, as in tc's usage: `TIME`, `2019|2020`; empty of a flag. */
  value: string;
  default: string;
  doc: string;
  /** Whether Linux' tc knows it. */
  tc: boolean;
};
/** An algorithm with its parameters, as `sojourn qdisc NAME` shows it. */
export type Entry = { name: string; summary: string; reference: string; parameters: Parameter[] };
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

  constructor(
    message: string,
    /** Line in the file, from 1, if it is about one. */
    readonly line?: number,
    /** As of `-s`, if it is about one. */
    readonly key?: string,
  ) {
    super(message);
  }

  /** From what an engine says: JSON with message, line and key, or the line for the user alone. */
  static of(said: string): ScenarioError {
    try {
      const { message, line, key } = JSON.parse(said) as { message: string; line: number | null; key: string };
      return new ScenarioError(message, line ?? undefined, key);
    } catch {
      return new ScenarioError(said);
    }
  }
}

/** The user ended a run. */
export class Cancelled extends Error {
  override readonly name = "Cancelled";

  constructor() {
    super("cancelled");
  }
}
