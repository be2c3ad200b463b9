/** The queue over time: how full it is at the instant, who is in it, and who is marked. */

import { useMemo } from "preact/hooks";

import type { RunRecord } from "../runs";
import { Chart } from "./chart";
import { summed } from "./curves";
import { figure } from "./figure";
import type { Line, Palette } from "./looks";
import { deepest, lanes, marked, occupants } from "./occupancy";
import { binS } from "./panels";
import { valueAt } from "./recording";
import type { TimeAxis } from "./time";

/** Squares of a lane at its fullest. */
const MOST_CELLS = 60;
const CELL = 10;

type QueueProps = { run: RunRecord; axis: TimeAxis; version: number; port: string; palette: Palette };

export function Queue({ run, axis, version, port, palette }: QueueProps) {
  const { recording } = run;
  const output = run.output.value;
  const [inside, signalled] = useMemo(() => {
    const estimated = output ? summed(occupants(recording, output)) : [];
    const marks = summed(marked(recording, binS(run.durationS.peek())));
    return [palette.lines(estimated, false), palette.lines(marks, false)];
  }, [recording, version, output, palette]);
  return (
    <section class="queue" aria-label={`Queue ${port}`}>
      <h3>The queue {port} over time</h3>
      <Instant run={run} axis={axis} port={port} inside={inside} signalled={signalled} />
      <div class="charts">
        {inside.length > 0 && <Chart axis={axis} title={`Who is in ${port} (estimate)`} unit="packets" lines={inside} height={160} />}
        {signalled.length > 0 && <Chart axis={axis} title="Who is marked: CE marks received" unit="packets/s" lines={signalled} height={160} />}
      </div>
      {inside.length > 0 && (
        <p class="soft">
          Estimate, of TCP flows: segments in flight beyond delivery rate × base RTT (
          {figure(output?.summary.conditions.base_rtt_ms?.least)} ms); the squares are what the queue itself counted.
        </p>
      )}
    </section>
  );
}

type InstantProps = { run: RunRecord; axis: TimeAxis; port: string; inside: readonly Line[]; signalled: readonly Line[] };

function Instant({ run, axis, port, inside, signalled }: InstantProps) {
  const at = axis.instant.value ?? run.nowS.value;
  const parts = lanes(run.recording, port, at);
  const most = deepest(run.recording, port);
  const perCell = Math.max(1, Math.ceil(most / MOST_CELLS));
  const cells = Math.max(1, Math.ceil(most / perCell));
  const say = (lines: readonly Line[]): string =>
    lines.map((line) => `${line.label} ${figure(valueAt(line, at))}`).join(", ");
  return (
    <div class="queue-instant">
      {parts.map(({ name, packets, delayMs }) => (
        <figure key={name} class="queue-lane">
          <figcaption>
            {name ? `${name} queue` : port}: <b>{Math.round(packets)}</b> packets, delay <b>{figure(delayMs)}</b> ms
          </figcaption>
          <svg viewBox={`0 0 ${MOST_CELLS * CELL} ${CELL}`} preserveAspectRatio="none" role="img" aria-label={`${packets} of at most ${most} packets`}>
            {Array.from({ length: cells }, (_, n) => (
              <rect key={n} x={n * CELL} width={CELL - 1} height={CELL - 1} class={n * perCell < packets ? `full ${name}` : "free"} />
            ))}
          </svg>
        </figure>
      ))}
      <p class="soft">
        At {at.toFixed(2)} s; {perCell > 1 ? `a square is ${perCell} packets, ` : "a square is a packet, "}
        as many as there ever were ({most}).
        {inside.length > 0 && ` In it, estimated: ${say(inside)}.`}
        {signalled.length > 0 && ` Marks per second: ${say(signalled)}.`}
      </p>
    </div>
  );
}
