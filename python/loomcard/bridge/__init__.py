"""The policy process: what answers the ResourceManager over Py4J."""
