import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { Cancelled, ScenarioError, type Series } from "../src/engine/engine";
import { Client, Refused } from "../src/engine/http";
import { RemoteEngine } from "../src/engine/remote";

type Asked = { url: string; method: string; body: unknown; token: string };
type Answer = { status?: number; body: string | (() => ReadableStream<Uint8Array>) };

const real = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = real;
});

/** A server of canned answers, by method and path; several are given one after the other. What was asked comes back. */
function serve(answers: Record<string, Answer[]>): Asked[] {
  const asked: Asked[] = [];
  globalThis.fetch = (async (url: string, init: RequestInit) => {
    const headers = init.headers as Record<string, string>;
    const body = typeof init.body === "string" ? (JSON.parse(init.body) as unknown) : undefined;
    asked.push({ url, method: init.method!, body, token: headers["X-Sojourn-Token"]! });
    const left = answers[`${init.method} ${url}`];
    const answer = left && (left.length > 1 ? left.shift() : left[0]);
    if (!answer) return new Response('{"error":"no such thing"}', { status: 404 });
    const content = typeof answer.body === "string" ? answer.body : answer.body();
    return new Response(content, { status: answer.status ?? 200 });
  }) as typeof fetch;
  return asked;
}

const packed = (values: number[]): string => Buffer.from(new Float64Array(values).buffer).toString("base64");
const column = (t: number[], v: number[]) => ({ name: "flow.a.rtt", unit: "ms", t: packed(t), v: packed(v) });
const text = (...events: object[]): string => events.map((event) => `${JSON.stringify(event)}\n`).join("");
const bytes = (part: string): Uint8Array => new TextEncoder().encode(part);

const START = { n: 0, event: "start", run: 0, id: "my", duration_s: 2 };
const FIRST = { n: 1, event: "progress", run: 0, now_s: 1, series: [column([0.5, 1], [10, 11])] };
const SECOND = { n: 2, event: "progress", run: 0, now_s: 2, series: [column([1.5], [12])] };
const DONE = { n: 3, event: "done", run: 0, path: "results/lab/j/my" };
const END = { n: 4, event: "end", status: "done" };
const JOB = { id: "j", title: "my", can_pause: true };
const RUN = { id: "my", complete: true, summary: { name: "my" }, queues: [], captures: ["c.pcapng"] };
const STORED = {
  "POST api/jobs": [{ body: JSON.stringify(JOB) }],
  "GET api/results/results/lab/j/my?start=0": [{ body: JSON.stringify({ path: "", shown: "", run: RUN }) }],
  "GET api/results/results/lab/j/my/series": [{ body: JSON.stringify({ series: [column([0.5, 1, 1.5], [10, 11, 12])] }) }],
  "GET api/results/results/lab/j/my/file?name=c.pcapng": [{ body: "pcap" }],
};

test("a run of the server has the progress, the series and the captures that one of this page has", async () => {
  const asked = serve({ ...STORED, "GET api/jobs/j/events?from=0": [{ body: text(START, FIRST, SECOND, DONE, END) }] });
  const engine = new RemoteEngine(new Client("secret"), "live");
  const run = await engine.start("name = 1", { captures: true });
  assert.equal(run.durationS, 2);
  const seen: [number, number[]][] = [];
  run.onprogress = (nowS: number, drained: Series[]) => seen.push([nowS, [...drained[0]!.v]]);
  const output = await run.done;
  await new Promise((go) => setTimeout(go, 5));
  assert.deepEqual(seen, [[1, [10, 11]], [2, [12]]]);
  assert.deepEqual([...output.series[0]!.t], [0.5, 1, 1.5]);
  assert.equal(output.complete, true);
  assert.equal(new TextDecoder().decode(output.captures[0]!.bytes), "pcap");
  assert.deepEqual(asked[0]!.body, { toml: "name = 1", engine: "live", join: true });
  assert.ok(asked.every(({ token, url }) => token === "secret" && !url.includes("secret")));
});

test("a stream that breaks in the middle of a line goes on after the last whole one", async () => {
  const broken = (): ReadableStream<Uint8Array> => {
    const parts = [bytes(text(START)), bytes(text(FIRST) + "\n" + text(SECOND).slice(0, 20))];
    return new ReadableStream({
      pull(controller) {
        const part = parts.shift();
        if (part) controller.enqueue(part);
        else controller.error(new TypeError("network error"));
      },
    });
  };
  const asked = serve({
    "GET api/jobs/j/events?from=0": [{ body: broken }],
    "GET api/jobs/j/events?from=2": [{ body: text(SECOND, DONE, END) }],
  });
  const numbers: number[] = [];
  for await (const event of new Client("t").events("j")) numbers.push(event.n);
  assert.deepEqual(numbers, [0, 1, 2, 3, 4]);
  assert.equal(asked.length, 2);
});

test("what was cancelled, what failed and what is refused reject with what it was", async () => {
  const engine = new RemoteEngine(new Client("t"));
  const end = async (...events: object[]): Promise<unknown> => {
    serve({ ...STORED, "GET api/jobs/j/events?from=0": [{ body: text(START, ...events) }] });
    return (await engine.start("", { captures: false })).done.catch((error: unknown) => error);
  };
  assert.ok((await end({ n: 1, event: "cancelled", run: 0 })) instanceof Cancelled);
  assert.equal(((await end({ n: 1, event: "failed", run: 0, error: "no room" })) as Error).message, "no room");
  serve({ "POST api/resolve": [{ status: 400, body: '{"error":"scenario.toml:5: link.b.rate: expected a rate","line":5}' }] });
  const wrong = (await engine.resolve("").catch((error: unknown) => error)) as ScenarioError;
  assert.ok(wrong instanceof ScenarioError);
  assert.equal(wrong.line, 5);
  serve({});
  const absent = (await new Client("t").events("j").next().catch((error: unknown) => error)) as Refused;
  assert.deepEqual([absent.name, absent.status], ["Refused", 404]);
});
