"""The sandbox gateway's own books: what it knows and the rules by which it changes. No I/O, no clock, no HTTP."""
