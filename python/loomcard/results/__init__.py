"""The results of a run, whichever engine ran it: records, metrics, and the files of a run
folder.
"""
