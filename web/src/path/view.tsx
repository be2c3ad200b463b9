/** The path as a picture: hosts, links, queues and flows; each can be chosen, and the form shows what it is made of. */

import type { ComponentChildren } from "preact";

import { COLOURS } from "../run/looks";
import { resolved } from "../scenario/document";
import { choose, isChosen, type Element } from "./chosen";
import { layout, type Node, type Point, type Trail, type Wire } from "./layout";
import "./path.css";
import { algorithm, delay, direction, rate } from "./words";

export function PathView() {
  const outline = resolved.value?.outline;
  if (!outline) return null;
  const { width, height, nodes, wires, trails } = layout(outline);
  return (
    <div class="path" tabIndex={0} role="group" aria-label="Path: choose a link or a flow to see its parameters">
      <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height}>
        {wires.map((wire) => <LinkShape key={wire.link.name} wire={wire} />)}
        {trails.map((trail, n) => <FlowShape key={n} trail={trail} />)}
        {nodes.map((node, n) => <NodeShape key={n} node={node} />)}
      </svg>
    </div>
  );
}

/** What can be chosen, by pointer or by key. */
function Choice({ of, label, children }: { of: Element; label: string; children: ComponentChildren }) {
  const press = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose(of);
  };
  return (
    <g role="button" tabindex={0} class="choice" aria-pressed={isChosen(of)} aria-label={label} onClick={() => choose(of)} onKeyDown={press}>
      <title>{label}</title>
      {children}
    </g>
  );
}

function NodeShape({ node: { name, x, y } }: { node: Node }) {
  return (
    <g class="node">
      <circle cx={x} cy={y} r={7} />
      <text x={x} y={y + 22}>{name}</text>
    </g>
  );
}

function LinkShape({ wire: { link, points, middle: { x, y }, queue } }: { wire: Wire }) {
  const { name, forward, reverse } = link;
  const [first, second] = [`${algorithm(forward.qdisc)}, ${rate(forward.rate_bps)}`, `${name}, ${delay(forward.delay_ms)}`];
  return (
    <Choice of={{ kind: "link", name }} label={`Link ${first} ${second}: ${direction(forward)}; back: ${direction(reverse)}`}>
      <polyline class="wide" points={written(points)} />
      <polyline class="wire" points={written(points)} />
      <QueueShape isFed={forward.rate_bps !== null} at={queue} />
      <text class="name" x={x} y={y + 22}>{first}</text>{" "}
      <text x={x} y={y + 36}>{second}</text>
    </Choice>
  );
}

/** Packets that wait: several where there is a rate to wait for. */
function QueueShape({ isFed, at: { x, y } }: { isFed: boolean; at: Point }) {
  return (
    <g class="queue">
      <rect x={x - 16} y={y - 9} width={32} height={18} rx={2} />
      {(isFed ? [0, 1, 2] : [0]).map((n) => <rect key={n} class="packet" x={x + 7 - 8 * n} y={y - 5} width={5} height={10} />)}
    </g>
  );
}

function FlowShape({ trail: { flow, paths } }: { trail: Trail }) {
  if (paths.length === 0) return null;
  const isPing = flow.app === "ping";
  const what = flow.cc || flow.app;
  const name = `${flow.count > 1 ? `${flow.count} × ` : ""}${flow.name === what ? what : `${flow.name}: ${what}`}`;
  return (
    <Choice of={{ kind: isPing ? "ping" : "flow", name: flow.name }} label={`${isPing ? "Ping" : "Flow"} ${name}`}>
      <g class={`trail ${colour(what)}`}>
        {paths.map((points, n) => <PathShape key={n} points={points} name={n === 0 ? name : ""} />)}
      </g>
    </Choice>
  );
}

/** One path of a flow, with an arrow at its end; a name where it begins. */
function PathShape({ points, name }: { points: readonly Point[]; name: string }) {
  const [first, before, tip] = [points[0]!, points.at(-2)!, points.at(-1)!];
  const toLeft = tip.x < before.x;
  return (
    <>
      <polyline class="wide" points={written(points)} />
      <polyline class="line" points={written(points)} />
      <path d={`M${tip.x},${tip.y} l${toLeft ? 8 : -8},-4 v8 z`} />
      {name && <text x={first.x + (toLeft ? -8 : 8)} y={first.y - 3} class={toLeft ? "end" : ""}>{name}</text>}
    </>
  );
}

function written(points: readonly Point[]): string {
  return points.map(({ x, y }) => `${x},${y}`).join(" ");
}

/** The controller's colour, as in the charts. */
function colour(what: string): string {
  return COLOURS.find((one) => what.startsWith(one)) ?? "other";
}
