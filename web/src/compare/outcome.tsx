/** What a comparison came to: a sentence, the curves over each other, and every number with its interval. */

import { useMemo } from "preact/hooks";

import { Chart } from "../run/chart";
import { figure } from "../run/figure";
import { overlaid } from "../run/looks";
import { panels } from "../run/panels";
import { Recording } from "../run/recording";
import { TimeAxis } from "../run/time";
import { TimeBar } from "../run/timebar";
import { launch } from "../runs";
import { tab } from "../state";
import type { Comparison } from "./comparison";
import { type Difference, headline, sentence, signed } from "./difference";
import { isDistinct } from "./student";

export function Outcome({ comparison }: { comparison: Comparison }) {
  const { change, labels, seeds } = comparison;
  switch (comparison.status.value) {
    case "running":
      return (
        <p role="status">
          <progress max={2 * seeds} value={comparison.ended.value} aria-label="Runs" /> {comparison.ended.value} of {2 * seeds} runs
        </p>
      );
    case "failed":
      return <p class="warning" role="alert">{comparison.error.value}</p>;
    case "cancelled":
      return <p role="status">Cancelled after {comparison.ended.value} of {2 * seeds} runs.</p>;
    case "done":
      return (
        <>
          <h2>{change.key}: {labels[0].length > 30 ? short(labels)[0] : labels[0]} → {change.value}</h2>
          {headline(comparison.found.value).map((one) => <p key={one.measure.key} class="lead answer">{capital(sentence(one))}.</p>)}
          <Curves comparison={comparison} />
          <Numbers found={comparison.found.value} labels={comparison.labels} />
          <p class="tools no-print">
            {comparison.tomls.map((toml, side) => (
              <button key={side} type="button" class="button" onClick={() => open(comparison, toml, side)}>
                Open the run {side === 0 ? "as it was" : "with the change"}
              </button>
            ))}
          </p>
        </>
      );
  }
}

function open({ change }: Comparison, toml: string, side: number): void {
  if (side === 0) launch(toml, `${change.key} as it was`);
  else launch(toml, `${change.key} = ${change.value}`, { fork: { of: "", changes: [[change.key, change.value]] } });
  tab.value = "result";
}

function Curves({ comparison }: { comparison: Comparison }) {
  const sides = comparison.sides.value!;
  const durationS = sides[0].summary.duration_s;
  const axis = useMemo(() => new TimeAxis(durationS), [comparison]);
  const parts = useMemo(() => {
    const of = sides.map(({ series }) => panels(Recording.of(series), durationS));
    const labels = short(comparison.labels);
    const keys = [...new Set(of.flat().map(({ key }) => key))];
    return keys.map((key) => {
      const both = of.map((found) => found.find((panel) => panel.key === key));
      const panel = both.find((one) => one !== undefined)!;
      return { panel, lines: overlaid(both.map((one, n) => ({ label: labels[n]!, curves: one?.curves ?? [] }))) };
    });
  }, [comparison]);
  return (
    <>
      <TimeBar axis={axis} end={{ value: durationS }} />
      <div class="charts">
        {parts.map(({ panel, lines }) => (
          <Chart key={panel.key} axis={axis} title={panel.title} unit={panel.unit} fromZero={panel.fromZero} lines={lines} />
        ))}
      </div>
      <p class="soft">Curves are of the first seed: {comparison.seeds > 1 ? "the numbers are of all of them." : "so are the numbers."}</p>
    </>
  );
}

function Numbers({ found, labels }: { found: readonly Difference[]; labels: readonly [string, string] }) {
  const heads = short(labels);
  return (
    <div class="box" tabIndex={0} role="group" aria-label="Differences">
      <table class="run-table differences">
        <caption>
          Means over seeds, and the mean of the differences with its 95 % interval (Student's t of paired differences).
          Bold: the interval does not hold 0.
        </caption>
        <thead>
          <tr>
            <th scope="col" class="text">measure</th><th scope="col" class="text">unit</th>
            {heads.map((head, n) => <th key={head} scope="col" title={labels[n]}>{head}</th>)}
            <th scope="col">difference</th><th scope="col">95 % interval</th>
          </tr>
        </thead>
        <tbody>
          {found.map(({ measure, a, b, difference }) => (
            <tr key={measure.key}>
              <th scope="row" class="text">{measure.label}</th><td class="text">{measure.unit}</td>
              <td>{figure(a.mean)}</td><td>{figure(b.mean)}</td>
              <td class={isDistinct(difference) ? "distinct" : ""}>{signed(difference.mean)}</td>
              <td>{difference.low === null || difference.high === null ? "–" : `${signed(difference.low)} … ${signed(difference.high)}`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Queues or controllers without their parameters, which are in the tooltip, where that tells them apart. */
function short(values: readonly [string, string]): [string, string] {
  const [a, b] = values.map((value) => value.split(" ")[0]!) as [string, string];
  return a === b ? [`${a}, as it was`, `${a}, changed`] : [a, b];
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
