/** Where nodes, links and flows of a scenario stand in its picture: a chain in one row, routes beside each other in several. */

import type { FlowOutline, LinkOutline, Outline } from "../engine/engine";

export const STEP_X = 190;
/** A link with its two lines of text, without the flows above it. */
const ROW = 62;
const MARGIN_X = 44;
const MARGIN_Y = 10;
/** How far from a node a link leaves or reaches its row. */
const ELBOW = 22;
/** Flows are above the links that they cross, each in a lane, with its name; more flows than lanes share them. */
export const LANE = 14;
const LANES = 12;
/** Of the lowest lane above its link. */
const LIFT = 18;

export type Point = { readonly x: number; readonly y: number };
export type Node = Point & { readonly name: string };
/** A link: forward along its points; the middle and a third of its level part. */
export type Wire = { link: LinkOutline; points: readonly Point[]; middle: Point; queue: Point };
/** A flow along the points of each of its paths, in the direction of its data. */
export type Trail = { flow: FlowOutline; paths: readonly (readonly Point[])[] };
export type Picture = { width: number; height: number; nodes: readonly Node[]; wires: readonly Wire[]; trails: readonly Trail[] };

/** A link between nodes by their numbers, in a row. */
type Edge = { link: LinkOutline; from: number; to: number; row: number };

export function layout({ nodes, links, flows, pings }: Outline): Picture {
  const names = nodes.length > 0 ? nodes : chain(links.length);
  const ends = links.map((link, n) => ({ link, from: link.ends?.[0] ?? n, to: link.ends?.[1] ?? n + 1 }));
  const columns = columnsOf(names.length, ends);
  const rows = rowsOf(columns);
  const edges = inRows(ends, columns, rows);
  const trails = [...flows, ...pings];
  const above = LIFT + Math.min(trails.length, LANES) * LANE;
  const y = (row: number): number => MARGIN_Y + above + row * (ROW + above);
  const places = names.map((name, n) => ({ name, x: MARGIN_X + columns[n]! * STEP_X, y: y(rows[n]!) }));
  const wires = edges.map(({ link, from, to, row }) => wire(link, places[from]!, places[to]!, y(row)));
  return {
    width: 2 * MARGIN_X + Math.max(0, ...columns) * STEP_X,
    height: y(Math.max(0, ...rows, ...edges.map(({ row }) => row))) + ROW - MARGIN_Y,
    nodes: places,
    wires,
    trails: trails.map((flow, n) => ({
      flow,
      paths: flow.paths.map((path) => along(flow, path, wires, LIFT + (n % LANES) * LANE)).filter((points) => points.length > 1),
    })),
  };
}

/** Names of the ends of a chain; what is in between has none. */
function chain(links: number): string[] {
  return Array.from({ length: links + 1 }, (_, n) => (n === 0 ? "senders" : n === links ? "receivers" : ""));
}

/** Links on the longest way from a node that no link leads to; a circle is cut where it would go on for ever. */
function columnsOf(nodes: number, edges: readonly { from: number; to: number }[]): number[] {
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

/** A link is in the lower row of its ends, or the first one below in which no node and no other link is in its way. */
function inRows(ends: readonly Omit<Edge, "row">[], columns: readonly number[], rows: readonly number[]): Edge[] {
  const taken = new Set(columns.map((column, node) => place(column, rows[node]!)));
  const found = new Map<Omit<Edge, "row">, Edge>();
  for (const edge of [...ends].sort((a, b) => span(a, columns).length - span(b, columns).length)) {
    const between = span(edge, columns);
    let row = Math.max(rows[edge.from]!, rows[edge.to]!);
    while (between.some((column) => taken.has(place(column, row)))) row += 1;
    for (const column of between) taken.add(place(column, row));
    found.set(edge, { ...edge, row });
  }
  return ends.map((edge) => found.get(edge)!);
}

/** What lies between the columns of a link's ends: columns, and the gaps beside them as halves. */
function span({ from, to }: Omit<Edge, "row">, columns: readonly number[]): number[] {
  const [first, last] = [columns[from]!, columns[to]!].sort((a, b) => a - b) as [number, number];
  return Array.from({ length: Math.max(2 * (last - first) - 1, 1) }, (_, n) => first + 0.5 + n / 2);
}

function place(column: number, row: number): string {
  return `${column},${row}`;
}

/** Level at `y`, from one node to the other. */
function wire(link: LinkOutline, from: Point, to: Point, y: number): Wire {
  const aside = to.x >= from.x ? ELBOW : -ELBOW;
  const level = [...(from.y === y ? [] : [{ x: from.x + aside, y }]), ...(to.y === y ? [] : [{ x: to.x - aside, y }])];
  return {
    link,
    points: [from, ...level, to],
    middle: { x: (from.x + to.x) / 2, y },
    queue: { x: from.x + 0.3 * (to.x - from.x), y },
  };
}

/** Along the links of a path, that far above them; data that go up come from its far end. */
function along({ up }: FlowOutline, path: FlowOutline["paths"][number], wires: readonly Wire[], lift: number): Point[] {
  const found: Point[] = [];
  for (const { link, forward } of path) {
    const points = wires[link]?.points ?? [];
    found.push(...(forward ? points : [...points].reverse()).slice(found.length === 0 ? 0 : 1));
  }
  return (up ? found.reverse() : found).map(({ x, y }) => ({ x, y: y - lift }));
}
