"""Point estimates from many draws, and their uncertainty."""

from homothety.summaries.partitions import (
    coclustering,
    expected_vi,
    minimise_expected_vi,
    relabel_by_size,
)

__all__ = ["coclustering", "expected_vi", "minimise_expected_vi", "relabel_by_size"]
