"""Fuzzing of what strangers, the gateway and Saleor send, before anybody knows what it is: ``python -m tests.fuzz``."""
