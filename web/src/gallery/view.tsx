/** Questions, and the answer to the one that is open. */

import { open } from "../scenario/document";
import { question, tab, view } from "../state";
import { selected, type RunRecord } from "../runs";
import { about as server } from "../serve/state";
import { ask, fileOf, known, type Asked } from "./ask";
import { Comparison } from "./comparison";
import type { Question, Side } from "./entry";
import "./gallery.css";
import { amount } from "./measure";
import { questions } from "./questions";

export function GalleryView() {
  const chosen = questions.find(({ id }) => id === question.value);
  return chosen ? <Answer question={chosen} /> : <Questions />;
}

function Questions() {
  return (
    <div class="gallery">
      <h1>What do you want to know?</h1>
      <p class="lead">
        Queues and congestion control, packet by packet, as Linux does them: simulated {server.value ? "on this machine" : "here, in this page"}. Pick a
        question; it is answered in a second.
      </p>
      <ul class="cards">
        {questions.map(({ id, title, about }) => (
          <li key={id}>
            <a class="card" href={`#q=${id}`}>
              <b>{title}</b>
              <span>{known(id) ?? about}</span>
            </a>
          </li>
        ))}
      </ul>
      <p class="soft">
        Or <button type="button" class="link" onClick={() => (view.value = "lab")}>write a scenario of your own</button>,
        or look through those of <button type="button" class="link" onClick={() => (view.value = "suites")}>published tests</button>.
        Nothing is sent anywhere: the engine runs {server.value ? "on this machine" : "in this page"}.
      </p>
    </div>
  );
}

function Answer({ question: of }: { question: Question }) {
  const asked = ask(of);
  return (
    <article class="asked">
      <nav class="crumbs" aria-label="Other questions">
        <a href="#">All questions</a>
      </nav>
      <h1>{of.title}</h1>
      <Sentences asked={asked} />
      <NumbersTable asked={asked} />
      <Comparison asked={asked} />
      <p class="look"><b>What to look at.</b> {of.look}</p>
    </article>
  );
}

function Sentences({ asked }: { asked: Asked }) {
  if (asked.error.value !== null) return <p class="warning" role="alert">{asked.error.value}</p>;
  const sentences = asked.answer.value;
  if (!sentences) return <p class="verdict" aria-busy="true">{asked.question.about} <Progress asked={asked} /></p>;
  return (
    <p class="verdict" role="status">
      {sentences.map((sentence, n) => (n === 0 ? <b key={n}>{sentence} </b> : <span key={n}>{sentence} </span>))}
    </p>
  );
}

function Progress({ asked }: { asked: Asked }) {
  const runs = [...asked.runs.value.values()];
  const total = asked.question.side.length;
  const share = runs.reduce((sum, run) => sum + (run.durationS.value > 0 ? run.nowS.value / run.durationS.value : 0), 0) / total;
  return <progress max={1} value={share} aria-label="Runs under way" />;
}

function NumbersTable({ asked }: { asked: Asked }) {
  const { question: of } = asked;
  const columns = of.measure.filter(({ shown }) => shown !== false);
  return (
    <div class="box">
      <table class="numbers">
        <caption class="visually-hidden">{of.title}: numbers of each run</caption>
        <thead>
          <tr>
            <th scope="col" class="text">{of.side.length} runs</th>
            {columns.map(({ id, label, unit }) => (
              <th key={id} scope="col">{label}{unit && <span class="soft">, {unit}</span>}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {of.side.map((side) => (
            <tr key={side.id}>
              <th scope="row"><SideLink question={of} side={side} run={asked.runs.value.get(side.id)} /></th>
              {columns.map(({ id, unit }) => (
                <td key={id}>{amount(asked.numbers.value.get(side.id)?.get(id) ?? null, unit)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Opens the side's scenario and its run in the lab. */
function SideLink({ question: of, side, run }: { question: Question; side: Side; run: RunRecord | undefined }) {
  const show = async (): Promise<void> => {
    open(await fileOf(of, side), side.label);
    if (run) selected.value = run.id;
    tab.value = "result";
    view.value = "lab";
  };
  return (
    <button type="button" class="link" title="Open this run in the lab" onClick={() => void show()}>{side.label}</button>
  );
}
