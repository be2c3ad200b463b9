import assert from "node:assert/strict";
import { test } from "node:test";

import { averaged, curve, grouped, perSecond, summed } from "../src/run/curves";
import { gathered } from "../src/run/groups";
import { named, panels, patterns } from "../src/run/panels";
import { Recording, valueAt } from "../src/run/recording";

const seconds = (...t: number[]) => Float64Array.from(t);

test("a count becomes a rate at the middle of each interval", () => {
  const { t, v } = perSecond({ t: seconds(0, 1, 2), v: seconds(0, 10, 30) }, 1);
  assert.deepEqual([...t], [0.5, 1.5]);
  assert.deepEqual([...v], [10, 20]);
});

test("a count that is sampled more often than it is asked for is read at the edges", () => {
  const t = Float64Array.from({ length: 21 }, (_, n) => n * 0.05);
  const rate = perSecond({ t, v: t.map((time) => 100 * time) }, 0.1);
  assert.equal(rate.v.length, 10);
  for (const value of rate.v) assert.ok(Math.abs(value - 100) < 1e-6);
});

test("means of intervals are at their middles", () => {
  const { t, v } = averaged({ t: seconds(0, 0.5, 1, 1.5), v: seconds(1, 3, 5, 7) }, 1);
  assert.deepEqual([[...t], [...v]], [[0.5, 1.5], [2, 6]]);
});

test("a hundred flows are a median and a band", () => {
  const flows = Array.from({ length: 100 }, (_, n) => curve(`web-${n}`, { t: seconds(0, 1), v: seconds(n, n) }));
  const [band, ...others] = grouped(flows);
  assert.equal(others.length, 0);
  assert.equal(band!.name, "web-* (100)");
  assert.deepEqual([band!.v[0], band!.band!.low[0], band!.band!.high[0]].map((value) => value!.toFixed(6)), ["49.500000", "9.900000", "89.100000"]);
});

test("flows that are open at different times make a band of those that are open", () => {
  const flows = Array.from({ length: 9 }, (_, n) => curve(`p-${n}`, { t: seconds(n, n + 1), v: seconds(n, n) }));
  const [band] = grouped(flows);
  assert.equal(band!.t[0], 0);
  assert.equal(band!.v[0], 0);
  assert.equal(band!.v.at(-1), 8);
});

test("who is in a queue is a sum of a group's flows, whenever they were open", () => {
  const flows = Array.from({ length: 9 }, (_, n) => curve(`p-${n}`, n < 8 ? { t: seconds(0, 1, 2), v: seconds(1, 1, 1) } : { t: seconds(1, 2), v: seconds(5, 5) }));
  const [all] = summed(flows);
  assert.deepEqual([all!.name, [...all!.v]], ["p-* (9)", [8, 13, 13]]);
});

test("up to eight flows keep their lines, and names that begin alike are distinguished from others", () => {
  assert.equal(gathered(["cubic", "prague", "bbr"]).size, 3);
  const names = [...Array.from({ length: 6 }, (_, n) => `a-x${n}`), ...Array.from({ length: 6 }, (_, n) => `b-y${n}`)];
  assert.deepEqual([...gathered(names).keys()], ["a-x* (6)", "b-y* (6)"]);
});

const RECORDING = Recording.of([
  { name: "flow.prague.goodput_bytes", unit: "bytes", t: seconds(0, 1, 2), v: seconds(0, 1e6, 2e6) },
  { name: "flow.prague.rtt", unit: "ms", t: seconds(0, 1, 2), v: seconds(NaN, 20, 21) },
  { name: "flow.prague.cc.alpha", unit: "1", t: seconds(0, 1, 2), v: seconds(1, 0.5, 0.25) },
  { name: "queue.bneck.sojourn", unit: "ms", t: seconds(0, 1, 2), v: seconds(0, 2, 1) },
  { name: "queue.bneck.reverse.sojourn", unit: "ms", t: seconds(0, 1, 2), v: seconds(0, 0, 0) },
  { name: "queue.bneck.ingress0.sojourn", unit: "ms", t: seconds(0, 1, 2), v: seconds(0, 9, 9) },
  { name: "queue.bneck.marks", unit: "packets", t: seconds(0, 1, 2), v: seconds(0, 5, 10) },
  { name: "queue.bneck.drops", unit: "packets", t: seconds(0, 1, 2), v: seconds(0, 0, 0) },
]);

test("panels are what the run has, without idle queues and what is no number", () => {
  const found = new Map(panels(RECORDING, 200).map((panel) => [panel.key, panel.curves]));
  assert.deepEqual([...found.keys()], ["rate", "queue_delay", "rtt", "marks_drops"]);
  assert.deepEqual([...found.get("rate")![0]!.v], [8, 8]);
  assert.deepEqual(found.get("queue_delay")!.map(({ name }) => name), ["bneck"]);
  assert.deepEqual([...found.get("rtt")![0]!.t], [1, 2]);
  assert.deepEqual(found.get("marks_drops")!.map(({ kind }) => kind), ["marks"]);
});

test("any series can be drawn by its pattern", () => {
  assert.ok(patterns(RECORDING).includes("flow.*.cc.alpha"));
  const panel = named(RECORDING, "flow.*.cc.alpha");
  assert.deepEqual(panel.curves.map(({ name }) => name), ["prague"]);
});

test("series grow at their ends, and are read at an instant", () => {
  const recording = new Recording();
  for (let n = 0; n < 300; n += 1) recording.append([{ name: "x", unit: "ms", t: seconds(n), v: seconds(2 * n) }]);
  assert.equal(recording.finite("x").t.length, 300);
  assert.equal(valueAt(recording.finite("x"), 10.5), 20);
  assert.equal(valueAt(recording.finite("x"), -1), null);
});
