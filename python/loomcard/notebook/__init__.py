"""The Python API for notebooks and scripts: ``loomcard.simulate``, ``loomcard.replay`` and
``loomcard.check``. docs/simulate/notebooks.md shows all of it at work.
"""

from loomcard.notebook.checks import Checked, check
from loomcard.notebook.replays import Replayed, replay
from loomcard.notebook.results import SimulationResult
from loomcard.notebook.simulation import simulate

__all__ = ["Checked", "Replayed", "SimulationResult", "check", "replay", "simulate"]
