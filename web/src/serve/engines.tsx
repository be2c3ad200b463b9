/** Which engine of the server carries out the next runs. */

import type { EngineRow } from "../engine/http";

export type EnginesProps = {
  rows: readonly EngineRow[];
  chosen: string;
  choose: (name: string) => void;
};

/** What the engines are, by their names. */
const LABELS: Readonly<Record<string, string>> = {
  sim: "The simulator, native: the same bytes as in this page.",
  linux: "Hosts and queues of a real Linux kernel, in virtual time.",
  "linux:sojourn": "Hosts of a real Linux kernel in virtual time, our queues.",
  live: "Hosts of this machine's kernel, our queues, in real time.",
  "live:kernel": "Hosts and queues of this machine's kernel, in real time.",
};

export function EnginesView({ rows, chosen, choose }: EnginesProps) {
  const absent = new Map<string, string[]>();
  for (const { name, available, reason } of rows) {
    if (!available) absent.set(reason, [...(absent.get(reason) ?? []), name]);
  }
  return (
    <>
      <fieldset class="serve-engines">
        <legend>Engine of the next runs</legend>
        {rows.filter(({ available }) => available).map(({ name }) => (
          <label key={name}>
            <input type="radio" name="engine" value={name} checked={name === chosen} onChange={() => choose(name)} />
            <span>
              <b>{name}</b> <span class="soft">{LABELS[name]}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {[...absent].map(([reason, names]) => (
        <details key={reason} class="more soft">
          <summary>Not here: {names.join(", ")}</summary>
          <p>{reason}.</p>
        </details>
      ))}
    </>
  );
}
