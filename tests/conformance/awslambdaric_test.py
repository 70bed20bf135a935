#!/usr/bin/env python3
"""The official runtime client for Python (awslambdaric of PyPI, which ./test.sh installs) under Freshet's process host, in the place of
Freshet's own: the same functions as runtime_clients_test.py, which has a stand-in where this one cannot be had."""
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import pins  # noqa: E402
import runtime_clients_test as common  # noqa: E402
from endpoint import Endpoint  # noqa: E402

CODE = common.PYTHON_CODE + '''
def version(event, context):
    import importlib.metadata, awslambdaric.bootstrap
    return [importlib.metadata.version("awslambdaric"), awslambdaric.bootstrap.__file__]

def log(event, context):
    import logging
    logging.getLogger().warning("a warning of %s", event["n"])
    print("printed")
    return event["n"]
'''
HANDLERS = ("who", "fails", "trace", "version", "log")


def setUpModule():
    global folder
    folder = tempfile.TemporaryDirectory(prefix="freshet-ric-")
    root = pathlib.Path(folder.name)
    shutil.copytree(pins.folder("pypi", "ric") / "lib", root / "code")
    (root / "code" / "app.py").write_text(CODE)
    runtime = f"python{sys.version_info.major}.{sys.version_info.minor}"
    template = "Transform: AWS::Serverless-2016-10-31\nResources:\n"
    for handler in HANDLERS:
        template += common.function(handler.capitalize(), runtime, "code", "app." + handler, "official")
    template += common.function("Missing", runtime, "code", "nothing.handler", "official")
    (root / "template.yaml").write_text(template)
    common.endpoint = Endpoint(str(root / "template.yaml"))
    common.endpoint.__enter__()


def tearDownModule():
    common.endpoint.__exit__()
    folder.cleanup()


class Official(common.Case):
    def test_it_is_the_pinned_one(self):
        wanted = next(version for registry, _, package, version in pins.pins() if (registry, package) == ("pypi", "awslambdaric"))
        result, error, _ = self.call("Version")
        self.assertIsNone(error, result)
        self.assertEqual(result[0], wanted)
        self.assertTrue(result[1].startswith(folder.name), result)

    def test_events_results_and_context(self):
        result = self.works_as("Who", "official")
        self.assertEqual(result["client"]["title"], "App")

    def test_errors(self):
        for _ in range(2):  # The process goes on behind an error.
            _, log = self.fails_with("Fails", "KeyError", "odd")
            self.assertIn("before the error", log)
        self.fails_with("Missing", "Runtime.ImportModuleError", "nothing")

    def test_the_trace_of_each_invocation(self):
        seen = set()
        for _ in range(3):
            result, error, _ = self.call("Trace")
            self.assertIsNone(error, result)
            self.assertEqual(result["child"], result["value"])
            seen.add(result["value"])
        self.assertEqual(len(seen), 3)

    def test_the_log(self):
        for n in range(2):
            result, error, log = self.call("Log", {"n": n})
            self.assertEqual((result, error), (n, None))
            self.assertIn(f"a warning of {n}", log)
            self.assertIn("printed", log)


if __name__ == "__main__":
    pins.need(("pypi", "ric"))
    # The tests of `common` are not this suite's.
    unittest.main(argv=[sys.argv[0], "Official", *sys.argv[1:]])
