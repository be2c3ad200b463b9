import assert from "node:assert/strict";
import { test } from "node:test";

import { answer, type Numbers } from "../src/gallery/answer";
import type { Question, Sentence } from "../src/gallery/entry";
import { measured, quantity } from "../src/gallery/measure";
import { questions } from "../src/gallery/questions";

const OUTPUT = {
  summary: {
    flows: [{ name: "cubic", goodput_mbps: 12.5, rtt_ms: { p99: 40 } }, { name: "odd", goodput_mbps: null }],
    pings: [{ name: "ping", rtt_ms: { p99: 41 } }],
    metrics: { throughput: { utilisation: { bneck: 0.5 } } },
  },
  queues: [{ name: "bneck.reverse", marked: 1 }, { name: "bneck", marked: 7, sent_packets: 70 }],
} as never;

const of = (path: string, over?: string): number | null =>
  measured({ id: "x", label: "x", of: path, ...(over === undefined ? {} : { over }) }, OUTPUT);

test("a measure is found by its place in summary and queues", () => {
  assert.equal(of("flow.cubic.goodput_mbps"), 12.5);
  assert.equal(of("flow.cubic.rtt_ms.p99"), 40);
  assert.equal(of("ping.ping.rtt_ms.p99"), 41);
  assert.equal(of("queue.bneck.marked"), 7);
  assert.equal(of("queue.bneck.marked", "queue.bneck.sent_packets"), 0.1);
  assert.equal(of("run.metrics.throughput.utilisation.bneck"), 0.5);
});

test("what a run has not is no number", () => {
  for (const path of ["flow.prague.goodput_mbps", "flow.odd.goodput_mbps", "queue.bneck.marks.step", "other.a.b"]) {
    assert.equal(of(path), null);
  }
  assert.equal(of("queue.bneck.marked", "queue.bneck.none"), null);
});

test("quantities have three digits, and a share is of a hundred", () => {
  assert.deepEqual([quantity(12.345, "Mbit/s"), quantity(0.0741, "%"), quantity(14330)], ["12.3\u00a0Mbit/s", "7.41\u00a0%", "14330"]);
});

const numbers = (a: number | null, b: number | null): Numbers => new Map([["left", new Map([["x", a]])], ["right", new Map([["x", b]])]]);
const said = (when: string, of: Numbers): string =>
  answer({ measure: [{ id: "x", label: "x", of: "", unit: "ms" }], answer: [{ when, say: "{left.x} yes", otherwise: "{right.x} no" } satisfies Sentence] } as unknown as Question, of)[0]!;

test("a sentence is chosen by its condition, with the numbers in it", () => {
  assert.equal(said("left.x > 2 * right.x", numbers(7, 3)), "7.00\u00a0ms yes");
  assert.equal(said("left.x > 2 * right.x", numbers(5, 3)), "3.00\u00a0ms no");
  assert.equal(said("left.x >= 5 and left.x < right.x", numbers(5, 6)), "5.00\u00a0ms yes");
  assert.equal(said("left.x = 0", numbers(0, 6)), "0\u00a0ms yes");
});

test("no condition holds where a number is missing", () => {
  assert.equal(said("left.x < 5", numbers(null, 3)), "3.00\u00a0ms no");
});

test("a condition that cannot be read, or names nothing, is refused", () => {
  assert.throws(() => said("left.x about 5", numbers(1, 1)), /expected SIDE.MEASURE/);
  assert.throws(() => said("other.x < 5", numbers(1, 1)), /no such number/);
});

for (const question of questions) {
  test(`${question.id}: answers name sides and measures that there are, whichever sentence is said`, () => {
    for (const value of [0, 1, 1000]) {
      const row = new Map(question.measure.map(({ id }, n) => [id, value * (n + 1)]));
      const sides = new Map(question.side.map(({ id }, n) => [id, new Map([...row].map(([key, one]) => [key, one / (n + 1)]))]));
      for (const turned of [question, { ...question, answer: question.answer.map((one) => ({ ...one, say: one.otherwise, otherwise: one.say })) }]) {
        const sentences = answer(turned, sides);
        assert.equal(sentences.length, question.answer.length);
        for (const sentence of sentences) assert.doesNotMatch(sentence, /[{}]|undefined/);
      }
    }
  });
}
