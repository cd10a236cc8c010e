"""Ports for servers: nobody gets one that somebody else was given and does not listen on yet."""

import subprocess
import sys

from app.demo.processes import free_port
from integration_base_tests.waiting import LONGEST_WAIT

MANY = 60  # a server may be running on some of the hundred that a process has
GIVES_PORTS = f"""
import sys
from app.demo.processes import free_port
print(*(free_port() for _ in range({MANY})), flush=True)
sys.stdin.read()
"""


def test_no_port_is_given_out_twice() -> None:
    ours = [free_port() for _ in range(MANY)]
    command = [sys.executable, "-c", GIVES_PORTS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        theirs = [int(port) for port in other.stdout.readline().split()]
        other.communicate(timeout=LONGEST_WAIT)
    assert len({*ours, *theirs}) == len(ours) + len(theirs) == 2 * MANY
