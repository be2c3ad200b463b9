/** This machine: the server's engines, jobs and results. */

import { useEffect } from "preact/hooks";

import type { Job, ResultRow, ResultSet } from "../engine/http";
import { EnginesView } from "./engines";
import { JobsView } from "./jobs";
import { RowsView, SetsView } from "./results";
import { about, client, jobs, list, listed, look, sets } from "./state";
import "./serve.css";

export type ServeProps = {
  /** Name of the engine of the next runs. */
  engine: string;
  choose: (engine: string) => void;
  /** Shows a run that the server stored, by its path. */
  openRun: (path: string) => void;
  /** Goes on with a job under way. */
  follow: (job: Job) => void;
  /** Shows a report, a `Page`, over measured data or over other results. */
  openReport: (path: string, beside?: string) => void;
  /** Says what went wrong. */
  fail: (message: string) => void;
};

export function ServeView({ engine, choose, openRun, follow, openReport, fail }: ServeProps) {
  useEffect(() => void look(true).catch((error: Error) => fail(error.message)), []);
  const known = about.value;
  if (!known) return <p class="hint">This page has no server: `sojourn serve` starts one.</p>;
  const doing = (work: Promise<unknown>): void => void work.catch((error: Error) => fail(error.message));
  const server = client.value!;
  const ask = (what: (id: string) => Promise<Job>) => (job: Job) => doing(what(job.id).then(() => look()));
  const openJob = (job: Job): void => {
    if (job.status !== "done" && job.status !== "failed") follow(job);
    else doing(server.results().then(async (found) => {
      sets.value = found;
      const set = found.find(({ path }) => path === job.path);
      if (set) await list(set);
    }));
  };
  const rows = listed.value;
  return (
    <div class="serve">
      <div>
        <h1>This machine</h1>
        <p class="soft">
          {known.folder}, Sojourn {known.version}. Runs go to {known.out}.
        </p>
      </div>
      <section class="serve-side">
        <EnginesView rows={known.engines} chosen={engine} choose={choose} />
      </section>
      <section>
        <h2>Jobs</h2>
        <JobsView
          jobs={jobs.value}
          cancel={ask((id) => server.cancel(id))}
          pause={ask((id) => server.pause(id))}
          resume={ask((id) => server.resume(id))}
          open={openJob}
        />
        <h2>Results</h2>
        <SetsView
          sets={sets.value}
          open={(set: ResultSet) => {
            listed.value = null;
            doing(list(set));
          }}
          report={({ path }) => openReport(path)}
          compare={(a, b) => openReport(a.path, b.path)}
        />
        {rows && (
          <RowsView
            title={rows.set.shown}
            rows={rows.rows}
            count={rows.count}
            errors={rows.errors}
            open={(row: ResultRow) => openRun(row.path)}
            more={() => doing(list(rows.set))}
          />
        )}
      </section>
    </div>
  );
}
