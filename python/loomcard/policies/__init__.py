"""The scheduling policies that come with Loomcard."""
