"""A stock scheduler's configuration as a policy configuration: `loomcard policy import`."""

from loomcard.install.convert.capacity import convert_capacity
from loomcard.install.convert.conversion import Conversion, ConversionError, Outcome
from loomcard.install.convert.fair import convert_fair
from loomcard.install.convert.read import convert
from loomcard.install.convert.write import written

__all__ = [
    "Conversion",
    "ConversionError",
    "Outcome",
    "convert",
    "convert_capacity",
    "convert_fair",
    "written",
]
