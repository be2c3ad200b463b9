/** What the server runs for this page, or ran for an earlier one. */

import type { Job } from "../engine/http";
import { plural, progress, when } from "./format";

export type JobsProps = {
  jobs: readonly Job[];
  cancel: (job: Job) => void;
  pause: (job: Job) => void;
  resume: (job: Job) => void;
  /** Follows a job of one run, or shows the results of one. */
  open: (job: Job) => void;
};

export function JobsView({ jobs, ...act }: JobsProps) {
  if (jobs.length === 0) return <p class="hint">No jobs yet. What you run goes on when the page is closed.</p>;
  return (
    <ul class="serve-jobs">
      {jobs.map((job) => (
        <JobItem key={job.id} job={job} {...act} />
      ))}
    </ul>
  );
}

function JobItem({ job, cancel, pause, resume, open }: { job: Job } & Omit<JobsProps, "jobs">) {
  const isOver = job.status === "done" || job.status === "failed" || job.status === "cancelled";
  const canOpen = isOver ? job.status !== "cancelled" : job.count === 1;
  return (
    <li>
      <p>
        <b>{job.title}</b>{" "}
        <span class="soft">
          {job.engine}, {plural(job.count, "run")}, {when(job.created)}
        </span>
      </p>
      {isOver ? (
        <p class={job.status === "failed" ? "warning error" : "soft"}>{job.error ?? job.status}</p>
      ) : (
        <p>
          <progress max={job.duration_s} value={job.now_s} aria-label={`Progress of ${job.title}`} />{" "}
          <span class="soft">
            {job.status}, {progress(job)}
          </span>
        </p>
      )}
      <p class="tools">
        {canOpen && <Act label={isOver ? "Show" : "Follow"} job={job} act={open} />}
        {!isOver && job.can_pause && job.status === "paused" && <Act label="Resume" job={job} act={resume} />}
        {!isOver && job.can_pause && job.status !== "paused" && <Act label="Pause" job={job} act={pause} />}
        {!isOver && <Act label="Cancel" job={job} act={cancel} />}
      </p>
    </li>
  );
}

function Act({ label, job, act }: { label: string; job: Job; act: (job: Job) => void }) {
  return (
    <button type="button" class="button" aria-label={`${label} ${job.title}`} onClick={() => act(job)}>
      {label}
    </button>
  );
}
