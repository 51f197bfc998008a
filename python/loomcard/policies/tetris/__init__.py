"""The policy `tetris`."""
