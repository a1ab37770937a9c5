"""What was found, in the forms other programs take: tables, change points, annotations, moments, colours."""

from homothety.export.changes import to_aeon, to_ruptures
from homothety.export.elan import write_elan
from homothety.export.lookup_tables import write_lookup_tables
from homothety.export.moments import Moments, pooled_moments, write_moments
from homothety.export.tables import write_rows

__all__ = [
    "Moments",
    "pooled_moments",
    "to_aeon",
    "to_ruptures",
    "write_elan",
    "write_lookup_tables",
    "write_moments",
    "write_rows",
]
