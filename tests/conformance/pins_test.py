#!/usr/bin/env python3
"""The table of clients in docs/compatibility.md against the versions that the tests run with: those of config/clients.txt, and those
that Debian has."""
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import pins  # noqa: E402

TESTS = (pins.ROOT / "tests" / "CMakeLists.txt").read_text()
REGISTRIES = {"npm": "npm", "maven": "Maven Central", "go": "Go modules", "pypi": "PyPI"}


def rows():
    """The cells of each row: client, package, version, where from, tests."""
    text = (pins.ROOT / "docs" / "compatibility.md").read_text()
    section = text.split("\n## Clients that are run\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("| Client |")]


def debian():
    release = pathlib.Path("/etc/os-release").read_text()
    found = re.search(r'^VERSION_ID="?(\d+)', release, re.MULTILINE)
    return found.group(1) if "\nID=debian\n" in "\n" + release and found else None


class Pins(unittest.TestCase):
    def test_every_pinned_client_has_a_row_with_its_version(self):
        named = {(package, version, origin) for _, packages, versions, origin, _ in rows()
                 for package, version in zip(packages.split("<br>"), versions.split("<br>"), strict=True)}
        wanted = {(f"`{package}`", version, REGISTRIES[registry]) for registry, _, package, version in pins.pins()}
        self.assertEqual({one for one in named if not one[2].startswith("Debian")}, wanted)

    def test_debians_are_those_of_debian(self):
        number = debian()
        seen = 0
        for _, package, version, origin, _ in rows():
            if number is None or origin != f"Debian {number}":
                continue
            here = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package.strip("`")], capture_output=True, text=True).stdout
            if here:
                seen += 1
                self.assertRegex(here, rf"^(\d+:)?{re.escape(version)}\b", package)
        if number == "12":
            self.assertGreaterEqual(seen, 2, "boto3 and the aws CLI are installed for the tests")

    def test_the_tests_of_each_are_run(self):
        for client, *_, tests in rows():
            for name in re.findall(r"`([^`]+)`", tests):
                self.assertIn(name.removeprefix("conformance."), TESTS, client)

    def test_the_file_is_whole(self):
        places = {}
        for registry, place, package, version in pins.pins():
            self.assertIn(registry, REGISTRIES)
            self.assertRegex(version, r"^v?\d+(\.\d+)+$", package)
            self.assertNotIn(package, places.setdefault((registry, place), set()))
            places[registry, place].add(package)


if __name__ == "__main__":
    unittest.main()
