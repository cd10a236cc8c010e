"""The durable jobs: deliver events, process notifications, look up what is not concluded, compare books, sum days.

All work is claimed in the database for a while. A worker that dies loses nothing: its claims run out, and another one,
or the same one after a restart, takes them over.
"""
