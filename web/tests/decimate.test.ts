import assert from "node:assert/strict";
import { test } from "node:test";

import { decimate, grid } from "../src/run/decimate";

const wave = (n: number) => ({
  t: Float64Array.from({ length: n }, (_, k) => k / n),
  v: Float64Array.from({ length: n }, (_, k) => Math.sin(k) * k),
});

test("the least and greatest value of every column of pixels stay", () => {
  const { t, v } = wave(100_000);
  const drawn = decimate({ t, v }, [0, 1], 500);
  for (let column = 0; column < 500; column += 1) {
    const within = v.subarray(column * 200, (column + 1) * 200);
    const pair = [drawn[2 * column]!, drawn[2 * column + 1]!];
    assert.equal(Math.min(...pair), Math.min(...within));
    assert.equal(Math.max(...pair), Math.max(...within));
  }
});

test("the pair of a column is in the order of time", () => {
  const samples = { t: Float64Array.of(0.1, 0.2, 0.3), v: Float64Array.of(5, 9, 1) };
  assert.deepEqual(decimate(samples, [0, 1], 1), [9, 1]);
});

test("columns without a sample are empty, so that lines pass over them", () => {
  const samples = { t: Float64Array.of(0.05, 0.95), v: Float64Array.of(1, 2) };
  const drawn = decimate(samples, [0, 1], 10);
  assert.equal(drawn.filter((value) => value === null).length, 16);
});

test("a line that crosses the edges of the range is cut there", () => {
  const samples = { t: Float64Array.of(0, 10), v: Float64Array.of(0, 100) };
  const drawn = decimate(samples, [4, 6], 10);
  assert.equal(drawn[0], 40);
  assert.equal(drawn.at(-1), 60);
});

test("nothing is drawn before the first sample and after the last", () => {
  const samples = { t: Float64Array.of(4, 5), v: Float64Array.of(1, 1) };
  const drawn = decimate(samples, [0, 10], 10);
  assert.equal(drawn[0], null);
  assert.equal(drawn.at(-1), null);
});

test("an empty series is empty", () => {
  assert.ok(decimate({ t: new Float64Array(0), v: new Float64Array(0) }, [0, 1], 5).every((value) => value === null));
});

test("times of the grid ascend within the range", () => {
  const times = grid([2, 4], 4);
  assert.equal(times.length, 8);
  assert.ok(times.every((time, n) => time > 2 && time < 4 && (n === 0 || time > times[n - 1]!)));
});
