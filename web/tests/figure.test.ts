import assert from "node:assert/strict";
import { test } from "node:test";

import { lineOf, table } from "../src/figure/columns";
import { type Given, LAWS, mean, perSecond, recoveries } from "../src/figure/laws";
import { EMPTY, type Samples } from "../src/run/recording";

const samples = (t: number[], v: number[]): Samples => ({ t: Float64Array.from(t), v: Float64Array.from(v) });

function given(values: Record<string, number>, series: Record<string, Samples> = {}): Given {
  return { value: (name) => values[name]!, series: (name) => series[name] ?? EMPTY, window: [0, 10] };
}

test("50 Mbit/s are 4128 full frames a second", () => assert.equal(Math.round(perSecond(50)), 4128));

test("a mean is of the samples within its ends that are numbers", () =>
  assert.equal(mean(samples([0, 1, 2, 3], [9, 1, NaN, 3]), 1, 3), 2));

test("losses in a burst are one recovery, where the window is least", () => {
  const lost = samples([0, 1, 1.1, 5], [0, 1, 2, 3]);
  const cwnd = samples([1, 1.2, 1.4, 5, 5.3], [20, 8, 9, 20, 10]);
  assert.deepEqual(recoveries(lost, cwnd, 0, 1), [{ t: 1.2, cwnd: 8 }, { t: 5.3, cwnd: 10 }]);
});

test("Reno asks for (k/W)² of the mean window in the second half of a phase", () => {
  const backlog = samples([0, 4, 6, 8], [900, 0, 35, 35]);
  const law = { law: "reno-signals", label: "", k: 1.22, backlog: "b", phases: [[0, 10, 2]] };
  const { v } = LAWS["reno-signals"]!(law, given({ rate_mbps: 50, rtt_ms: 40 }, { b: backlog }));
  assert.equal(v[0], (1.22 / ((perSecond(50) * 0.04 + 35) / 2)) ** 2);
});

test("the coupling is k √p_C and at most 1", () => {
  const law = { law: "coupling", label: "", k: "k", of: "p" };
  assert.deepEqual(LAWS.coupling!(law, given({ k: 2 }, { p: samples([0, 1], [0.01, 0.64]) })).v, [0.2, 1]);
});

test("CUBIC's curve is back at W_max after K, less the round trip that it looks ahead", () => {
  const t = Array.from({ length: 101 }, (_, i) => i / 10), wMax = 100, start = 0.5, rtt = 0.1;
  const k = Math.cbrt((wMax - 70) / 0.4);
  const series = {
    "flow.c.retransmits": samples([0, 0.4, 10], [0, 1, 1]),
    "flow.c.cwnd": samples(t, t.map((at) => (at === start ? 70 : 100))),
    "flow.c.cc.w_max": samples(t, t.map(() => wMax)),
  };
  const curve = LAWS["cubic-curve"]!({ law: "cubic-curve", label: "", flow: "c" }, given({ rtt_ms: 100 }, series));
  const at = curve.t.findIndex((time) => time >= start + k - rtt);
  assert.ok(Math.abs(curve.v[at]! - wMax) < 0.01);
  assert.ok(Math.abs(curve.v[0]! - (0.4 * (rtt - k) ** 3 + wMax)) < 1e-9);
});

test("marks become a share of what the link can carry", () => {
  const { v } = lineOf({ series: "m", label: "", colour: "prague", as: "share", bin: 1 }, samples([0, 1, 2], [0, 41, 41]), 50);
  assert.deepEqual(Array.from(v, (share) => Number(share.toFixed(5))), [Number((41 / perSecond(50)).toFixed(5)), 0]);
});

test("a logarithm has gaps where there is nothing, and another curve's times are none", () => {
  const [t, first, second] = table([samples([0, 1], [0, 2]), samples([0.5], [3])], true, [0, 10]);
  assert.deepEqual(t, [0, 0.5, 1]);
  assert.deepEqual(first, [null, undefined, 2]);
  assert.deepEqual(second, [undefined, 3, undefined]);
});
