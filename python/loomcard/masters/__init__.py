"""What application masters do: when they ask, what runs in which container, when they end.

One model for each kind of application. The simulator runs the models under its clock, the player on
a real ResourceManager; each is a ``Host``.
"""

from loomcard.masters.altruistic import AltruisticMaster
from loomcard.masters.host import Host
from loomcard.masters.mapreduce import MapReduceMaster
from loomcard.masters.master import Master
from loomcard.masters.spark import SparkMaster
from loomcard.workload.scenario import ScenarioApplication

KINDS: dict[str, type[Master]] = {"mapreduce": MapReduceMaster, "spark": SparkMaster}


def model(app: ScenarioApplication, host: Host) -> Master:
    """Return the model of an application's AM."""
    kind = AltruisticMaster if app.asks == "altruistic" else KINDS.get(app.kind, Master)
    return kind(app, host)
