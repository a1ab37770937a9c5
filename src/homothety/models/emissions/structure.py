"""Which dimensions of a step go together, as kernels want it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from homothety.arrays import FloatArray, IntArray


class Structure(NamedTuple):
    """Blocks of dimensions that are independent given the state.

    A step is ``z = (regressors, values)``. The values of a block are neighbours in it, and so are its regressors. Two
    blocks have all regressors in common, or none.
    """

    n_regressors: int
    starts: IntArray  # (n_blocks + 1,) where the values of each block begin in z, and where the last ones end
    regressors: IntArray  # (n_blocks, 2) first regressor of each block, and the one after its last
    dofs: FloatArray  # (n_blocks,) prior degrees of freedom
    weights: FloatArray  # (n_blocks,) of a step in each block, besides the weight that all of them share
