import assert from "node:assert/strict";
import { test } from "node:test";

import { Cancelled, ScenarioError } from "../src/engine/engine";
import { LocalEngine } from "../src/engine/local";
import type { Reply, Request } from "../src/engine/protocol";

/** A worker that does what its scenario's text says: `done`, `fail`, or nothing until it is asked. */
class FakeWorker {
  static all: FakeWorker[] = [];
  onmessage: ((event: { data: Reply }) => void) | null = null;
  onerror: ((event: { message: string }) => void) | null = null;
  isEnded = false;
  started: string[] = [];

  constructor() {
    FakeWorker.all.push(this);
  }

  postMessage(request: Request): void {
    if (request.kind === "call") this.reply(request.args[0] === "bad" ? refused(request.id) : { kind: "answer", id: request.id, value: "{}" });
    if (request.kind !== "start") return;
    this.started.push(request.toml);
    if (request.toml === "fail") return this.reply({ kind: "failed", message: "too bad" });
    this.reply({ kind: "started", durationS: 7 });
    if (request.toml === "done") this.finish();
  }

  finish(): void {
    this.reply({ kind: "done", output: { summary: {}, queues: [], series: [], complete: true, captures: [] } as never });
  }

  reply(data: Reply): void {
    queueMicrotask(() => !this.isEnded && this.onmessage?.({ data }));
  }

  terminate(): void {
    this.isEnded = true;
  }
}

function refused(id: number): Reply {
  return { kind: "refused", id, message: JSON.stringify({ message: "scenario.toml:3: no", line: 3, key: "link.a.rate" }) };
}

function engine(workers: number): LocalEngine {
  FakeWorker.all = [];
  Object.assign(globalThis, {
    Worker: FakeWorker,
    WORKER_URL: "worker.js",
    WASM_URL: "engine.wasm",
    fetch: async () => new Response(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])),
  });
  Object.defineProperty(globalThis, "navigator", { value: { hardwareConcurrency: workers }, configurable: true });
  return new LocalEngine();
}

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

test("a refusal has message, line and key", async () => {
  await assert.rejects(engine(1).resolve("bad"), (error) => {
    assert.ok(error instanceof ScenarioError);
    assert.deepEqual([error.message, error.line, error.key], ["scenario.toml:3: no", 3, "link.a.rate"]);
    return true;
  });
});

test("a run waits for a worker, and the same worker carries out the next", async () => {
  const of = engine(1);
  const first = await of.start("slow", { captures: false });
  const second = of.start("done", { captures: false });
  await settled();
  assert.deepEqual(FakeWorker.all.map(({ started }) => started), [["slow"]]);
  FakeWorker.all[0]!.finish();
  assert.equal((await first.done).complete, true);
  assert.equal((await second).durationS, 7);
  await (await second).done;
  assert.deepEqual(FakeWorker.all.map(({ started }) => started), [["slow", "done"]]);
});

test("a run that is cancelled ends with its worker, and its place is free", async () => {
  const of = engine(1);
  const run = await of.start("slow", { captures: false });
  run.cancel();
  await assert.rejects(run.done, Cancelled);
  assert.equal(FakeWorker.all[0]!.isEnded, true);
  await (await of.start("done", { captures: false })).done;
  assert.equal(FakeWorker.all.length, 2);
});

test("who gives up while waiting leaves the queue at once", async () => {
  const of = engine(1);
  const run = await of.start("slow", { captures: false });
  const giveUp = new AbortController();
  const waiting = of.start("done", { captures: false, signal: giveUp.signal });
  giveUp.abort();
  await assert.rejects(waiting, Cancelled);
  run.cancel();
  await settled();
  await (await of.start("done", { captures: false })).done;
});

test("a worker whose run failed is not used again", async () => {
  const of = engine(1);
  await assert.rejects(of.start("fail", { captures: false }), /too bad/);
  await (await of.start("done", { captures: false })).done;
  assert.deepEqual(FakeWorker.all.map(({ started, isEnded }) => [started[0], isEnded]), [["fail", true], ["done", false]]);
});

test("an engine that cannot be fetched says so, and keeps no place taken", async () => {
  const of = engine(1);
  Object.assign(globalThis, { fetch: async () => new Response("", { status: 404, statusText: "Not Found" }) });
  const broken = new LocalEngine();
  await assert.rejects(broken.start("done", { captures: false }), /engine.wasm: 404/);
  await assert.rejects(broken.start("done", { captures: false }), /engine.wasm: 404/);
  await (await of.start("done", { captures: false })).done;
});
