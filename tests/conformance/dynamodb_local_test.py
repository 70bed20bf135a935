#!/usr/bin/env python3
"""The suite (against.py) runs against AWS's own DynamoDB Local to its end, and says what differs there."""
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import dynamodb_local  # noqa: E402

SECONDS = 300


class Local(unittest.TestCase):
    def test_against(self):
        script = pathlib.Path(dynamodb_local.__file__)
        done = subprocess.run([sys.executable, script, "--against", "transactions", "tables"], capture_output=True, text=True,
                              timeout=SECONDS)
        self.assertEqual((done.returncode, done.stderr), (1, ""), done.stdout)
        tests, differs = map(int, re.search(r"^(\d+) tests: (\d+) differences; left out: \d+$", done.stdout, re.MULTILINE).groups())
        self.assertEqual(len(re.findall("^differs  ", done.stdout, re.MULTILINE)), differs)
        self.assertGreater(tests, 15)
        self.assertIn("differs  transactions_test.", done.stdout)

    def test_it_serves_on_loopback_alone(self):
        with dynamodb_local.DynamoDBLocal() as local:
            self.assertTrue(local.url.startswith("http://127.0.0.1:"))
            port = int(local.url.rsplit(":", 1)[1])
            tables = [pathlib.Path("/proc/net", name).read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
            rows = [line.split() for lines in tables for line in lines]
            listening = [row[1] for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "0A"]
            self.assertTrue(all(place.startswith(("0100007F:", "0000000000000000FFFF00000100007F:")) for place in listening), listening)
            self.assertTrue(listening)


if __name__ == "__main__":
    dynamodb_local.need()
    unittest.main()
