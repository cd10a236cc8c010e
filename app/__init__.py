"""The payment app: Saleor's transaction webhooks on one side, the payment gateway on the other, a database between."""

import sys

from app.moved_names import MovedModuleFinder

DISTRIBUTION = "saleor-gateway"
"""The name of the installed command and of the package; the package's version is the app's."""

sys.meta_path.insert(0, MovedModuleFinder())
