/** Every suite's scenarios: found by words, opened and run with one click. */

import { computed, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { runOpen } from "../scenario/carry";
import { open } from "../scenario/document";
import { notice, tab, view } from "../state";
import { count, matching, suites, textOf, type Case, type Section, type Suite } from "./index";
import "./suites.css";

const all = signal<readonly Suite[] | null>(null);
const words = signal("");
const found = computed(() => matching(all.value ?? [], words.value));
/** With so few hits all sections are open. */
const FEW = 40;

export function SuitesView() {
  useEffect(() => {
    suites().then((index) => (all.value = index), (error: Error) => (notice.value = error.message));
  }, []);
  const total = found.value.reduce((sum, suite) => sum + count(suite), 0);
  const isOpen = words.value !== "" && total <= FEW;
  return (
    <div class="suites">
      <h1>Scenarios of published tests</h1>
      <p class="lead">Each runs here as it does on the command line: <code>sojourn run ID</code>.</p>
      <p class="find">
        <label>
          Find <input type="search" value={words} placeholder="prague dualpi2 80ms" onInput={(event) => (words.value = event.currentTarget.value)} />
        </label>
        <span class="soft" role="status">{all.value ? `${total} scenarios` : "loading"}</span>
      </p>
      {found.value.map((suite) => <SuiteBox key={suite.name} suite={suite} isOpen={isOpen} />)}
    </div>
  );
}

function SuiteBox({ suite, isOpen }: { suite: Suite; isOpen: boolean }) {
  return (
    <section class="part">
      <details open={isOpen}>
        <summary><h2>{suite.name} <span class="soft">{suite.heading} ({count(suite)})</span></h2></summary>
        {suite.sections.map((section, n) => <SectionBox key={n} suite={suite.name} section={section} />)}
      </details>
    </section>
  );
}

function SectionBox({ suite, section: { heading, question, cases } }: { suite: string; section: Section }) {
  return (
    <>
      {heading && <h3>{heading}</h3>}
      {question && <p class="question">{question}</p>}
      <ul class="cases">
        {cases.map((one) => <CaseItem key={one.id} suite={suite} of={one} />)}
      </ul>
    </>
  );
}

function CaseItem({ suite, of: { id, description, duration_s, reference } }: { suite: string; of: Case }) {
  const show = async (): Promise<void> => {
    try {
      open(await textOf(suite, id), id);
      tab.value = "result";
      view.value = "lab";
      await runOpen();
    } catch (error) {
      notice.value = (error as Error).message;
    }
  };
  return (
    <li>
      <button type="button" class="link" onClick={() => void show()}>{description}</button>
      <span class="soft"> {id}, {duration_s} s{reference && ", measured"}</span>
    </li>
  );
}
