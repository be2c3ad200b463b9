/** A run: its curves while it goes on, its queue over time, and what it came to. */

import { useMemo, useState } from "preact/hooks";

import type { RunRecord } from "../runs";
import { RunCharts, useDrawn } from "./charts";
import { Facts } from "./facts";
import { bottleneck, queueRows } from "./glance";
import { Palette } from "./looks";
import { patterns } from "./panels";
import { Progress } from "./progress";
import { Queue } from "./queue";
import { RunTables } from "./tables";
import { TimeAxis } from "./time";
import { TimeBar } from "./timebar";
import "./run.css";

export function RunView({ run }: { run: RunRecord }) {
  const axis = useMemo(() => new TimeAxis(), [run]);
  const palette = useMemo(() => new Palette(), [run]);
  const [more, setMore] = useState<readonly string[]>([]);
  const version = useDrawn(run);
  const output = run.output.value;
  const port = (output && bottleneck(queueRows(output))?.name) ?? run.recording.ports()[0];
  return (
    <article class="run" aria-label={run.label} data-status={run.status.value}>
      <Progress run={run} />
      {output && <Facts output={output} />}
      <TimeBar axis={axis} end={run.nowS} />
      <RunCharts run={run} axis={axis} more={more} palette={palette} version={version} />
      {version > 0 && <MoreSeries run={run} chosen={more} choose={setMore} />}
      {version > 0 && port && <Queue run={run} axis={axis} version={version} port={port} palette={palette} />}
      {output && <RunTables output={output} />}
    </article>
  );
}

type MoreSeriesProps = { run: RunRecord; chosen: readonly string[]; choose: (patterns: readonly string[]) => void };

function MoreSeries({ run, chosen, choose }: MoreSeriesProps) {
  const offered = patterns(run.recording).filter((pattern) => !chosen.includes(pattern));
  return (
    <p class="more-series no-print">
      <label>
        Draw a further series{" "}
        <select value="" onChange={(event) => choose([...chosen, event.currentTarget.value])}>
          <option value="">choose …</option>
          {offered.map((pattern) => <option key={pattern}>{pattern}</option>)}
        </select>
      </label>
      {chosen.map((pattern) => (
        <button key={pattern} type="button" class="button" onClick={() => choose(chosen.filter((one) => one !== pattern))}>
          {pattern} <span aria-hidden="true">×</span><span class="visually-hidden">remove</span>
        </button>
      ))}
    </p>
  );
}
