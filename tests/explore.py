"""`make explore`: the properties of the suite on fresh examples, one seed a round.

``python tests/explore.py [--rounds N] [--seed S] [pytest arguments]``. A find is printed with the
seed that gives it again, and belongs into its test as an ``@example``. Exit status 1 when there was
one.
"""

import argparse
import os
import secrets
import subprocess
import sys

FOUND = """
explore: seed {seed} fails. See it again with

    {command}

Hypothesis printed the smallest example above: put it into the test as an @example(...) and fix
what it shows. It then runs in every `make test`."""


def explore(seed: int, chosen: list[str]) -> bool:
    """Run one round over all properties; return whether all were true. String hashes differ by the
    seed, too.
    """
    arguments = f"--rounds 1 --seed {seed} {' '.join(chosen)}".strip()
    environment = {
        **os.environ,
        "LOOMCARD_EXAMPLES": "explore",
        "PYTHONHASHSEED": str(seed % 2**32),
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "hypothesis and not cluster and not docker",
         "-p", "no:cacheprovider", f"--hypothesis-seed={seed}", *chosen],
        env=environment, check=False,
    )  # fmt: skip
    if done.returncode:
        print(FOUND.format(seed=seed, command=f"{sys.executable} tests/explore.py {arguments}"))
    return done.returncode == 0


def main() -> int:
    """Run rounds, each with other examples; continue after a find."""
    parser = argparse.ArgumentParser(prog="explore", description="properties on fresh examples")
    parser.add_argument("--rounds", type=int, default=5, help="how many seeds to try (5)")
    parser.add_argument("--seed", type=int, help="the first seed; the next ones count up")
    options, chosen = parser.parse_known_args()
    first = secrets.randbelow(2**31) if options.seed is None else options.seed
    held = [explore(first + number, chosen) for number in range(options.rounds)]
    print(f"explore: {held.count(True)} of {options.rounds} seeds from {first} on held")
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
