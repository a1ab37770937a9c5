"""What was found, in the forms other programs take: tables, change points, annotations, moments, colours."""

from homothety.export.changes import to_aeon, to_ruptures
from homothety.export.elan import write_elan
from homothety.export.lookup_tables import write_lookup_tables
from homothety.export.moments import Moments, pooled_moments, write_moments
from homothety.export.tables import action_segments_table, segments_table, write_rows

__all__ = [
    "Moments",
    "action_segments_table",
    "pooled_moments",
    "segments_table",
    "to_aeon",
    "to_ruptures",
    "write_elan",
    "write_lookup_tables",
    "write_moments",
    "write_rows",
]
