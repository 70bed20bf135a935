#!/usr/bin/env python3
"""Whole applications (tests/apps) deployed from their template as it is, and run. Started like conformance_test.py.

Their waits are shortened by variables (--set); no step waits for a time, each for what is logged or stored.
"""
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from endpoint import NODE, ROOT, Endpoint, client  # noqa: E402

APPS = ROOT / "tests" / "apps"
BOOTSTRAP = pathlib.Path(os.environ.get("FRESHET_APPS", str(ROOT / "build" / "release" / "apps"))) / "trigger" / "bootstrap"
WAIT_SECONDS = 120


class Application:
    """A copy of an application beside node_modules, with a daemon that runs it."""

    def __init__(self, name, modules, *options):
        self.folder = tempfile.TemporaryDirectory(prefix="freshet-app-")
        self.root = pathlib.Path(self.folder.name) / name
        shutil.copytree(APPS / name, self.root)
        (pathlib.Path(self.folder.name) / "node_modules").symlink_to(modules)
        self.endpoint = Endpoint(str(self.root / "template.yaml"), *options)

    def __enter__(self):
        self.endpoint.__enter__()
        self.dynamodb = client(self.endpoint.url)
        self.functions = client(self.endpoint.url, "lambda")
        return self

    def __exit__(self, *unused):
        self.dynamodb.close()
        self.functions.close()
        try:
            self.endpoint.__exit__()
        finally:
            self.folder.cleanup()

    def events(self, name):
        """The events that the daemon has logged so far, complete lines only."""
        text = pathlib.Path(self.endpoint.log.name).read_text(errors="replace")
        lines = [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]
        return [line for line in lines if line["event"] == name]

    def said(self, function):
        """The lines of one function, in order."""
        return [line["line"] for line in self.events("FUNCTION_LOG") if line["function"] == function]

    def invoke(self, function, event):
        answer = self.functions.invoke(FunctionName=function, Payload=json.dumps(event))
        return answer.get("FunctionError"), json.loads(answer["Payload"].read())

    def states(self):
        items = self.dynamodb.scan(TableName="QueueTable", ConsistentRead=True)["Items"]
        return [item["taskStatus"]["S"] for item in items]

    def wait_for(self, what, condition):
        deadline = time.monotonic() + WAIT_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"{what} did not come:\n" + pathlib.Path(self.endpoint.log.name).read_text()[-8000:])
            time.sleep(0.05)


QUICK = ["--set", "CreateTasksFunction.CREATE_INTERVAL_MS=10", "--set", "ProcessTasksFunction.STEP_MS=5",
         "--set", "ProcessTasksFunction.TASK_MS=60", "--set", "ProcessTasksFunction.PAUSE_MS=10",
         "--set", "ProcessTasksFunction.ACTIVE_MS=150"]


class Sample:
    """The application as it is written for the cloud; with an SDK of the time that its runtime is of, and with today's."""

    modules = None
    tasks = 16

    @classmethod
    def setUpClass(cls):
        cls.app = Application("lifo_sample", cls.modules, *QUICK)
        cls.app.__enter__()
        try:
            cls.error, cls.result = cls.app.invoke("CreateTasksFunction", {})
            cls.app.wait_for("the last task", lambda: cls.app.states() == ["SUCCESS"] * cls.tasks)
            cls.app.wait_for("the end of all runs", cls.all_ended)
        except BaseException:
            cls.app.__exit__()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.app.__exit__()

    @classmethod
    def all_ended(cls):
        last = [json.loads(line) for line in cls.app.said("ProcessTasksFunction") if line.startswith("{")][-1]
        return last["what"] == "PROCESS_TASKS_END" or last == {"what": "PAGE", "tasks": []}

    def said(self, function):
        return [json.loads(line) for line in self.app.said(function) if line.startswith("{")]

    def test_handlers_that_never_resolve_end_without_an_error(self):
        self.assertEqual((self.error, self.result), (None, None))
        self.assertEqual(len([line for line in self.said("CreateTasksFunction") if line["what"] == "CREATED"]), self.tasks)
        self.assertNotIn("CREATE_TASKS_END", [line["what"] for line in self.said("CreateTasksFunction")])
        self.assertEqual(self.app.events("FUNCTION_ERROR"), [])

    def test_newest_first(self):
        created = sorted(line["taskCreated"] for line in self.said("CreateTasksFunction") if line["what"] == "CREATED")
        first_pages = 0
        page = []
        for line in self.said("ProcessTasksFunction"):
            if line["what"] == "PAGE":
                page = list(line["tasks"])
                self.assertEqual(page, sorted(page, reverse=True))
                self.assertLessEqual(len(page), 10)
                first_pages += created[-1] in page[:1]
            elif line["what"] == "TAKEN":
                self.assertEqual(line["taskCreated"], page.pop(0))  # In the order of the page.
        self.assertGreaterEqual(first_pages, 1)

    def test_three_at_once_and_the_others_go_back(self):
        working = most = 0
        for line in self.said("ProcessTasksFunction"):
            if line["what"] in ("TAKEN", "SUCCESS", "PENDING"):
                working += {"TAKEN": 1, "SUCCESS": -1, "PENDING": -1}[line["what"]]
                most = max(most, working)
        self.assertEqual(working, 0)
        self.assertLessEqual(most, 4)  # The fourth is taken and goes back.
        self.assertIn("PENDING", [line["what"] for line in self.said("ProcessTasksFunction")])
        self.assertEqual(len([line for line in self.said("ProcessTasksFunction") if line["what"] == "SUCCESS"]), self.tasks)

    def test_one_processor_at_a_time_and_tail_calls(self):
        runs = []
        for line in self.app.events("FUNCTION_LOG"):
            if line["function"] == "ProcessTasksFunction" and line["requestId"] not in runs[-1:]:
                runs.append(line["requestId"])
        self.assertEqual(len(runs), len(set(runs)), "two at a time")
        self.assertGreaterEqual(len([line for line in self.said("ProcessTasksFunction") if line["what"] == "TAIL_CALL"]), 1)
        sources = {line["source"] for line in self.said("TriggerFunction") if line["what"] == "TRIGGERED"}
        self.assertEqual(sources, {"aws:dynamodb", "aws:sns"})

    def test_what_has_no_effect_here_is_listed(self):
        warned = " ".join(line["what"] for line in self.app.events("TEMPLATE_WARNING"))
        for name in ("Tracing", "SSESpecification", "KmsMasterKeyId", "Policies", "SampleDashboardRole"):
            self.assertIn(name, warned)

    def test_tracing_does_not_complain(self):
        for function in ("CreateTasksFunction", "TriggerFunction", "ProcessTasksFunction"):
            for line in self.app.said(function):
                self.assertNotIn("X-Ray", line)
                self.assertNotIn("segment", line)

    def test_not_a_byte_is_changed(self):
        for path in (APPS / "lifo_sample").rglob("*"):
            if path.is_file():
                self.assertEqual(path.read_bytes(), (self.app.root / path.relative_to(APPS / "lifo_sample")).read_bytes())


