"""Loomcard in a Hadoop that is there already: install, uninstall, and what may be wrong."""
