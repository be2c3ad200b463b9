"""Two result sets beside each other, run by run: a simulation and a testbed, or any two.

`matching` says what is laid beside what, `pairs` is one run on both sides, `effects`, `means` and `chance` are the
statistics, `comparison` is all of it as data, and `terminal` prints it.
"""

from sojourn.compare.comparison import MEASURED, Comparison
from sojourn.compare.matching import ONLY_ONES, SAME_SCENARIO, CompareError, Match, collect, matches, names_of
from sojourn.compare.pairs import QUANTILES, Difference, Flow, Pair, natural, pair_up, spread

__all__ = [
    "MEASURED", "ONLY_ONES", "QUANTILES", "SAME_SCENARIO", "CompareError", "Comparison", "Difference", "Flow", "Match",
    "Pair", "collect", "matches", "names_of", "natural", "pair_up", "spread",
]  # fmt: skip
