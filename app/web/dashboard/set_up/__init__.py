"""The setup pages: from the installation to the first payment."""
