"""Hadoop properties that a policy needs in a job, by the name of a profile: `loomcard submit
--profile coupling`. The user's own definitions override them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from loomcard.cluster.example_jobs import Program, ProgramError

PROFILES: dict[str, dict[str, str]] = {
    "coupling": {
        # The scheduler decides when reduces start: the AM asks for them from the beginning.
        "mapreduce.job.reduce.slowstart.completedmaps": "0",
        "yarn.app.mapreduce.am.job.reduce.rampup.limit": "1",
        # The AM gives up no reduce for maps: reduces start only when their maps have progressed
        # enough. If reduces use all room and a map must run again, it gives one up after half an
        # hour, under any scheduler.
        "mapreduce.job.reducer.unconditional-preempt.delay.sec": "-1",
        "mapreduce.job.reducer.preempt.delay.sec": "1800",
    },
}
TAGS = "mapreduce.job.tags"
REDUCES = "mapreduce.job.reduces"
FIXED = {"pi": 1, "teragen": 0}
"""Examples that set their number of reduces themselves."""
USUAL = ("terasort", "wordcount")
"""Examples that have as many reduces as the property says; MapReduce's default is 1."""


def profile_definitions(
    profile: str, program: Program, definitions: Sequence[str] = ()
) -> list[str]:
    """Return `definitions` (name=value) after those of the profile, with the number of reduces as a
    tag if it is known. Raises ProgramError for an unknown profile.
    """
    own = dict(each.split("=", 1) for each in definitions)
    properties = profile_properties(profile, reduces_of(program, own), own)
    return [f"{name}={value}" for name, value in properties.items()]


def profile_properties(
    profile: str, reduces: int | None, own: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the profile's properties, with the number of reduces as a tag if it is known. The
    job's `own` properties override them. Raises ProgramError for an unknown profile.
    """
    found = PROFILES.get(profile)
    if found is None:
        raise ProgramError(f"no profile {profile!r}", f"there are {', '.join(sorted(PROFILES))}")
    own = dict(own or {})
    tags = [tag for tag in own.get(TAGS, "").split(",") if tag]
    given = any(tag.startswith("reduces=") for tag in tags)
    if profile == "coupling" and reduces and not given:
        own[TAGS] = ",".join([*tags, f"reduces={reduces}"])
    return found | own


def reduces_of(program: Program, own: dict[str, str]) -> int | None:
    """Return how many reduces the job will have; None if that is not known beforehand."""
    if program.name in FIXED:
        return FIXED[program.name]
    if program.name == "sleep":
        return _number_after("-r", program.arguments)
    stated = own.get(REDUCES, "1" if program.name in USUAL else "")
    return int(stated) if stated.isdecimal() else None


def _number_after(option: str, arguments: Sequence[str]) -> int | None:
    for name, value in pairwise(arguments):
        if name == option and value.isdecimal():
            return int(value)
    return None
