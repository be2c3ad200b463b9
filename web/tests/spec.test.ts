import assert from "node:assert/strict";
import { test } from "node:test";

import type { Entry, Parameter } from "../src/engine/engine";
import { alternatives, nameOf, settingOf, withSetting } from "../src/form/spec";

const parameter = (name: string, value: string): Parameter => ({ name, value, default: "", doc: "", tc: true });
const [limit, access, flag, version, leaf] = [
  parameter("limit", "PACKETS"),
  parameter("access", "MIN [MAX]"),
  parameter("drop|mark", ""),
  parameter("version", "2019|2020|mainline"),
  parameter("leaf", "{ QDISC }"),
] as const;
const ENTRY: Entry = { name: "q", summary: "", reference: "", parameters: [limit, access, flag, version, leaf] };
const SPEC = "q limit 10p access 1ms 2ms mark leaf { pfifo limit 5 }";

test("a spec is taken apart by its keys", () => {
  assert.equal(nameOf(SPEC), "q");
  assert.equal(settingOf(SPEC, ENTRY, limit), "10p");
  assert.equal(settingOf(SPEC, ENTRY, access), "1ms 2ms");
  assert.equal(settingOf(SPEC, ENTRY, flag), "mark");
  assert.equal(settingOf(SPEC, ENTRY, leaf), "{ pfifo limit 5 }");
  assert.equal(settingOf(SPEC, ENTRY, version), null);
});

test("a change of one parameter leaves the others", () => {
  assert.equal(withSetting(SPEC, ENTRY, access, "3ms"), "q limit 10p mark leaf { pfifo limit 5 } access 3ms");
  assert.equal(withSetting(SPEC, ENTRY, flag, "drop"), "q limit 10p access 1ms 2ms leaf { pfifo limit 5 } drop");
  assert.equal(withSetting(SPEC, ENTRY, limit, null), "q access 1ms 2ms mark leaf { pfifo limit 5 }");
  assert.equal(withSetting("q", ENTRY, version, "2020"), "q version 2020");
});

test("words that a parameter can be are known, placeholders are none", () => {
  assert.deepEqual(alternatives(version), ["2019", "2020", "mainline"]);
  assert.deepEqual(alternatives(flag), ["drop", "mark"]);
  assert.deepEqual(alternatives(parameter("step", "TIME|PACKETS")), []);
});
