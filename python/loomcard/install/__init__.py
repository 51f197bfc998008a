"""Loomcard in an existing Hadoop: install, uninstall, and what may be wrong."""
