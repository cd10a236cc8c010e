"""The heart: Saleor's questions become operations at the gateway, the gateway's word becomes events for Saleor.

One module for each thing that can happen (``initialize``, ``process``, ``act``, ``notify``, ``settle``); between them
one ``mapper``, through which everything goes that the gateway says. The laws of money are kept here.
"""
