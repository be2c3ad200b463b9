import assert from "node:assert/strict";
import { test } from "node:test";

import { curve } from "../src/run/curves";
import { Palette, overlaid } from "../src/run/looks";
import { EMPTY } from "../src/run/recording";

const named = (...names: string[]) => names.map((name) => curve(name, EMPTY));
const looks = (names: string[], ofQueues = false) => new Palette().lines(named(...names), ofQueues).map(({ look }) => `${look.colour} ${look.dash.join()}`);

test("a controller has its colour, and another flow of it another one", () => {
  assert.deepEqual(looks(["prague", "cubic", "prague-2"]), ["prague ", "cubic ", "spare "]);
});

test("lines that share a colour have other dashes", () => {
  const found = looks(Array.from({ length: 20 }, (_, n) => `x${n}`));
  assert.equal(new Set(found).size, 20);
});

test("the halves of a dual queue have their colours whatever else is drawn before", () => {
  const palette = new Palette();
  palette.lines([curve("bneck", EMPTY, "marks")], true);
  assert.deepEqual(palette.lines(named("bneck L", "bneck C"), true).map(({ look }) => look.colour), ["ink", "spare"]);
});

test("what was measured has the colour of what was simulated, dashed", () => {
  const [ours, theirs] = new Palette().lines([curve("prague", EMPTY), curve("prague", EMPTY, "measured")], false);
  assert.equal(ours!.look.colour, theirs!.look.colour);
  assert.deepEqual([ours!.look.dash.length, theirs!.look.dash.length], [0, 2]);
});

test("runs over each other have a colour each, and their flows a dash", () => {
  const lines = overlaid([{ label: "a", curves: named("x", "y") }, { label: "b", curves: named("x", "y") }]);
  assert.deepEqual(lines.map(({ label }) => label), ["a: x", "a: y", "b: x", "b: y"]);
  assert.equal(lines[0]!.look.colour, lines[1]!.look.colour);
  assert.notEqual(lines[0]!.look.colour, lines[2]!.look.colour);
  assert.deepEqual(lines[0]!.look.dash, lines[2]!.look.dash);
});
