#!/usr/bin/env python3
"""The suite of the item store against another endpoint: a list of what differs there from what the service does.

  tests/conformance/against.py http://127.0.0.1:4567                    # all of it
  tests/conformance/against.py http://127.0.0.1:4567 protocol streams   # these suites of it

What needs an operation that the endpoint does not know is left out, and said. Ends with 1 if anything differs, with 2
if the endpoint stops answering. Tables that it makes are of its own and deleted again.
"""
import collections
import importlib
import os
import pathlib
import socket
import sys
import unittest
import urllib.parse

SUITES = ("conformance", "protocol", "tables", "transactions", "streams", "statement", "validation", "service",
          "legacy", "backups", "clients")


class Listing(unittest.TestResult):
    """One line for each test, or part of one, that differs."""

    def __init__(self):
        super().__init__()
        self.left_out = collections.Counter()
        self.differs = 0

    def tell(self, test, error):
        self.differs += 1
        said = str(error[1]).strip().split("\n")[0][:200]
        print(f"differs  {test.id()[:300]}: {error[0].__name__}: {said}", flush=True)

    def addError(self, test, error):
        self.tell(test, error)

    def addFailure(self, test, error):
        self.tell(test, error)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.tell(subtest, error)

    def addSkip(self, test, reason):
        self.left_out[reason] += 1
        print(f"left out {test.id()[:300]}: {reason}", flush=True)


def answers(url):
    place = urllib.parse.urlsplit(url)
    try:
        socket.create_connection((place.hostname, place.port or (443 if place.scheme == "https" else 80)), 10).close()
        return True
    except OSError:
        return False


def main():
    if len(sys.argv) < 2 or not sys.argv[1].startswith("http") or not set(sys.argv[2:]) <= set(SUITES):
        sys.exit(f"{__doc__}\nThe suites: {' '.join(SUITES)}")
    url = sys.argv[1].rstrip("/")
    os.environ["FRESHET_ENDPOINT"] = url
    os.environ.setdefault("FRESHET_NODE_MODULES", str(pathlib.Path(__file__).resolve().parents[2] / "build" / "node"))
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    tests = differs = 0
    left_out = collections.Counter()
    for suite in sys.argv[2:] or SUITES:
        if not answers(url):
            print(f"{url} does not answer (any more): nothing of {suite} and what follows was tried")
            sys.exit(2)
        print(f"== {suite}", flush=True)
        result = Listing()
        unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(suite + "_test")).run(result)
        tests += result.testsRun
        differs += result.differs
        left_out += result.left_out
    print(f"{tests} tests: {differs} differences; left out: {left_out.total()}")
    for reason, count in left_out.most_common():
        print(f"  {count:4} {reason}")
    if not answers(url):
        print(f"{url} does not answer any more")
        sys.exit(2)
    sys.exit(1 if differs else 0)


if __name__ == "__main__":
    main()
