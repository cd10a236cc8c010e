"""The sandbox gateway's state, and the rules by which it changes. No I/O, no clock, no HTTP."""
