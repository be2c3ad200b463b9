/** Where nodes, links and flows of a scenario stand in its picture: a chain in one row, routes beside each other in several. */

import type { FlowOutline, LinkOutline, Outline } from "../engine/engine";

export const STEP_X = 190;
export const STEP_Y = 96;
const MARGIN_X = 44;
const MARGIN_Y = 28;
const BELOW = 46;
/** Flows are above the links that they cross, each in a lane, with its name; more flows than lanes share them. */
export const LANE = 14;
const LANES = 8;

export type Place = { name: string; x: number; y: number };
export type Wire = { link: LinkOutline; from: Place; to: Place };
/** A flow along the places that its data pass. */
export type Trail = { flow: FlowOutline; lane: number; places: readonly Place[] };
export type Picture = {
  width: number;
  height: number;
  nodes: readonly Place[];
  wires: readonly Wire[];
  trails: readonly Trail[];
};

/** A link between nodes by their numbers. */
type Edge = { link: LinkOutline; from: number; to: number };

export function layout({ nodes, links, flows, pings }: Outline): Picture {
  const edges = links.map((link, n) => ({ link, from: link.ends?.[0] ?? n, to: link.ends?.[1] ?? n + 1 }));
  const names = nodes.length > 0 ? nodes : chain(links.length);
  const columns = columnsOf(names.length, edges);
  const rows = rowsOf(columns);
  const trails = [...flows, ...pings];
  const top = MARGIN_Y + Math.min(trails.length, LANES) * LANE;
  const places = names.map((name, n) => ({ name, x: MARGIN_X + columns[n]! * STEP_X, y: top + rows[n]! * STEP_Y }));
  return {
    width: 2 * MARGIN_X + Math.max(0, ...columns) * STEP_X,
    height: top + Math.max(0, ...rows) * STEP_Y + BELOW,
    nodes: places,
    wires: edges.map(({ link, from, to }) => ({ link, from: places[from]!, to: places[to]! })),
    trails: trails.flatMap((flow, n) => flow.paths.map((path) => ({ flow, lane: n % LANES, places: passed(flow, path, edges, places) }))),
  };
}

/** Names of the ends of a chain; what is in between has none. */
function chain(links: number): string[] {
  return Array.from({ length: links + 1 }, (_, n) => (n === 0 ? "senders" : n === links ? "receivers" : ""));
}

/** Links on the longest way from a node that no link leads to; a circle is cut where it would go on for ever. */
function columnsOf(nodes: number, edges: readonly Edge[]): number[] {
  const columns = new Array<number>(nodes).fill(0);
  for (let pass = 0; pass < nodes; pass += 1) {
    for (const { from, to } of edges) {
      if (columns[from]! + 1 < nodes) columns[to] = Math.max(columns[to]!, columns[from]! + 1);
    }
  }
  // A source stands one column before the first node that it leads to, not at the far left of a long path.
  for (let node = 0; node < nodes; node += 1) {
    const next = edges.filter(({ from }) => from === node).map(({ to }) => columns[to]!);
    if (next.length > 0 && edges.every(({ to }) => to !== node)) columns[node] = Math.max(0, Math.min(...next) - 1);
  }
  return columns;
}

/** In each column from the top, in the order of the file. */
function rowsOf(columns: readonly number[]): number[] {
  const filled = new Map<number, number>();
  return columns.map((column) => {
    const row = filled.get(column) ?? 0;
    filled.set(column, row + 1);
    return row;
  });
}

/** The places that a flow's data pass, in their order: those that go up come from the far end of the path. */
function passed({ up }: FlowOutline, path: FlowOutline["paths"][number], edges: readonly Edge[], places: readonly Place[]): Place[] {
  const found: Place[] = [];
  for (const { link, forward } of path) {
    const edge = edges[link];
    if (!edge) continue;
    const [from, to] = forward ? [edge.from, edge.to] : [edge.to, edge.from];
    if (found.length === 0) found.push(places[from]!);
    found.push(places[to]!);
  }
  return up ? found.reverse() : found;
}
