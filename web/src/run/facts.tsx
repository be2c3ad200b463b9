/** What a run came to, before any table: the numbers that most questions ask for. */

import type { Output } from "../engine/engine";
import { figure } from "./figure";
import { bottleneck, flowRows, queueRows, total } from "./glance";

export function Facts({ output }: { output: Output }) {
  const flows = flowRows(output);
  const queue = bottleneck(queueRows(output));
  const goodput = total(flows.map(({ goodputMbps }) => goodputMbps));
  const facts: [string, string][] = [
    [figure(goodput), "Mbit/s goodput"],
    [figure(queue?.meanMs), `ms mean queue delay${queue ? ` of ${queue.name}` : ""}`],
    [figure(queue?.p99Ms), "ms p99"],
    [String(queue?.marks ?? 0), "marks"],
    [String(queue?.drops ?? 0), "drops"],
  ];
  return (
    <ul class="tally">
      {facts.map(([value, what]) => <li key={what}><b>{value}</b>{what}</li>)}
    </ul>
  );
}
