import assert from "node:assert/strict";
import { test } from "node:test";

import type { FlowOutline, LinkOutline, Outline } from "../src/engine/engine";
import { STEP_X, layout } from "../src/path/layout";

const DIRECTION = { rate_bps: null, delay_ms: 1, shaper: null, qdisc: "pfifo", ingress: [] };
const link = (name: string, ends: [number, number] | null = null): LinkOutline => ({ name, ends, forward: DIRECTION, reverse: DIRECTION });
const flow = (name: string, links: number[], up = false): FlowOutline => ({
  name, count: 1, cc: "cubic", app: "bulk", up, start_s: 0, paths: [links.map((link) => ({ link, forward: true }))],
}); // prettier-ignore
const outline = (nodes: string[], links: LinkOutline[], flows: FlowOutline[]): Outline => ({ nodes, links, flows, pings: [], changes_s: [] });

test("a chain is one row from the senders to the receivers", () => {
  const { nodes, wires } = layout(outline([], [link("a"), link("b")], [flow("x", [0, 1])]));
  assert.deepEqual(nodes.map(({ name }) => name), ["senders", "", "receivers"]);
  assert.deepEqual(nodes.map(({ x }) => x - nodes[0]!.x), [0, STEP_X, 2 * STEP_X]);
  assert.equal(new Set(nodes.map(({ y }) => y)).size, 1);
  assert.deepEqual(wires[1]!.points[0], wires[0]!.points[1]);
});

test("routes beside each other are rows", () => {
  const links = [link("up1", [0, 1]), link("up2", [0, 2]), link("down1", [1, 3]), link("down2", [2, 3])];
  const { nodes, wires } = layout(outline(["s", "a", "b", "d"], links, []));
  const [s, a, b, d] = nodes;
  assert.deepEqual(wires.map(({ middle }) => middle.y), [a!.y, b!.y, a!.y, b!.y]);
  assert.equal(a!.x, b!.x);
  assert.ok(b!.y > a!.y);
  assert.ok(s!.x < a!.x && a!.x < d!.x);
});

test("a source stands beside the first node that it leads to", () => {
  const links = [link("1", [0, 1]), link("2", [1, 2]), link("3", [3, 2])];
  const { nodes } = layout(outline(["a", "b", "c", "late"], links, []));
  assert.equal(nodes[3]!.x, nodes[1]!.x);
  assert.notEqual(nodes[3]!.y, nodes[1]!.y);
});

test("a circle of links has an end", () => {
  const { nodes, width } = layout(outline(["a", "b"], [link("1", [0, 1]), link("2", [1, 0])], []));
  assert.equal(nodes.length, 2);
  assert.ok(Number.isFinite(width));
});

test("what goes up begins at the far end, and every way of a flow is drawn", () => {
  const both = { ...flow("both", [0]), paths: [[{ link: 0, forward: true }], [{ link: 1, forward: true }]] };
  const { trails, nodes } = layout(outline(["a", "b"], [link("1", [0, 1]), link("2", [0, 1])], [flow("up", [0], true), both]));
  assert.deepEqual(trails[0]!.paths[0]!.map(({ x }) => x), [nodes[1]!.x, nodes[0]!.x]);
  const [two] = trails.filter(({ flow: { name } }) => name === "both");
  assert.equal(two!.paths.length, 2);
});

test("links between the same nodes are below each other", () => {
  const { wires, height } = layout(outline(["a", "b"], [link("1", [0, 1]), link("2", [0, 1])], []));
  assert.ok(wires[1]!.middle.y > wires[0]!.middle.y && wires[1]!.middle.y < height);
});

test("a link past a node is below it", () => {
  const { nodes, wires } = layout(outline(["a", "b", "c"], [link("direct", [0, 2]), link("1", [0, 1]), link("2", [1, 2])], []));
  assert.ok(wires[0]!.middle.y > nodes[1]!.y);
  assert.deepEqual(wires.slice(1).map(({ middle }) => middle.y), [nodes[1]!.y, nodes[1]!.y]);
});

test("everything is inside the picture", () => {
  const flows = Array.from({ length: 20 }, (_, n) => flow(`f${n}`, [0]));
  const { nodes, width, height } = layout(outline([], [link("a")], flows));
  for (const { x, y } of nodes) assert.ok(x > 0 && x < width && y > 0 && y < height);
});
