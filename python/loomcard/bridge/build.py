"""Which build of Loomcard runs. It imports nothing else, so that `loomcard --version` is fast."""

from importlib.metadata import version
from importlib.util import find_spec


def build() -> str:
    """Return our version, and whether the hot path is compiled.

    Raises ``PackageNotFoundError`` in a checkout that is not installed.
    """
    hot_path = find_spec("loomcard.model.state")
    plain = hot_path is None or str(hot_path.origin).endswith(".py")
    return version("loomcard") + ("" if plain else ", compiled")
