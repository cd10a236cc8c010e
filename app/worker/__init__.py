"""Durable jobs: deliver events, process notifications, poll unfinished operations, compare books, sum days.

Every job is claimed in the database for a limited time. A worker that dies loses nothing: its claims expire, and
another worker, or the same one after a restart, takes them over.
"""
