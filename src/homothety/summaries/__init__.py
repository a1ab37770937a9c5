"""From many sampled partitions to one answer, and how sure it is."""

from homothety.summaries.partitions import (
    coclustering,
    expected_vi,
    minimise_expected_vi,
    relabel_by_size,
)

__all__ = ["coclustering", "expected_vi", "minimise_expected_vi", "relabel_by_size"]
