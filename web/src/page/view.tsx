/** A page (docs/page.schema.json) in the lab, with the tags and classes of report/page.html.j2. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";

import { saveCurves } from "../../../python/sojourn/page/curves.js";
import { contents } from "../../../python/sojourn/page/page.js";
import { Plots, type Run } from "../../../python/sojourn/page/plots.js";
import { ChartView } from "./chart";
import type { Figure, Page, Section } from "./model";
import { ScatterView } from "./scatter";
import { capital, type Numbers, TableView } from "./table";

type Shared = { page: Page; numbers: Numbers; anyCompared: boolean };

function figuresOf(page: Page): Figure[] {
  return page.sections.flatMap((section) => section.figures ?? []).flatMap((row) => row.columns.flat());
}

/** A figure of the model as plots.js draws it. */
export function runOf(figure: Figure): Run {
  const plots = figure.plots.filter((plot) => plot.series?.length).map((plot) => {
    const { unit, range = [0, 1], peak = null, series = [] } = plot;
    const columns = series.map(({ t_s, low, values, side = 0, dash = 0, edge = "", ...rest }) => ({
      ...rest, side, dash, edge, data: values, ...(t_s ? { t: t_s, shape: rest.shape ?? "line", low: low ?? [] } : {}),
    }));
    return [plot.kind, { unit, range, peak, series: columns }] as const;
  });
  return { end: figure.end_s, window: figure.window_s ?? null, plots: Object.fromEntries(plots) };
}

function caption({ page: { sides }, anyCompared }: Shared, { caption: own, compared, window_s }: Figure): string {
  if (own) return own + (window_s ? "; the shaded band is the measuring window" : "");
  const what = compared
    ? `${capital(sides[0])} the thin line, ${sides[1]} the broad pale one of the same colour`
    : anyCompared ? `No ${sides[1]} counterpart` : "Rate and delay over time";
  return `${what}${window_s ? "; the shaded band is the measuring window" : ""}.`;
}

function Picture({ figure, shared, reset }: { figure: Figure; shared: Shared; reset: (run: string) => void }) {
  const number = shared.numbers.get(figure.run);
  return (
    <figure id={`run-${number}`} data-run={figure.run}>
      <h3>{figure.run}</h3>
      <div class="panels">
        {figure.plots.map(({ kind, title }) => (
          <div key={kind} class="plot" data-panel={kind} data-title={title} tabIndex={0} role="group" aria-label={`${title} over time, ${figure.run}`} />
        ))}
      </div>
      <figcaption>
        Figure {number}. {caption(shared, figure)}{" "}
        {figure.data && <><a href={figure.data}>Full series</a>. </>}
        <span class="no-print">
          <button type="button" class="link" data-reset onClick={() => reset(figure.run)}>Reset zoom</button>{" "}
          <button type="button" class="link" data-csv onClick={() => saveCurves(figure.run, runOf(figure), shared.page.sides)}>Save curves as CSV</button>
        </span>
      </figcaption>
    </figure>
  );
}

type PartProps = { section: Section; shared: Shared; reset: (run: string) => void };

function Curves({ section, shared, reset }: PartProps) {
  const { sides = [], figures = [] } = section, style = { "--sides": sides.length };
  const picture = (figure: Figure) => <Picture key={figure.run} figure={figure} shared={shared} reset={reset} />;
  return (
    <details class="more" data-fold={`${section.id}-curves`} open>
      <summary>Curves over time</summary>
      {sides.length === 0 && <div class="figures">{figures.flatMap((row) => row.columns.flat()).map(picture)}</div>}
      {sides.length > 0 && (
        <>
          <div class="beside heads" style={style} aria-hidden="true">{sides.map((side) => <div key={side} class="side">{side}</div>)}</div>
          {figures.map((row, n) => (
            <div key={n} class="beside" style={style}>
              {row.columns.map((column, at) => (
                <div key={at} class="column" data-side={sides[at]}>
                  {column.length ? column.map(picture) : <p class="soft">no {sides[at]} run of {row.condition}</p>}
                </div>
              ))}
            </div>
          ))}
        </>
      )}
    </details>
  );
}

