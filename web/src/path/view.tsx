/** The path as a picture: hosts, links, queues and flows; each can be chosen, and the form shows what it is made of. */

import type { ComponentChildren } from "preact";

import { COLOURS } from "../run/looks";
import { resolved } from "../scenario/document";
import { chosen, isChosen, type Element } from "./chosen";
import { LANE, layout, type Place, type Trail, type Wire } from "./layout";
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
  const choose = (): void => void (chosen.value = of);
  const press = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose();
  };
  return (
    <g role="button" tabIndex={0} class={`choice ${of.kind}`} aria-pressed={isChosen(of)} aria-label={label} onClick={choose} onKeyDown={press}>
      <title>{label}</title>
      {children}
    </g>
  );
}

function NodeShape({ node: { name, x, y } }: { node: Place }) {
  return (
    <g class="node">
      <circle cx={x} cy={y} r={7} />
      <text x={x} y={y + 22}>{name}</text>
    </g>
  );
}

function LinkShape({ wire: { link, from, to } }: { wire: Wire }) {
  const { name, forward, reverse } = link;
  const [x, y] = [(from.x + to.x) / 2, (from.y + to.y) / 2];
  const ends = { x1: from.x, y1: from.y, x2: to.x, y2: to.y };
  return (
    <Choice of={{ kind: "link", name }} label={`Link ${name}: ${direction(forward)}; back: ${direction(reverse)}`}>
      <line class="wide" {...ends} />
      <line class="wire" {...ends} />
      <QueueShape isFed={forward.rate_bps !== null} x={from.x + 0.3 * (to.x - from.x)} y={from.y + 0.3 * (to.y - from.y)} />
      <text class="name" x={x} y={y + 22}>{algorithm(forward.qdisc)}, {rate(forward.rate_bps)}</text>
      <text x={x} y={y + 36}>{name}, {delay(forward.delay_ms)}</text>
    </Choice>
  );
}

/** Packets that wait: several where there is a rate to wait for. */
function QueueShape({ isFed, x, y }: { isFed: boolean; x: number; y: number }) {
  return (
    <g class="queue">
      <rect x={x - 16} y={y - 9} width={32} height={18} rx={2} />
      {(isFed ? [0, 1, 2] : [0]).map((n) => <rect key={n} class="packet" x={x + 7 - 8 * n} y={y - 5} width={5} height={10} />)}
    </g>
  );
}

function FlowShape({ trail: { flow, lane, places } }: { trail: Trail }) {
  const [first, tip] = [places[0], places.at(-1)];
  const before = places.at(-2);
  if (!first || !tip || !before) return null;
  const lift = 18 + lane * LANE;
  const points = places.map(({ x, y }) => `${x},${y - lift}`).join(" ");
  const toLeft = tip.x < before.x;
  const isPing = flow.app === "ping";
  const what = flow.cc || flow.app;
  const name = `${flow.count > 1 ? `${flow.count} × ` : ""}${flow.name === what ? what : `${flow.name}: ${what}`}`;
  return (
    <Choice of={{ kind: isPing ? "ping" : "flow", name: flow.name }} label={`${isPing ? "Ping" : "Flow"} ${name}`}>
      <g class={`trail ${colour(what)}`}>
        <polyline class="wide" points={points} />
        <polyline class="line" points={points} />
        <path d={`M${tip.x},${tip.y - lift} l${toLeft ? 8 : -8},-4 v8 z`} />
        <text x={first.x + (toLeft ? -8 : 8)} y={first.y - lift - 3} class={toLeft ? "end" : ""}>{name}</text>
      </g>
    </Choice>
  );
}

/** The controller's colour, as in the charts. */
function colour(what: string): string {
  return COLOURS.find((one) => what.startsWith(one)) ?? "other";
}
