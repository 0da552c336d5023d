"""One record for every operator, by family: ``RECORDS``, and names without one in ``RANDOM``.

A module here has a list ``RECORDS`` and may have a set ``RANDOM``: operators whose result is random
or the user's, which tests of their own check.
"""

import importlib
import pkgutil

from tests.ops.record import Record

_families = [
    importlib.import_module(f"{__name__}.{module.name}")
    for module in pkgutil.iter_modules(__path__)
]
_FAMILY_OF = {
    record.op: family.__name__.rpartition(".")[2]
    for family in _families
    for record in family.RECORDS
}
RECORDS: list[Record] = [record for family in _families for record in family.RECORDS]
RANDOM: set[str] = {name for family in _families for name in getattr(family, "RANDOM", ())}


def family_of(record: Record) -> str:
    """The module that has the record."""
    return _FAMILY_OF[record.op]
