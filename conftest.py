"""What the tests of every house stand on, in packages and in tests."""

pytest_plugins = ["integration_base_tests.plugin"]
