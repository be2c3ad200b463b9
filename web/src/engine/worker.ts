/** The engine inside a worker: answers calls, and carries out one run at a time. */

import * as sojourn from "../wasm/sojourn.js";
import type { Output, Series } from "./engine";
import { buffers, type Call, type Reply, type Request } from "./protocol";

declare const self: {
  onmessage: ((event: MessageEvent<Request>) => void) | null;
  postMessage(message: Reply, transfer?: Transferable[]): void;
};

/** Wall time between two looks at the messages: what a pause waits for. */
const TURN_MS = 40;
const PROGRESS_MS = 100;

let run: sojourn.Run | null = null;
let paused = false;
let reported = 0;

/** Asks for another turn after the messages that wait; a timer would be held back to 4 ms. */
const turns = new MessageChannel();
let isAsked = false;
turns.port1.onmessage = () => {
  isAsked = false;
  turn();
};

function again(): void {
  if (!isAsked) turns.port2.postMessage(null);
  isAsked = true;
}

self.onmessage = ({ data }) => {
  switch (data.kind) {
    case "module":
      sojourn.initSync({ module: data.module });
      break;
    case "call":
      answer(data.id, data.call, data.args);
      break;
    case "start":
      begin(data.toml, data.captures);
      break;
    case "pause":
      paused = true;
      if (run) progress(run);
      break;
    case "resume":
      paused = false;
      again();
      break;
  }
};

function answer(id: number, call: Call, args: (string | undefined)[]): void {
  try {
    const value = (sojourn[call] as (...texts: (string | undefined)[]) => string)(...args);
    self.postMessage({ kind: "answer", id, value });
  } catch (error) {
    self.postMessage({ kind: "refused", id, message: line(error) });
  }
}

function begin(toml: string, captures: boolean): void {
  try {
    run = new sojourn.Run(toml, captures);
  } catch (error) {
    self.postMessage({ kind: "failed", message: line(error) });
    return;
  }
  paused = false;
  reported = performance.now();
  self.postMessage({ kind: "started", durationS: run.duration_s });
  again();
}

function turn(): void {
  if (!run || paused) return;
  try {
    if (run.advance(undefined, TURN_MS) === "ended") {
      const ended = run;
      run = null;
      const output = finish(ended);
      const captures = output.captures.map(({ bytes }) => bytes.buffer as ArrayBuffer);
      self.postMessage({ kind: "done", output }, [...buffers(output.series), ...captures]);
      return;
    }
    if (performance.now() - reported >= PROGRESS_MS) progress(run);
    again();
  } catch (error) {
    run = null;
    self.postMessage({ kind: "failed", message: line(error) });
  }
}

function progress(of: sojourn.Run): void {
  reported = performance.now();
  const series = columns(of.drain());
  self.postMessage({ kind: "progress", nowS: of.now_s, series }, buffers(series));
}

function finish(ended: sojourn.Run): Output {
  const finished = ended.finish();
  const captures = Array.from({ length: finished.capture_count }, (_, i) => ({
    name: finished.capture_name(i),
    bytes: finished.capture_bytes(i),
  }));
  const output = {
    summary: JSON.parse(finished.summary) as Output["summary"],
    queues: JSON.parse(finished.queues) as object,
    series: columns(finished.columns()),
    complete: finished.complete,
    captures,
  };
  finished.free();
  ended.free();
  return output;
}

/** All in one buffer: a thousand series change hands in a millisecond, as many buffers take ten. */
function columns(of: sojourn.Columns): Series[] {
  const found = Array.from({ length: of.length }, (_, i) => ({
    name: of.name(i),
    unit: of.unit(i),
    t: of.t(i),
    v: of.v(i),
  }));
  of.free();
  const together = new Float64Array(found.reduce((sum, { t }) => sum + 2 * t.length, 0));
  let end = 0;
  const put = (values: Float64Array): Float64Array => {
    together.set(values, end);
    end += values.length;
    return together.subarray(end - values.length, end);
  };
  return found.map(({ name, unit, t, v }) => ({ name, unit, t: put(t), v: put(v) }));
}

/** Errors of the engine are texts of one line; anything else is a defect, whose first line is shown. */
function line(error: unknown): string {
  const text = typeof error === "string" ? error : error instanceof Error ? error.message : String(error);
  return text.split("\n", 1)[0] ?? text;
}
