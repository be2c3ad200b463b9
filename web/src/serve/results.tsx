/** Results on the server's disk: sets, the runs of one, and what can be done with them. */

import { useState } from "preact/hooks";

import type { ResultRow, ResultSet } from "../engine/http";
import { figure, plural, when } from "./format";

export type SetsProps = {
  sets: readonly ResultSet[];
  open: (set: ResultSet) => void;
  report: (set: ResultSet) => void;
  compare: (a: ResultSet, b: ResultSet) => void;
};

export function SetsView({ sets, open, report, compare }: SetsProps) {
  const [side, setSide] = useState<ResultSet | null>(null);
  if (sets.length === 0) return <p class="hint">No results yet: press Run, or start with a folder that has some.</p>;
  return (
    <ul class="serve-sets">
      {sets.map((set) => (
        <li key={set.path}>
          <button type="button" class="link serve-name" onClick={() => open(set)}>
            {set.shown}
          </button>{" "}
          <span class="soft">
            {plural(set.runs, "run")}, {when(set.changed)}
          </span>{" "}
          <span class="serve-acts">
            <button type="button" class="link" aria-label={`Report of ${set.shown}`} onClick={() => report(set)}>
              report
            </button>
            <CompareButton set={set} side={side} choose={setSide} compare={compare} />
          </span>
        </li>
      ))}
    </ul>
  );
}

type CompareProps = {
  set: ResultSet;
  /** The first of the two, once it is chosen. */
  side: ResultSet | null;
  choose: (side: ResultSet | null) => void;
  compare: (a: ResultSet, b: ResultSet) => void;
};

function CompareButton({ set, side, choose, compare }: CompareProps) {
  const isChosen = side?.path === set.path;
  const act = (): void => {
    choose(side || isChosen ? null : set);
    if (side && !isChosen) compare(side, set);
  };
  const label = side && !isChosen ? `Compare ${side.shown} with ${set.shown}` : `Compare ${set.shown}`;
  return (
    <button type="button" class="link" aria-label={label} aria-pressed={isChosen} onClick={act}>
      {isChosen ? "compare with which?" : side ? "with this one" : "compare"}
    </button>
  );
}

export type RowsProps = {
  title: string;
  rows: readonly ResultRow[];
  count: number;
  errors: readonly string[];
  open: (row: ResultRow) => void;
  /** The rows after these. */
  more: () => void;
};

/** Columns of `sojourn run`'s table, with their units. */
const COLUMNS: readonly [string, string][] = [
  ["goodput_mbps", "Goodput, Mbit/s"],
  ["utilisation", "Utilisation"],
  ["rtt_p50_ms", "RTT p50, ms"],
  ["rtt_p99_ms", "RTT p99, ms"],
  ["sojourn_p99_ms", "Sojourn p99, ms"],
  ["drops", "Drops"],
  ["marks", "Marks"],
  ["retransmits", "Retransmits"],
];

export function RowsView({ title, rows, count, errors, open, more }: RowsProps) {
  return (
    <>
      <h3>{title}</h3>
      {errors.map((error) => (
        <p key={error} class="warning">
          {error}
        </p>
      ))}
      <div class="box" tabIndex={0} role="region" aria-label={title}>
        <table>
          <thead>
            <tr>
              <th class="text">Run</th>
              {COLUMNS.map(([key, heading]) => (
                <th key={key}>{heading}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.path}>
                <th scope="row" class="text">
                  <button type="button" class="link" onClick={() => open(row)}>
                    {row.id}
                  </button>
                  {!row.complete && <span class="soft"> partial</span>}
                </th>
                {COLUMNS.map(([key]) => (
                  <td key={key}>{figure(row[key])}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length < count && (
        <p>
          <button type="button" class="button" onClick={more}>
            {plural(count - rows.length, "more run")}
          </button>
        </p>
      )}
    </>
  );
}
