/** The view of the server as a part of the page: what its buttons do to the rest. */

import { signal } from "@preact/signals";

import { save } from "../download/save";
import type { Job } from "../engine/http";
import { follow, stored } from "../engine/remote";
import type { Page } from "../page/model";
import { PageView } from "../page/view";
import { launch, type Begin } from "../runs";
import { nameIn } from "../scenario/carry";
import { open } from "../scenario/document";
import { notice, tab, view } from "../state";
import { chosen, client, look } from "./state";
import { ServeView } from "./view";

/** The report that is open, and the path of its results. */
const report = signal<{ page: Page; path: string } | null>(null);

export function ServerView() {
  if (report.value) {
    return (
      <>
        <p class="no-print">
          <button type="button" class="button" onClick={() => (report.value = null)}>
            Back to this machine
          </button>
        </p>
        <div onClick={saveFile}>
          <PageView page={report.value.page} />
        </div>
      </>
    );
  }
  return (
    <ServeView
      engine={chosen.value}
      choose={(name) => (chosen.value = name)}
      openRun={(path) => doing(openRun(path))}
      follow={(job) => doing(goOn(job))}
      openReport={(path, beside) => doing(openReport(path, beside))}
      fail={fail}
    />
  );
}

const fail = (message: string): void => void (notice.value = message);
const doing = (work: Promise<void>): void => void work.catch((error: Error) => fail(error.message));

async function openRun(path: string): Promise<void> {
  const found = await client.value!.show(path);
  if ("run" in found) show(found.run.scenario, (options) => stored(client.value!, path, options));
}

async function goOn(job: Job): Promise<void> {
  const toml = await client.value!.scenario(job.id);
  show(toml, async (options) => {
    const run = await follow(client.value!, job, options);
    void run.done.catch(() => undefined).then(() => look());
    return run;
  });
}

async function openReport(path: string, beside?: string): Promise<void> {
  report.value = { page: (await client.value!.report(path, beside)) as Page, path };
}

/** A report links to files beside it, which the server gives with the token alone. */
function saveFile(event: MouseEvent): void {
  const href = (event.target as Element).closest("a")?.getAttribute("href");
  if (!href || !report.value || /^(#|[a-z]+:)/.test(href)) return;
  event.preventDefault();
  const parts = new URL(href, `http://report/${report.value.path}/`).pathname.split("/").slice(1).map(decodeURIComponent);
  const name = parts.pop() ?? "";
  doing(client.value!.file(parts.join("/"), name).then((bytes) => save(name, [bytes as BlobPart], "application/octet-stream")));
}

/** A run in the lab, and its scenario beside it. */
function show(toml: string, begin: Begin): void {
  const name = nameIn(toml);
  open(toml, name);
  launch(toml, name, { begin });
  tab.value = "result";
  view.value = "lab";
}
