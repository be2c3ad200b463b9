import assert from "node:assert/strict";
import { test } from "node:test";

import { distribution, isDistinct, mean, paired, quantile } from "../src/compare/student";

/** scipy.stats.t.ppf(0.975, n) and scipy.stats.t.cdf(1.5, n). */
const SCIPY: [number, number, number][] = [
  [1, 12.706204736174694, 0.8128329581890011],
  [2, 4.302652729749462, 0.8638034375544994],
  [3, 3.1824463052837078, 0.8847080673775886],
  [4, 2.7764451051977934, 0.896],
  [5, 2.5705818356363146, 0.9030481598787634],
  [9, 2.262157162798205, 0.9160746719714625],
  [10, 2.228138851986274, 0.9177463367772799],
  [29, 2.045229642132703, 0.9277881519798071],
  [30, 2.0422724563012378, 0.927967035435677],
  [100, 1.9839715185235518, 0.9316174709376556],
];

const close = (a: number, b: number, within = 1e-9): void => assert.ok(Math.abs(a - b) <= within * Math.abs(b), `${a} is not ${b}`);

test("quantiles and distribution are those of scipy", () => {
  for (const [freedom, quantile975, below] of SCIPY) {
    close(quantile(0.975, freedom), quantile975);
    close(distribution(1.5, freedom), below);
  }
});

test("quantiles below the middle mirror those above", () => assert.equal(quantile(0.025, 7), -quantile(0.975, 7)));

test("the interval of paired differences is that of scipy.stats.ttest_rel", () => {
  const found = paired([12.1, 12.6, 12.0, 12.9, 11.9], [1.2, 1.0, 1.15, 1.05, 1.1]);
  close(found.mean, -11.2);
  close(found.low!, -11.80670249250266);
  close(found.high!, -10.593297507497338);
  assert.ok(isDistinct(found));
});

test("one value has a mean and no interval", () => {
  assert.deepEqual(mean([3]), { mean: 3, low: null, high: null, n: 1 });
  assert.ok(!isDistinct(mean([3])));
});

test("an interval that holds 0 is not distinct", () => assert.ok(!isDistinct(paired([1, 2, 3], [1.1, 1.9, 3]))));