function Part({ section, shared, reset }: PartProps) {
  const { id, heading, text = [], tally, charts = [], tables = [], scatters = [], terms = {}, notes = [] } = section;
  const { page: { sides }, numbers } = shared;
  return (
    <section class="part" id={id} aria-labelledby={`${id}-heading`}>
      <details data-fold={id} open>
        <summary><h2 id={`${id}-heading`}>{heading}</h2></summary>
        {section.question && <p class="question">{section.question}</p>}
        {text.map((sentence, n) => <p key={n} class={n === 0 && !tally ? "lead" : undefined}>{sentence}</p>)}
        {tally && <ul class="tally">{Object.entries(tally).map(([verdict, count]) => <li key={verdict}><b>{count}</b>{verdict}</li>)}</ul>}
        {charts.map((chart, n) => (
          <figure key={n}>
            <h3>{chart.title}</h3>
            <ChartView chart={chart} />
            {chart.note && <figcaption>{capital(chart.note)}.</figcaption>}
          </figure>
        ))}
        {tables.map((table, n) => <TableView key={n} table={table} label={`${heading}: table`} numbers={numbers} />)}
        {scatters.length > 0 && (
          <figure>
            <div class="overview">{scatters.map((scatter, n) => <ScatterView key={n} scatter={scatter} sides={sides} numbers={numbers} />)}</div>
            <figcaption>
              Every flow of every compared run: filled circles TCP Prague, open squares the other flow. On the dashed line {sides[0]}{" "}
              equals {sides[1]}; the RTT axes are logarithmic. Names are of the flows farthest from it, and lead to their curves.
            </figcaption>
          </figure>
        )}
        {section.figures?.length ? <Curves section={section} shared={shared} reset={reset} /> : null}
        {Object.keys(terms).length > 0 && <dl>{Object.entries(terms).map(([term, meaning]) => [<dt>{term}</dt>, <dd>{meaning}</dd>])}</dl>}
        {notes.map((note, n) => <p key={n} class="soft">{note}</p>)}
      </details>
    </section>
  );
}

export function PageView({ page }: { page: Page }) {
  const root = useRef<HTMLDivElement>(null), plots = useRef<Plots | null>(null);
  const shared = useMemo<Shared>(() => {
    const figures = figuresOf(page);
    return { page, numbers: new Map(figures.map(({ run }, n) => [run, n + 1])), anyCompared: figures.some(({ compared }) => compared) };
  }, [page]);
  useEffect(() => {
    const figures = new Map(figuresOf(page).map((figure) => [figure.run, figure]));
    const runs = new Map<string, Run>();
    plots.current = new Plots(uPlot, (name) => {
      const figure = figures.get(name);
      if (figure && !runs.has(name)) runs.set(name, runOf(figure));
      return runs.get(name);
    }, page.sides);
    plots.current.observe(root.current!);
    const nav = root.current!.querySelector<HTMLElement>(".contents");
    const leave = nav && contents(nav);
    return () => {
      plots.current?.leave();
      leave?.();
    };
  }, [page]);
  const reset = (run: string): void => plots.current?.zoom(run, null);
  return (
    <div ref={root}>
      <header class="head">
        <div>
          <h1>{page.title}</h1>
          <p class="lead">{page.lead}</p>
          <p class="soft">{page.intro}</p>
        </div>
      </header>
      <div class="page">
        <nav class="contents" aria-label="Contents">
          <details open>
            <summary>Contents <span class="current" /></summary>
            <ul>{page.sections.map(({ id, heading }) => <li key={id}><a href={`#${id}`}>{heading}</a></li>)}</ul>
          </details>
        </nav>
        <div class="sections">
          {page.errors?.length ? (
            <div class="warning" role="alert"><strong>Left out:</strong><ul>{page.errors.map((line, n) => <li key={n}>{line}</li>)}</ul></div>
          ) : null}
          {page.sections.map((section) => <Part key={section.id} section={section} shared={shared} reset={reset} />)}
        </div>
      </div>
    </div>
  );
}
