"""A simulated Saleor Dashboard at ``/dashboard/``: apps in their frames, orders with payments and widgets.

Everything that an app can observe works as in the real Dashboard (Saleor contract, B.2.6): the frame's sandbox and URL,
the messages and their order, and widgets loaded by POST. Everything else is minimal, and labelled as simulated.
"""
