"""The core: Saleor's requests become operations at the gateway, the gateway's reports become events for Saleor.

One module for each thing that can happen (``initialize``, ``process_session``, ``actions``, ``notifications``,
``resolve``); between them one ``mapper``, through which everything passes that the gateway reports. The laws of money
are enforced here.
"""
