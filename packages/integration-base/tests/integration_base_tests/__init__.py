"""Tests of integration_base; and what the tests of every house stand on: they import it from here."""
