"""Several daemons that serve one engine together (--fleet): how tests start them, ask them, and wait for them."""
import sys
import time
import unittest

from engine_daemon_test import EngineDaemon, Refused, dynamodb_local, extenddb
from fleet_proxy import Proxy

LEASE_MS = 3000
QUEUE = "/queues/QueueTable"


class EngineFleet(EngineDaemon):
    """Uses the fixture, not its tests (tests_of below)."""

    def setUp(self):
        super().setUp()
        if self.name == "extenddb":
            # It may answer 500 to everything after a client was killed within a request. The proxy reads each answer to its end.
            proxy = Proxy(self.url, seed=0).__enter__()
            self.addCleanup(proxy.__exit__)
            self.url = proxy.url

    def member(self, name, *options, runner="none"):
        daemon = self.daemon(name, "--fleet", "--fleet-lease-ms", str(LEASE_MS), "--create-tables", *options, runner=runner)
        return daemon.start()

    def try_again(self, daemon, method, path, document=None):
        """As a client does: again while nobody serves the queue, or the answer got lost. Tasks have ids of their own."""
        while True:
            try:
                return daemon.call(method, path, document)
            except Refused as refused:
                if refused.status != 503:
                    raise
            except OSError:
                if daemon.process.poll() is not None:
                    raise
            time.sleep(0.02)

    def owner(self, daemons, unit="queue/QueueTable"):
        """The one that serves the unit, by what the others say."""
        while True:
            for daemon in daemons:
                fleet = daemon.call("GET", "/fleet")
                held = [member["id"] for member in fleet["members"] if member["alive"] and unit in member["holds"]]
                if len(held) == 1:
                    for one in daemons:
                        if one.call("GET", "/fleet")["member"] == held[0]:
                            return one
            time.sleep(0.02)

    def depth(self, daemon):
        return self.try_again(daemon, "GET", QUEUE + "/stats")["depth"]

    def until_fleet(self, daemon, members):
        while sum(member["alive"] for member in daemon.call("GET", "/fleet")["members"]) != members:
            time.sleep(0.02)

    def until_shares(self, daemon, shares):
        """Until each member that is alive has that many units."""
        while sorted(len(member["holds"]) for member in daemon.call("GET", "/fleet")["members"] if member["alive"]) != shares:
            time.sleep(0.02)


def tests_of(case):
    """A load_tests that takes the tests of this class, and none of those above it."""
    return lambda loader, *unused: unittest.TestSuite(case(name) for name in loader.getTestCaseNames(case) if name in vars(case))


def main():
    EngineDaemon.name = sys.argv.pop(1)
    {"extenddb": extenddb.need, "dynamodb_local": dynamodb_local.need}.get(EngineDaemon.name, lambda: None)()
    unittest.main()
