"""Who reads the ResourceManager's metrics: Prometheus at /prom, or Hadoop's own sinks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from loomcard.install.hadoop_conf import HadoopConf
from loomcard.install.installation import PROMETHEUS_KEY
from loomcard.install.startup import Check

_SINKS_FILE: Final = "hadoop-metrics2.properties"
_SINK: Final = re.compile(r"^\s*(?:\*|resourcemanager)\.sink\.(\w+)\.class\s*[=:]", re.MULTILINE)
_AGENT: Final = "loomcard-doctor"
_ANSWER_S: Final = 10.0


def configured(conf: HadoopConf) -> Iterator[Check]:
    """Return whether /prom will be on, and the sinks to which the daemons push their metrics."""
    if conf.on(PROMETHEUS_KEY):
        said = f"/prom is on, by {conf.place(PROMETHEUS_KEY)}"
    else:
        said = f"/prom is off, so Prometheus reads no metrics: {PROMETHEUS_KEY} is not true"
    yield Check("prometheus", said)
    try:
        text = (conf.folder / _SINKS_FILE).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    sinks = sorted(set(_SINK.findall(text)))
    if sinks:
        yield Check("sinks", f"{', '.join(sinks)}, by {conf.folder / _SINKS_FILE}")


def scraped(url: str, document: dict[str, Any]) -> Check:
    """Return what the ResourceManager at ``url`` has at /prom, and who reads it by its document."""
    import requests  # imported when a ResourceManager is called: a command's help does not need it

    address = f"{url}/prom"
    try:
        answer = requests.get(address, timeout=_ANSWER_S, headers={"User-Agent": _AGENT})
    except requests.RequestException as error:
        return Check("metrics", f"{address}: {type(error).__name__}", "look at the RM's log")
    if answer.status_code in (401, 403):
        return Check("metrics", f"{address} asks who calls: Prometheus needs a ticket or a proxy")
    if answer.status_code != 200:
        said = f"no {address} (HTTP {answer.status_code}), so Prometheus reads no metrics"
        return Check("metrics", f"{said}: {PROMETHEUS_KEY}, of Hadoop 3.3 and later, turns it on")
    lines = [line for line in answer.text.splitlines() if line and not line.startswith("#")]
    if not lines:  # the metrics system publishes between two answers
        return Check("metrics", f"{address} answers, and has no series at this moment")
    said = f"{address}, {len(lines)} series"
    if not any(line.startswith("loomcard_bridge_up") for line in lines) and "bridge" in document:
        return Check("metrics", f"{said}, none of Loomcard's", "the RM's log says why")
    return Check("metrics", f"{said}, {_scrapers(document)}")


def _scrapers(document: dict[str, Any]) -> str:
    ours = [each for each in document.get("scrapers", ()) if each["agent"] != _AGENT]
    if not ours:
        return "read by nobody since the ResourceManager started"
    return "read by " + ", ".join(
        f"{each['agent']} at {each['address']} {each['age_ms'] / 1000:.0f} s ago"
        for each in reversed(ours)
    )
