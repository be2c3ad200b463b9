/** A question of the gallery, as its file in web/gallery declares it. */

import { parse } from "smol-toml";

/** One of the scenarios that are run beside each other: the question's own, with these overrides. */
export type Side = { id: string; label: string; set?: Record<string, string> };

/** A number that each side has, by its place in summary or queues: `flow.cubic.goodput_mbps`. */
export type Measure = {
  id: string;
  label: string;
  of: string;
  /** What it is divided by. */
  over?: string;
  /** `%` of a share of 1. */
  unit?: string;
  /** Whether it is a column of the table; the others serve the answer alone. */
  shown?: boolean;
};

/** A sentence of the answer, said when a condition of `side.measure` holds; `otherwise` when it does not. */
export type Sentence = { when: string; say: string; otherwise: string };

export type Question = {
  id: string;
  title: string;
  about: string;
  /** What to look at, and why. */
  look: string;
  scenario: string;
  side: Side[];
  measure: Measure[];
  answer: Sentence[];
  /** One curve of each side, by the panel that has it. */
  chart: { title: string; panel: string; curve: string };
};

export function read(id: string, text: string): Question {
  return { id, ...(parse(text) as Omit<Question, "id">) };
}
