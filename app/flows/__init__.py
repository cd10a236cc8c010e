"""What the app does when something happens: one module for each kind, read from top to bottom.

A request of Saleor (``initialize``, ``process_session``, ``actions``), a notification (``notifications``), a look-up
(``resolve``), a person (``staff``). One function commits an intent, calls the gateway and records the outcome
(``execute``): whatever moves money goes through it. The laws of money are kept here.
"""
