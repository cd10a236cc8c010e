"""The demo: a Saleor, the app and a gateway, each a process on this machine, and a shop; a payment is played through.

Nothing is pretended: what the timeline tells was read from the records that the processes keep of real HTTP calls, and
every check mark compares two of them.
"""
