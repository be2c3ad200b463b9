import assert from "node:assert/strict";
import { test } from "node:test";

import { AxisError, axesOf, places, points, values } from "../src/sweep/axis";

test("values are texts between commas, but not within parentheses", () => {
  assert.deepEqual(values("fq_codel, dualpi2 target 5ms ,pfifo"), ["fq_codel", "dualpi2 target 5ms", "pfifo"]);
  assert.deepEqual(values("htb { a, b }, c"), ["htb { a, b }", "c"]);
  assert.deepEqual(values("1,1,2"), ["1", "2"]);
});

test("a range has equal steps, or equal factors", () => {
  assert.deepEqual(values("10ms .. 50ms x 5"), ["10ms", "20ms", "30ms", "40ms", "50ms"]);
  assert.deepEqual(values("10..1000Mbit x 3 log"), ["10Mbit", "100Mbit", "1000Mbit"]);
});

test("what cannot be read is one line that says what was expected", () => {
  for (const text of ["", "a .. b x 3", "1ms .. 2s x 3", "1 .. 2 x 1", "0 .. 2 x 3 log", "1 .. 1000 x 1000"]) {
    assert.throws(() => values(text), (error: Error) => error instanceof AxisError && /^values: expected [^\n]+$/.test(error.message), text);
  }
});

test("points vary the last axis fastest", () => {
  assert.deepEqual(points([{ key: "a", values: ["1", "2"] }, { key: "b", values: ["x", "y"] }]), [["1", "x"], ["1", "y"], ["2", "x"], ["2", "y"]]);
});

test("only numbers of one unit have places on a number line", () => {
  assert.deepEqual(places({ key: "a", values: ["10ms", "20ms"] }), { at: [10, 20], unit: "ms" });
  assert.equal(places({ key: "a", values: ["10ms", "1s"] }), null);
  assert.equal(places({ key: "a", values: ["fq_codel", "dualpi2"] }), null);
});

test("the grid of a scenario's own sweep is taken over, other designs are not", () => {
  const grid = ["a", "b"].flatMap((qdisc) => ["1", "2"].map((seed) => ({ values: [["link.x.qdisc", qdisc], ["seed", seed]] as [string, string][] })));
  assert.deepEqual(axesOf(grid), { axes: [{ key: "link.x.qdisc", values: ["a", "b"] }], seeds: 2 });
  assert.equal(axesOf(grid.slice(1)), null);
  assert.equal(axesOf([{ values: [] }]), null);
});
