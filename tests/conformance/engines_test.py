#!/usr/bin/env python3
"""The store seam's own suite (tests/wire/store/seam_test.cc) over the wire, on one engine:

  tests/conformance/engines_test.py freshet|extenddb|dynamodb_local

The engine is started on a free port and stopped. One that is not installed is skipped by name."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import dynamodb_local  # noqa: E402
import extenddb  # noqa: E402

SUITE = os.environ.get("FRESHET_WIRE_TESTS", str(pathlib.Path(__file__).resolve().parents[2] / "build/release/tests/tests_wire"))
SECONDS = 600
LEAST_TESTS = 12  # Those that need no trait that any of these lacks.


def engine(name):
    if name == "freshet":
        from endpoint import Endpoint  # Needs boto3, which the other engines do not.
        return Endpoint()
    return extenddb.ExtendDB() if name == "extenddb" else dynamodb_local.DynamoDBLocal()


class Seam(unittest.TestCase):
    name = ""

    def test_what_every_store_promises(self):
        with engine(self.name) as store:
            environment = {**os.environ, "FRESHET_SEAM_ENDPOINT": store.url, "FRESHET_SEAM_KEY": f"{extenddb.KEY}:{extenddb.SECRET}"}
            done = subprocess.run([SUITE, "--gtest_filter=*Seam*/Endpoint"], env=environment, capture_output=True, text=True,
                                  timeout=SECONDS)
        self.assertEqual(done.returncode, 0, done.stdout[-8000:] + done.stderr)
        passed = int(re.search(r"\[  PASSED  \] (\d+) tests?\.", done.stdout).group(1))
        self.assertGreaterEqual(passed, LEAST_TESTS, done.stdout)


if __name__ == "__main__":
    Seam.name = sys.argv.pop(1)
    if Seam.name == "extenddb":
        extenddb.need()
    elif Seam.name == "dynamodb_local":
        dynamodb_local.need()
    unittest.main()
