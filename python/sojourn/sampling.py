"""Points of the unit cube for a scenario's `[sample]`: a function of method, number, seed and dimensions, for ever.

numpy promises the bits of its generators (NEP 19), but not what its distributions make of them, and SciPy promises
neither for its scrambling; so the bits are used as they are. Of SciPy is the Sobol' sequence itself (direction numbers
of Joe and Kuo 2008), which has no randomness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Bits of a coordinate: those of SciPy's sequence, and few enough that sums with whole numbers are exact.
BITS = 30


def cube(method: str, points: int, seed: int, dimensions: int) -> list[list[float]]:
    """`points` rows of `dimensions` coordinates from 0 to below 1; `method` is `sobol` or `latin-hypercube`.

    Of `sobol` the first rows of more points are those of fewer, where the seed and the dimensions are the same.
    """
    made = _sobol(points, seed, dimensions) if method == "sobol" else _latin_hypercube(points, seed, dimensions)
    rows: list[list[float]] = made.tolist()
    return rows


def label(number: int) -> str:
    """What the point is called in a run's id."""
    return f"p{number:04d}"


def _sobol(points: int, seed: int, dimensions: int) -> NDArray[np.float64]:
    """A digital shift of the sequence: as even as the sequence itself, and another one for every seed."""
    import numpy as np
    from scipy.stats import qmc  # a third of a second, which other scenarios do not need

    # A whole power of two, because SciPy warns of others; ours are warned of with file and line.
    sequence = qmc.Sobol(dimensions, scramble=False, bits=BITS).random_base2((points - 1).bit_length())[:points]
    whole = (sequence * 2**BITS).astype(np.uint64)
    shift = _bits(seed, (1, dimensions))
    made: NDArray[np.float64] = ((whole ^ shift).astype(np.float64) + 0.5) / 2**BITS
    return made


def _latin_hypercube(points: int, seed: int, dimensions: int) -> NDArray[np.float64]:
    """Of each dimension a random order of `points` equal parts, and a random place in each part."""
    import numpy as np

    keys, places = _bits(seed, (2, points, dimensions))
    order = keys.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    made: NDArray[np.float64] = (order + places.astype(np.float64) / 2**BITS) / points
    return made


def _bits(seed: int, shape: tuple[int, ...]) -> NDArray[np.uint64]:
    """Numbers of `BITS` bits."""
    import numpy as np

    raw = np.random.PCG64(seed).random_raw(int(np.prod(shape)))
    return (raw >> np.uint64(64 - BITS)).reshape(shape)
