"""The ResourceManager that a ``loomcard policy`` command is to change."""

from __future__ import annotations

from getpass import getuser
from pathlib import Path

from loomcard.cli.output import ClusterKind
from loomcard.cluster import embedded
from loomcard.cluster.rm_client import AddressError, ResourceManagerClient


def resource_manager(
    on: ClusterKind, rm: str | None, user: str | None, token_file: Path | None
) -> ResourceManagerClient:
    """Return the ResourceManager that the options name. Raises AddressError if they name none."""
    if on is ClusterKind.LOCAL:
        return embedded.resource_manager(rm, user or getuser(), token_file)
    if rm is not None or token_file is not None:
        raise AddressError(
            "--on docker names the compose cluster, whose token is known",
            "leave --rm and --token-file (LOOMCARD_RM, LOOMCARD_TOKEN_FILE) out, or --on",
        )
    from loomcard.cluster.compose import ComposeCluster  # and with it modules that render and play
    from loomcard.player import play_compose

    cluster = ComposeCluster.here()
    if user is None:
        return play_compose.resource_manager(cluster)
    return play_compose.resource_manager(cluster, user)
