"""What a run leaves, whichever engine ran it: records, metrics, and the files of a run folder."""
