/** The tables of a run, as `sojourn run` prints them. */

import type { Output } from "../engine/engine";
import { figure } from "./figure";
import { type FlowRow, type QueueRow, flowRows, isBusy, queueRows, total } from "./glance";

export function RunTables({ output }: { output: Output }) {
  const flows = flowRows(output);
  const every = queueRows(output);
  const busy = every.filter(isBusy);
  const { from_s, to_s } = output.summary.measure;
  return (
    <>
      <Flows rows={flows} caption={`Flows. Rates and delays from ${from_s} to ${to_s} s, counts of the whole run.`} />
      <Queues rows={busy.length ? busy : every.slice(0, 1)} />
    </>
  );
}

function Flows({ rows, caption }: { rows: readonly FlowRow[]; caption: string }) {
  const sum = total(rows.map(({ goodputMbps }) => goodputMbps));
  const share = (value: number | null): string => (value === null || !sum ? "–" : `${((100 * value) / sum).toFixed(0)} %`);
  return (
    <div class="box" tabIndex={0} role="group" aria-label="Flows">
      <table class="run-table">
        <caption>{caption}</caption>
        <thead>
          <tr>
            <th scope="col" class="text">flow</th><th scope="col" class="text">carries</th><th scope="col">goodput, Mbit/s</th>
            <th scope="col">share</th><th scope="col" class="text">delay</th><th scope="col">mean, ms</th>
            <th scope="col">p50, ms</th><th scope="col">p99, ms</th><th scope="col">marks</th><th scope="col">retransmits</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row" class="text">{row.name}</th><td class="text">{row.what}</td><td class="a">{figure(row.goodputMbps)}</td>
              <td>{share(row.goodputMbps)}</td><td class="text">{row.delay}</td><td>{figure(row.meanMs)}</td>
              <td>{figure(row.p50Ms)}</td><td>{figure(row.p99Ms)}</td><td>{whole(row.marks)}</td>
              <td>{row.answered ? `${row.answered[0]} of ${row.answered[1]} back` : whole(row.retransmits)}</td>
            </tr>
          ))}
          {rows.filter(({ goodputMbps }) => goodputMbps !== null).length > 1 && (
            <tr><th scope="row" class="text">sum</th><td /><td class="a">{figure(sum)}</td><td colSpan={7} /></tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

function Queues({ rows }: { rows: readonly QueueRow[] }) {
  return (
    <div class="box" tabIndex={0} role="group" aria-label="Queues">
      <table class="run-table">
        <caption>Queues that dropped, marked or delayed something.</caption>
        <thead>
          <tr>
            <th scope="col" class="text">queue</th><th scope="col" class="text">qdisc</th><th scope="col">delay mean, ms</th>
            <th scope="col">p50, ms</th><th scope="col">p99, ms</th><th scope="col">drops</th><th scope="col">marks</th>
            <th scope="col">utilisation</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row" class="text">{row.name}</th><td class="text">{row.qdisc}</td><td class="a">{figure(row.meanMs)}</td>
              <td>{figure(row.p50Ms)}</td><td>{figure(row.p99Ms)}</td><td>{whole(row.drops)}</td><td>{whole(row.marks)}</td>
              <td>{row.utilisation === null ? "–" : `${(100 * row.utilisation).toFixed(1)} %`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function whole(count: number | null): string {
  return count === null ? "–" : String(Math.round(count));
}
