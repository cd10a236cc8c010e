"""Plays the Saleor Dashboard at ``/dashboard/``: apps in their frames, orders with payments and widgets.

What an app can notice of the Dashboard is played as the Dashboard does it (Saleor contract, B.2.6): the frame's sandbox
and address, who says what when, widgets that are posted to. All else is as small as can be, and says that it is played.
"""
