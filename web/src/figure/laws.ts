/** Closed forms that live figures draw over runs; the same as in docs/plots. */

import type { Samples } from "../run/recording";
import type { Law } from "./config";

/** A full frame on the wire, bytes. */
export const FRAME = 1514;

/** Growth of CUBIC, RFC 9438 4.1. */
const CUBIC_C = 0.4;

/** What a law is computed from: values of sliders and constants, and what was recorded. */
export type Given = {
  value(name: string): number;
  series(name: string): Samples;
  window: [number, number];
};

export type Line = { t: number[]; v: number[] };

/** Packets per second of a link. */
export function perSecond(rate_mbps: number): number {
  return (rate_mbps * 1e6) / 8 / FRAME;
}

/** Mean of the samples from one time to another. */
export function mean({ t, v }: Samples, from: number, to: number): number {
  let sum = 0, count = 0;
  for (let i = 0; i < t.length; i++) {
    if (t[i]! >= from && t[i]! <= to && Number.isFinite(v[i]!)) {
      sum += v[i]!;
      count += 1;
    }
  }
  return sum / count;
}

/** Where the window is least after each burst of losses, which a burst ends that is `quiet` seconds later. */
export function recoveries(lost: Samples, cwnd: Samples, from: number, quiet: number): { t: number; cwnd: number }[] {
  const bursts: number[] = [];
  let last = -Infinity;
  for (let i = 1; i < lost.t.length; i++) {
    if (lost.t[i]! < from || lost.v[i]! <= lost.v[i - 1]!) continue;
    if (lost.t[i]! - last > quiet) bursts.push(lost.t[i]!);
    last = lost.t[i]!;
  }
  return bursts.flatMap((at) => {
    let least = -1;
    for (let i = 0; i < cwnd.t.length; i++) {
      if (cwnd.t[i]! < at || cwnd.t[i]! > at + quiet) continue;
      if (least < 0 || cwnd.v[i]! < cwnd.v[least]!) least = i;
    }
    return least < 0 || cwnd.t[least] === at ? [] : [{ t: cwnd.t[least]!, cwnd: cwnd.v[least]! }];
  });
}

/** Times of samples from one time to before another: a curve at these needs no columns of its own. */
function within({ t }: Samples, from: number, to: number): number[] {
  return [...t].filter((time) => time >= from && time < to);
}

/** Lines with gaps between them: the last point of each is one. */
function joined(lines: Line[]): Line {
  return { t: lines.flatMap(({ t }) => t), v: lines.flatMap(({ v }) => [...v.slice(0, -1), NaN]) };
}

/** A level: a value times a factor. */
function level({ of, factor = 1 }: Law, { value, window }: Given): Line {
  const at = value(of as string) * (factor as number);
  return { t: [...window], v: [at, at] };
}

/** A bandwidth-delay product, in segments. */
function bdp(_: Law, { value, window }: Given): Line {
  const at = (perSecond(value("rate_mbps")) * value("rtt_ms")) / 1e3;
  return { t: [...window], v: [at, at] };
}

/** A threshold in bytes as the time that the link takes for them, ms. */
function drained({ of }: Law, { value, window }: Given): Line {
  const at = (value(of as string) * 8) / (value("rate_mbps") * 1e3);
  return { t: [...window], v: [at, at] };
}

/** What senders ask for at the mean window that they have in each phase [from, to, flows], times a factor. */
function signals({ phases, backlog, factor = 1 }: Law, { value, series }: Given, share: (window: number) => number): Line {
  const waiting = series(backlog as string), empty = (perSecond(value("rate_mbps")) * value("rtt_ms")) / 1e3;
  return joined((phases as [number, number, number][]).map(([from, to, flows]) => {
    // The second half of a phase, when its flows have found their share.
    const asked = (factor as number) * share((empty + mean(waiting, (from + to) / 2, to)) / flows);
    const t = within(waiting, from, to);
    return { t, v: t.map(() => asked) };
  }));
}

/** Signals per packet at which Reno's mean window is W: (k/W)², with k 1.22 if they are spaced and 1.31 if independent. */
function renoSignals(law: Law, given: Given): Line {
  return signals(law, given, (w) => ((law.k as number) / w) ** 2);
}

/** SCE per packet at which Reno-SCE holds W: 1/(1 + √W), and with the 64th mark CE 1/(1 + √W + W²/512). */
function sceSignals(law: Law, given: Given): Line {
  return signals(law, given, (w) => 1 / (1 + Math.sqrt(w) + (law.with_ce ? w ** 2 / 512 : 0)));
}

/** The coupling of RFC 9332: p_L = k p' of p_C = p'². */
function coupling({ k, of }: Law, { value, series }: Given): Line {
  const { t, v } = series(of as string);
  return { t: [...t], v: [...v].map((p) => Math.min(value(k as string) * Math.sqrt(p), 1)) };
}

/** Reno over a FIFO that holds a BDP: a segment per round trip of W/C is √(W₀² + 2Ct). */
function renoSaw({ flow }: Law, { value, series, window }: Given): Line {
  const rate = perSecond(value("rate_mbps")), least = (rate * value("rtt_ms")) / 1e3;
  const cwnd = series(`flow.${flow as string}.cwnd`), cuts = recoveries(series(`flow.${flow as string}.retransmits`), cwnd, window[0], 1);
  const period = (3 * least ** 2) / (2 * rate);
  return joined(cuts.map(({ t: start }, i) => {
    const t = within(cwnd, start, Math.min(start + period, cuts[i + 1]?.t ?? window[1]));
    return { t, v: t.map((at) => Math.sqrt(least ** 2 + 2 * rate * (at - start))) };
  }));
}

/** CUBIC between losses, RFC 9438 4.2: C(t − K)³ + W_max, a minimum RTT ahead. */
function cubicCurve({ flow }: Law, { value, series, window }: Given): Line {
  const name = `flow.${flow as string}`, rtt = value("rtt_ms") / 1e3, most = series(`${name}.cc.w_max`);
  const all = series(`${name}.cwnd`), cuts = recoveries(series(`${name}.retransmits`), all, window[0], 1);
  return joined(cuts.map(({ t: start, cwnd }, i) => {
    const wMax = mean(most, start + 0.1, start + 0.5), k = Math.cbrt((wMax - cwnd) / CUBIC_C);
    const t = within(all, start, cuts[i + 1]?.t ?? window[1]);
    return { t, v: t.map((at) => CUBIC_C * (at - start + rtt - k) ** 3 + wMax) };
  }));
}

/** By the names that the files of figures use. */
export const LAWS: Record<string, (law: Law, given: Given) => Line> = {
  level, bdp, drained, coupling, "reno-signals": renoSignals, "sce-signals": sceSignals, "reno-saw": renoSaw, "cubic-curve": cubicCurve,
};
