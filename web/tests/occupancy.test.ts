import assert from "node:assert/strict";
import { test } from "node:test";

import type { Output } from "../src/engine/engine";
import { lanes, occupants } from "../src/run/occupancy";
import { Recording } from "../src/run/recording";

const at = (...values: number[]) => Float64Array.from(values);
const flow = (name: string, values: Record<string, number>) =>
  Object.entries(values).map(([key, value]) => ({ name: `flow.${name}.${key}`, unit: "1", t: at(0, 1), v: at(value, value) }));
const output = (...delays: number[]): Output => {
  const conditions = { bottlenecks: ["bneck"], base_rtt_ms: { least: 20, greatest: 20 } };
  const queues = delays.map((p99) => ({ name: "q", sojourn_ms: { p99 } }));
  return { summary: { conditions }, queues } as unknown as Output;
};
/** 57.92 Mbit/s times 20 ms are 100 segments of 1448 bytes. */
const RECORDING = Recording.of([
  ...flow("tcp", { in_flight: 130, delivery_rate: 57.92, cwnd: 130 }),
  ...flow("media", { in_flight: 130, delivery_rate: 57.92 }),
]);

test("what TCP has in flight beyond its path is in the queue", () => {
  const found = occupants(RECORDING, output(20, 0.5));
  assert.deepEqual(found.map(({ name, v }) => [name, Math.round(v[0]! * 1e6) / 1e6]), [["tcp", 30]]);
});

test("where two queues held packets back nothing is estimated", () => {
  assert.deepEqual(occupants(RECORDING, output(20, 15)), []);
});

test("a dual queue has two lanes, another queue one", () => {
  const queue = (name: string, value: number) => ({ name: `queue.q.${name}`, unit: "1", t: at(0, 1), v: at(value, value + 1) });
  const dual = Recording.of([queue("packets_l", 1), queue("packets_c", 5), queue("delay_l", 0.1), queue("delay_c", 9)]);
  assert.deepEqual(lanes(dual, "q", 1.5), [{ name: "L", packets: 2, delayMs: 1.1 }, { name: "C", packets: 6, delayMs: 10 }]);
  const single = Recording.of([queue("backlog_packets", 7), queue("sojourn", 3)]);
  assert.deepEqual(lanes(single, "q", 0), [{ name: "", packets: 7, delayMs: 3 }]);
});
