"""Commands for an existing Hadoop: install, uninstall, doctor."""
