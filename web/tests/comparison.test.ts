import assert from "node:assert/strict";
import { test } from "node:test";

import { differences, sentence, signed } from "../src/compare/difference";
import type { Engine, Output, Run } from "../src/engine/engine";
import { flowRows, queueRows } from "../src/run/glance";
import { many } from "../src/run/many";

/** As of `summary.json` and `queue.json`, with what is read of them. */
function output(delay: number, goodput: number): Output {
  const flow = (name: string, share: number) => ({
    name,
    cc: `${name} version x`,
    goodput_mbps: goodput * share,
    rtt_ms: { mean: 20 + delay, p50: 20, p99: 30 },
    sender: { retransmits: 2 },
    receiver: { ce_received: 7 },
  });
  const summary = {
    name: "x",
    flows: [flow("cubic", 0.25), flow("prague", 0.75)],
    pings: [{ name: "ping", rtt_ms: { mean: 21, p50: 21, p99: 22 }, totals: { sent: 10, received: 9 } }],
    metrics: { fairness: { jain: 0.8 } },
  };
  const queues = [
    { name: "bneck", qdisc: "htb rate 50Mbit; dualpi2 limit 1p", sojourn_ms: { mean: delay, p50: 0.2, p99: 9 }, dropped: 0, marked: 14, utilisation: 0.99 },
  ];
  return { summary, queues, series: [], complete: true, captures: [] } as unknown as Output;
}

test("rows are those of the command line's table", () => {
  const [cubic, , ping] = flowRows(output(4, 40));
  assert.deepEqual([cubic!.name, cubic!.what, cubic!.goodputMbps, cubic!.delay, cubic!.marks, cubic!.retransmits], ["cubic", "cubic", 10, "RTT", 7, 2]);
  assert.deepEqual([ping!.what, ping!.answered], ["ping", [9, 10]]);
  assert.equal(queueRows(output(4, 40))[0]!.qdisc, "dualpi2");
});

test("a difference is paired by seed, and said in one sentence", () => {
  const a = [12.1, 12.6, 12.0, 12.9, 11.9].map((delay) => output(delay, 48));
  const b = [1.2, 1.0, 1.15, 1.05, 1.1].map((delay) => output(delay, 48));
  const [first, ...others] = differences(a, b);
  assert.equal(sentence(first!), "mean queue delay 12.3 ms → 1.10 ms: difference −11.2 ms [−11.8, −10.6], 5 seeds");
  const goodput = others.find(({ measure }) => measure.key === "goodput")!;
  assert.equal(sentence(goodput), "goodput of all flows 48.0 Mbit/s → 48.0 Mbit/s: difference 0 Mbit/s, the same with all 5 seeds");
});

test("a difference that seeds explain is said to be none", () => {
  const [first] = differences([output(1, 1), output(2, 1)], [output(1.4, 1), output(1.9, 1)]);
  assert.match(sentence(first!), /cannot be distinguished from none$/);
});

test("one seed has no interval", () => {
  assert.match(sentence(differences([output(2, 1)], [output(1, 1)])[0]!), /difference −1\.00 ms, 1 seed: no interval$/);
});

test("numbers are signed", () => assert.deepEqual([1.5, -1.5, 0, -0.00001].map(signed), ["+1.50", "−1.50", "0", "−1.0e-5"]));

/** Ends runs in the order that is asked for. */
function engineEnding(order: number[]): Engine {
  const started: (() => void)[] = [];
  return {
    start: (toml: string) => {
      const done = new Promise<Output>((resolve) => started.push(() => resolve({ summary: { name: toml } } as unknown as Output)));
      if (started.length === order.length) setTimeout(() => order.forEach((place) => started[place]!()));
      return Promise.resolve({ done, cancel: () => undefined } as unknown as Run);
    },
  } as unknown as Engine;
}

test("results are in the order that was asked for, whichever run ends first", async () => {
  const seen: number[] = [];
  const outputs = await many(engineEnding([2, 0, 1]), ["a", "b", "c"], (output, place) => (seen.push(place), output)).done;
  assert.deepEqual(outputs.map(({ summary }) => summary.name), ["a", "b", "c"]);
  assert.deepEqual(seen, [2, 0, 1]);
});

test("the first run that fails ends the others", async () => {
  const signals: AbortSignal[] = [];
  const engine = {
    start: (toml: string, { signal }: { signal: AbortSignal }) => {
      signals.push(signal);
      return toml === "bad" ? Promise.reject(new Error("flow x: no")) : new Promise(() => undefined);
    },
  } as unknown as Engine;
  await assert.rejects(many(engine, ["good", "bad"], (output) => output).done, /flow x: no/);
  assert.ok(signals.every(({ aborted }) => aborted));
});
