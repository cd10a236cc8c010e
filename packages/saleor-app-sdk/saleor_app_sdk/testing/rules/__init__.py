"""Saleor's rules for responses and reports. No I/O, and no clock except the one that is passed in.

``amounts`` calculates amounts, ``coverage`` computes what is paid, ``responses`` parses an app's responses,
``recording`` records them for sessions and actions, ``reports`` does the same for ``transactionEventReport``. All
rules were measured on a running Saleor 3.23.28; ``saleor_app_sdk_tests.testing`` replays those recordings.
"""
