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
const MEASURED_DASH = [6, 4];

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

/** Colours that names keep in all charts of a view. */
export class Palette {
  readonly #flows = new Map<string, Colour>();
  readonly #queues = new Map<string, Colour>();
  readonly #dashes = new Map<string, readonly number[]>();

  /** A colour for each curve; dashes tell apart those that share one, drops from marks, and what was measured. */
  lines(curves: readonly Curve[], ofQueues: boolean): Line[] {
    return curves.map((curve) => {
      const colour = ofQueues ? this.#queue(curve.name) : this.#flow(curve);
      return { ...curve, label: label(curve), look: { colour, dash: this.#dash(curve, colour), width: width(curve) } };
    });
  }

  #flow({ name, kind }: Curve): Colour {
    if (kind === "ping") return "ping";
    return kept(this.#flows, name, [OF_CONTROLLERS[name.split("-").slice(0, 2).join("-")], OF_CONTROLLERS[stem(name)], ...FLOWS]);
  }

  #queue(name: string): Colour {
    return kept(this.#queues, name, QUEUES);
  }

  #dash({ name, kind }: Curve, colour: Colour): readonly number[] {
    if (kind === "measured") return MEASURED_DASH;
    if (kind === "drops") return DASHES[1]!;
    if (kind === "ping") return DASHES[2]!;
    const known = this.#dashes.get(name);
    if (known) return known;
    const same = [...this.#flows, ...this.#queues].filter(([, of]) => of === colour).findIndex(([of]) => of === name);
    const dash = DASHES[Math.max(same, 0) % DASHES.length]!;
    this.#dashes.set(name, dash);
    return dash;
  }
}

/** Lines of several runs over each other: a colour for each run, a dash for each flow or queue. */
export function overlaid(runs: readonly { label: string; curves: readonly Curve[] }[]): Line[] {
  const names = [...new Set(runs.flatMap(({ curves }) => curves.map(({ name, kind }) => `${name}\0${kind}`)))];
  return runs.flatMap((run, number) =>
    run.curves.map((curve) => {
      const place = names.indexOf(`${curve.name}\0${curve.kind}`);
      const look = { colour: RUNS[number % RUNS.length]!, dash: DASHES[place % DASHES.length]!, width: 1.6 };
      return { ...curve, label: `${run.label}: ${label(curve)}`, look };
    }),
  );
}

function width({ kind }: Curve): number {
  return kind === "ping" || kind === "measured" ? 1.1 : 1.7;
}

function stem(name: string): string {
  return /^[a-z]+\d?/.exec(name.split("-")[0]!)?.[0] ?? name;
}

/** The first wanted colour that no other name has, else the one that the fewest have. */
function kept(colours: Map<string, Colour>, name: string, wanted: readonly (Colour | undefined)[]): Colour {
  const known = colours.get(name);
  if (known) return known;
  const offered = wanted.filter((colour) => colour !== undefined);
  const used = [...colours.values()];
  const count = (colour: Colour): number => used.filter((one) => one === colour).length;
  const colour = offered.reduce((best, one) => (count(one) < count(best) ? one : best));
  colours.set(name, colour);
  return colour;
}