def sdk(folder):
    modules = NODE / folder / "node_modules"
    there = all((modules / name).is_dir() for name in ("@aws-sdk/client-dynamodb", "@aws-sdk/client-sns", "aws-xray-sdk",
                                                       "luxon", "uuid"))
    why = f"the sample's modules are not in {modules} (./test.sh installs them)"
    return modules, unittest.skipUnless(shutil.which("node") and there, why)


OLD, needs_old = sdk("sample")
NEW, needs_new = sdk("")


@needs_old
class SampleWithItsOwnSdk(Sample, unittest.TestCase):
    modules = OLD

    def test_that_sdk_does_not_know_endpoints(self):
        version = json.loads((self.modules / "@aws-sdk/client-dynamodb/package.json").read_text())["version"]
        self.assertEqual(version, "3.16.0")


@needs_new
class SampleWithTodaysSdk(Sample, unittest.TestCase):
    modules = NEW


CREDENTIALS = "[default]\naws_access_key_id = AKIDAPPLICATION\naws_secret_access_key = of/the+application\n"


@needs_new
@unittest.skipUnless(BOOTSTRAP.exists(), f"{BOOTSTRAP} is not built")
class Languages(unittest.TestCase):
    """Python creates, C++ triggers, Node.js processes; every call is signed, and the signatures are checked."""

    def test_create_trigger_process(self):
        app = Application("languages", NEW, "--credentials", "CREDENTIALS")
        shutil.copy(BOOTSTRAP, app.root / "trigger" / "bootstrap")
        credentials = pathlib.Path(app.folder.name) / "credentials"
        credentials.touch(mode=0o600)
        credentials.write_text(CREDENTIALS)
        app.endpoint.options = (str(app.root / "template.yaml"), "--credentials", str(credentials))
        with app:
            keys = {"aws_access_key_id": "AKIDAPPLICATION", "aws_secret_access_key": "of/the+application"}
            app.dynamodb = client(app.endpoint.url, **keys)
            app.functions = client(app.endpoint.url, "lambda", **keys)
            error, result = app.invoke("CreateTasksFunction", {"tasks": 10})
            self.assertIsNone(error, result)
            self.assertEqual(len(result["ids"]), 10)
            app.wait_for("the last task", lambda: app.states() == ["SUCCESS"] * 10)
            # A line comes after the state that it tells of.
            processed = lambda: [int(line.split()[1]) for line in app.said("ProcessTasksFunction") if line.startswith("DONE")]
            app.wait_for("the last line", lambda: len(processed()) >= 10)
            self.assertEqual(sorted(processed()), list(range(10)))
            self.assertIn("TAIL_CALL", app.said("ProcessTasksFunction"))
            app.wait_for("the topic's trigger", lambda: "TRIGGERED by topic" in app.said("TriggerFunction"))
            self.assertIn("TRIGGERED by stream", app.said("TriggerFunction"))
            self.assertEqual(app.events("FUNCTION_ERROR"), [])


if __name__ == "__main__":
    unittest.main()
