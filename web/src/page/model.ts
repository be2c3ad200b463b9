// Written from docs/page.schema.json by `PYTHONPATH=tests python -m test_page`.

/** A report, or a report card. */
export type Page = {
  title: string;
  lead: string;
  sides: [string, string];
  sections: Array<Section>;
  intro?: string;
  errors?: Array<string>;
  schema?: "sojourn/page/1";
};

/** A part of the page; what it has is shown in this order. */
export type Section = {
  id: string;
  heading: string;
  question?: string;
  text?: Array<string>;
  tally?: Record<string, number>;
  tables?: Array<Table>;
  scatters?: Array<Scatter>;
  charts?: Array<Chart>;
  sides?: Array<string>;
  figures?: Array<Row>;
  terms?: Record<string, string>;
  notes?: Array<string>;
};

/** Rows under headings. */
export type Table = {
  id: string;
  columns: Array<Column>;
  groups: Array<Group>;
  caption?: string;
  sides?: [string, string] | null;
};

/** A column of a table. */
export type Column = {
  heading: string;
  kind?: "change" | "name" | "number" | "prose" | "soft" | "text" | "value";
  main?: boolean;
  run?: string;
};

/** Rows that belong together, as those of a run. */
export type Group = {
  rows: Array<Array<Cell | null>>;
  head?: Array<Cell>;
  run?: string;
  note?: string;
};

/** Text; in columns of numbers the number of the results, and that of the other side where there is one. */
export type Cell = {
  text?: string;
  a?: number | null;
  b?: number | null;
  mark?: "" | "contradicted" | "fail" | "far over" | "far under" | "not-run" | "over" | "pass" | "report-only" | "under";
  note?: string;
  hint?: string;
  links?: Record<string, string>;
  section?: string;
};

/** All flows in one picture, on the diagonal where both sides agree. */
export type Scatter = {
  title: string;
  range: [number, number];
  ticks: Array<number>;
  dots: Array<Dot>;
  log?: boolean;
};

/** A flow: the other side across, the results up. */
export type Dot = {
  label: string;
  x: number;
  y: number;
  colour: string;
  is_new?: boolean;
  name?: string;
};

/** Panels that share their axes. */
export type Chart = {
  kind: "dots" | "heat" | "lines" | "pareto";
  title: string;
  x: Axis;
  y: Axis;
  panels: Array<Panel>;
  note?: string;
  scale?: Scale | null;
  legend?: string;
  runs?: number;
};

/** An axis: of numbers, or of words at 0, 1, 2 and so on. */
export type Axis = {
  label: string;
  range: [number, number];
  ticks: Array<[number, string]>;
  log?: boolean;
};

/** Curves in one pair of axes. */
export type Panel = {
  title: string;
  curves: Array<Curve>;
};

/** Marks of one kind. */
export type Curve = {
  name: string;
  colour: string;
  marks: Array<Mark>;
  shape?: number;
  is_joined?: boolean;
  is_front?: boolean;
};

/** One value, with what to say of it where a pointer rests on it. */
export type Mark = {
  x: number;
  y: number;
  label: string;
  colour?: string;
  text?: string;
  low?: number | null;
  high?: number | null;
  faint?: boolean;
};

/** What colours stand for: values of stops at equal distances, low to high. */
export type Scale = {
  label: string;
  ticks: Array<[number, string]>;
  colours: Array<string>;
};

/** Figures beside each other: those of each side or, without sides, of one run. */
export type Row = {
  columns: Array<Array<Figure>>;
  condition?: string;
};

/** The plots of a run. */
export type Figure = {
  run: string;
  end_s: number;
  plots: Array<Plot>;
  window_s?: [number, number] | null;
  compared?: boolean;
  data?: string;
  caption?: string;
};

/** Curves of one kind over the time of a run. */
export type Plot = {
  kind: "completion" | "flight" | "marks" | "rate" | "rtt" | "sequence";
  title: string;
  unit: string;
  series?: Array<Series>;
  range?: [number, number];
  peak?: number | null;
};

/** One curve: values at `t_s`, or at middles of equal steps from 0 to the figure's end; null for gaps. */
export type Series = {
  label: string;
  colour: string;
  values: Array<number | null>;
  side?: 0 | 1;
  dash?: number;
  edge?: "" | "high" | "low";
  t_s?: Array<number>;
  shape?: "bars" | "line" | "points" | "stairs";
  low?: Array<number | null>;
};
