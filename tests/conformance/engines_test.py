#!/usr/bin/env python3
"""The store seam's own suite (tests/wire/store/seam_test.cc) over the wire, on one engine:

  tests/conformance/engines_test.py freshet|extenddb|dynamodb_local|dynalite

The engine is started on a free port and stopped. One that is not installed is skipped by name."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "faults"))
import dynalite  # noqa: E402
import dynamodb_local  # noqa: E402
import extenddb  # noqa: E402
from daemon import Daemon  # noqa: E402

SUITE = os.environ.get("FRESHET_WIRE_TESTS", str(pathlib.Path(__file__).resolve().parents[2] / "build/release/tests/tests_wire"))
BINARY = os.environ.get("FRESHET_BINARY", str(pathlib.Path(__file__).resolve().parents[2] / "build/release/freshet"))
SECONDS = 600
LEAST_TESTS = 12  # Those that need no trait that any of these lacks.


def engine(name):
    if name == "freshet":
        from endpoint import Endpoint  # Needs boto3, which the other engines do not.
        return Endpoint()
    return {"extenddb": extenddb.ExtendDB, "dynalite": dynalite.Dynalite}.get(name, dynamodb_local.DynamoDBLocal)()


class Seam(unittest.TestCase):
    name = ""

    def test_what_every_store_promises(self):
        with engine(self.name) as store:
            environment = {**os.environ, "FRESHET_SEAM_ENDPOINT": store.url, "FRESHET_SEAM_KEY": f"{extenddb.KEY}:{extenddb.SECRET}"}
            if self.name == "dynalite":
                environment["FRESHET_SEAM_LACKS"] = "transactions refused-items"
            done = subprocess.run([SUITE, "--gtest_filter=*Seam*/Endpoint"], env=environment, capture_output=True, text=True,
                                  timeout=SECONDS)
        self.assertEqual(done.returncode, 0, done.stdout[-8000:] + done.stderr)
        passed = int(re.search(r"\[  PASSED  \] (\d+) tests?\.", done.stdout).group(1))
        self.assertGreaterEqual(passed, LEAST_TESTS, done.stdout)

    def test_an_engine_without_transactions_serves_no_queues(self):
        if self.name != "dynalite":
            self.skipTest("it has transactions")
        with engine(self.name) as store, tempfile.TemporaryDirectory(prefix="freshet-engines-") as folder:
            daemon = Daemon(BINARY, pathlib.Path(folder) / "store", "--store", "dynamodb", "--endpoint", store.url, "--create-tables")
            daemon.environment = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"}
            with self.assertRaises(RuntimeError) as refused:
                daemon.start()
            daemon.stop()
        self.assertIn("this engine has no transactions", str(refused.exception))


if __name__ == "__main__":
    Seam.name = sys.argv.pop(1)
    {"extenddb": extenddb.need, "dynamodb_local": dynamodb_local.need, "dynalite": dynalite.need}.get(Seam.name, lambda: None)()
    unittest.main()
