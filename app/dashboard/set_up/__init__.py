"""From the installation to the first payment."""
