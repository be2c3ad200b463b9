import assert from "node:assert/strict";
import { test } from "node:test";

import { hasCapture, withCapture } from "../src/download/capture";
import { csv } from "../src/download/csv";
import { parquet } from "../src/download/parquet";
import { svg } from "../src/download/svg";
import { Palette } from "../src/run/looks";
import { light } from "../src/run/theme";

const SERIES = [
  { name: "flow.a.rtt", unit: "ms", t: Float64Array.of(0.05, 1), v: Float64Array.of(20, 20.25) },
  { name: "flow.a.ssthresh", unit: "segments", t: Float64Array.of(0.05), v: Float64Array.of(NaN) },
];

test("CSV is long, with a point in every number", () => {
  assert.equal(
    csv(SERIES).join(""),
    "series,unit,t_s,value\nflow.a.rtt,ms,0.05,20.0\nflow.a.rtt,ms,1.0,20.25\nflow.a.ssthresh,segments,0.05,NaN\n",
  );
});

test("small and large numbers have exponents", () => {
  const [, text] = csv([{ name: "x", unit: "1", t: Float64Array.of(0, 1, 2), v: Float64Array.of(2.65e-6, 1e17, 0.001) }]);
  assert.deepEqual(text!.trim().split("\n").map((line) => line.split(",").at(-1)), ["2.65e-6", "1e17", "0.001"]);
});

test("a name with a comma is quoted", () => {
  const [, line] = csv([{ name: 'a,"b', unit: "1", t: Float64Array.of(0), v: Float64Array.of(1) }]);
  assert.equal(line, '"a,""b",1,0.0,1.0\n');
});

test("Parquet begins and ends as the format says", () => {
  const bytes = new Uint8Array(parquet(SERIES));
  const mark = (at: number): string => String.fromCharCode(...bytes.subarray(at, at + 4));
  assert.equal(mark(0), "PAR1");
  assert.equal(mark(bytes.length - 4), "PAR1");
});

test("SVG has a path for each line, and names are text whatever they hold", () => {
  const curves = [{ name: "<a&b>", kind: "", t: Float64Array.of(0, 1, 2), v: Float64Array.of(1, 3, 2) }];
  const lines = new Palette().lines(curves, false);
  const picture = svg('x "y"', [{ title: "Goodput", unit: "Mbit/s", lines, fromZero: true }], [0, 2], light());
  assert.match(picture, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
  assert.equal(picture.match(/<path d="M/g)?.length, 1);
  assert.ok(picture.includes("&lt;a&amp;b&gt;"));
  assert.ok(!picture.includes("<a&b>"));
  assert.ok(!/NaN|undefined|Infinity/.test(picture));
});

test("a capture is added to a scenario that has none", () => {
  const toml = 'name = "x"\n\n[[link]]\nname = "bneck"\n';
  assert.ok(!hasCapture(toml));
  const more = withCapture(toml, "bneck.reverse");
  assert.ok(hasCapture(more));
  assert.match(more, /points = \[\{ link = "bneck", at = \["out", "drop"\], direction = "reverse" \}\]/);
});
