import assert from "node:assert/strict";
import { test } from "node:test";

import type { Tables } from "../src/engine/engine";
import { complete } from "../src/editor/complete";

const TABLES = {
  qdiscs: [{ name: "dualpi2", summary: "L4S", reference: "", parameters: [{ name: "step_thresh", value: "TIME", default: "1ms", doc: "", tc: true }] }],
  controllers: [{ name: "prague", summary: "", reference: "", parameters: [] }],
  apps: [],
  schema: {
    properties: {
      duration: { $ref: "#/$defs/Time" },
      link: { items: { $ref: "#/$defs/Link" }, type: "array" },
      flow: { items: { properties: { cc: { type: "string" }, tcp: { $ref: "#/$defs/Tcp" } } }, type: "array" },
      tcp: { $ref: "#/$defs/Tcp" },
    },
    $defs: {
      Time: { type: "string" },
      Link: { properties: { qdisc: { type: ["string", "null"] }, reverse: { anyOf: [{ properties: { delay: { type: "string" } } }, { type: "null" }] } } },
      Tcp: { properties: { ecn: { oneOf: [{ const: "accecn", type: "string" }, { enum: ["off", "sce"], type: "string" }] } } },
    },
  },
} as unknown as Tables;

/** Labels at `|`. */
function labels(marked: string): string[] | undefined {
  return complete(marked.replace("|", ""), marked.indexOf("|"), TABLES)?.proposals.map(({ label }) => label);
}

test("keys are those of the table", () => {
  assert.deepEqual(labels("du|"), ["duration", "link", "flow", "tcp"]);
  assert.deepEqual(labels("[[link]]\nq|"), ["qdisc", "reverse"]);
  assert.deepEqual(labels("[[link]]\n[link.reverse]\n|"), ["delay"]);
});

test("headers are tables of the file", () => {
  assert.deepEqual(labels("a = 1\n[[li|"), ["link", "flow", "tcp"]);
});

test("values are algorithms, their parameters, or values of the schema", () => {
  assert.deepEqual(labels('[[link]]\nqdisc = "du|'), ["dualpi2"]);
  assert.deepEqual(labels('[[link]]\nqdisc = "dualpi2 st|'), ["step_thresh"]);
  assert.deepEqual(labels('[[flow]]\ncc = "|'), ["prague"]);
  assert.deepEqual(labels('[tcp]\necn = "|'), ["accecn", "off", "sce"]);
  assert.deepEqual(labels('[[flow]]\ntcp.ecn = "|'), ["accecn", "off", "sce"]);
});

test("nothing is proposed after a value", () => assert.equal(labels("duration = 5 |"), undefined));
