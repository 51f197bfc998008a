"""Commands for a Hadoop that Loomcard did not bring: install, uninstall, doctor."""
