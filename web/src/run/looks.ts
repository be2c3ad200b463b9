/** Colours and dashes: a controller keeps its colour in all figures, as in those of `sojourn plot`. */

import { type Curve, label } from "./curves";

/** A colour by its name in tokens.css, and a dash in pixels; none is a whole line. */
export type Look = { readonly colour: Colour; readonly dash: readonly number[]; readonly width: number };
export type Line = Curve & { readonly label: string; readonly look: Look };

export const COLOURS = ["prague", "cubic", "bbr", "reno", "spare", "dctcp", "ink", "ping"] as const;
export type Colour = (typeof COLOURS)[number];

export const DASHES: readonly (readonly number[])[] = [
  [], [7, 3], [2, 2], [9, 3, 2, 3], [4, 2], [12, 4], [2, 5], [5, 2, 2, 2, 2, 2],
]; // prettier-ignore
const WIDTH = 1.7;
const PING: Look = { colour: "ping", dash: DASHES[2]!, width: 1.1 };
/** What curves of these kinds have in the place of their name's. */
const OF_KINDS: Record<string, Partial<Look>> = {
  drops: { dash: DASHES[1]! },
  measured: { dash: [6, 4], width: 1.1 },
};

const OF_CONTROLLERS: Record<string, Colour> = {
  prague: "prague",
  cubic: "cubic",
  reno: "reno",
  bbr: "bbr",
  bbr3: "bbr",
  dctcp: "dctcp",
  "cubic-sce": "bbr",
  "reno-sce": "bbr",
  "dctcp-sce": "dctcp",
  scream: "spare",
};
const FLOWS: readonly Colour[] = ["spare", "bbr", "reno", "dctcp", "cubic", "prague", "ink"];
const QUEUES: readonly Colour[] = ["ink", "spare", "dctcp", "reno", "bbr", "cubic", "prague"];
const RUNS: readonly Colour[] = ["prague", "cubic", "bbr", "reno", "spare", "dctcp", "ink"];

/** The halves of a dual queue, which the queue's picture has in these colours too. */
const L_QUEUES: readonly Colour[] = ["ink", "dctcp", "bbr", "prague"];
const C_QUEUES: readonly Colour[] = ["spare", "reno", "cubic", "ping"];

/** Colours that names keep in all charts of a view; flows, queues and halves of queues are never in one chart. */
export class Palette {
  readonly #flows = new Map<string, Look>();
  readonly #queues = new Map<string, Look>();
  readonly #halves = new Map<string, Look>();

  /** A colour for each curve; dashes tell apart those that share one, drops from marks, and what was measured. */
  lines(curves: readonly Curve[], ofQueues: boolean): Line[] {
    return curves.map((curve) => {
      const { name, kind } = curve;
      const look = kind === "ping" ? PING : ofQueues ? this.#queue(name) : this.#flow(name);
      return { ...curve, label: label(curve), look: { ...look, ...OF_KINDS[kind] } };
    });
  }

  #flow(name: string): Look {
    const own = [OF_CONTROLLERS[name.split("-").slice(0, 2).join("-")], OF_CONTROLLERS[stem(name)]];
    return kept(this.#flows, name, [...own.filter((colour) => colour !== undefined), ...FLOWS]);
  }

  #queue(name: string): Look {
    if (name.endsWith(" L")) return kept(this.#halves, name, L_QUEUES);
    if (name.endsWith(" C")) return kept(this.#halves, name, C_QUEUES);
    return kept(this.#queues, name, QUEUES);
  }
}

/** Lines of several runs over each other: a colour for each run, a dash for each flow or queue. */
export function overlaid(runs: readonly { label: string; curves: readonly Curve[] }[]): Line[] {
  const names = [...new Set(runs.flatMap(({ curves }) => curves.map(({ name, kind }) => `${name}\0${kind}`)))];
  return runs.flatMap((run, number) =>
    run.curves.map((curve) => {
      const place = names.indexOf(`${curve.name}\0${curve.kind}`);
      const look = { colour: RUNS[number % RUNS.length]!, dash: DASHES[place % DASHES.length]!, width: WIDTH };
      return { ...curve, label: `${run.label}: ${label(curve)}`, look };
    }),
  );
}

function stem(name: string): string {
  return /^[a-z]+\d?/.exec(name.split("-")[0]!)?.[0] ?? name;
}

/** The first wanted colour that no other name has, else the one that the fewest have, and a dash that tells it from these. */
function kept(looks: Map<string, Look>, name: string, wanted: readonly Colour[]): Look {
  const known = looks.get(name);
  if (known) return known;
  const count = (colour: Colour): number => [...looks.values()].filter((look) => look.colour === colour).length;
  const colour = wanted.reduce((best, one) => (count(one) < count(best) ? one : best));
  const look = { colour, dash: DASHES[count(colour) % DASHES.length]!, width: WIDTH };
  looks.set(name, look);
  return look;
}
