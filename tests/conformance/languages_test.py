#!/usr/bin/env python3
"""The SDKs of other languages that ./test.sh installs, each with one scenario: items, a paged query of an index, a transaction, the
table's stream, a publish to a topic whose subscriber is a function, and invocations; with the errors that are classes of their own.

  tests/conformance/languages_test.py java|go|boto3
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import endpoint  # noqa: E402
import pins  # noqa: E402

SECONDS = 120
PYTHON = "/usr/bin/python3"  # Debian's: what pip has installed is for it.
FUNCTIONS = '''
import os
import boto3

def echo(event, context):
    print("seen", event["n"])
    return event

def keep(event, context):
    for record in event["Records"]:
        message = record["Sns"]
        boto3.client("dynamodb").put_item(TableName=message["Message"], Item={
            "id": {"S": "by topic"}, "subject": {"S": message["Subject"]},
            "kind": {"S": message["MessageAttributes"]["kind"]["Value"]}})
'''
TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Globals: {Function: {Runtime: RUNTIME, CodeUri: code/, Timeout: 60}}
Resources:
  News: {Type: AWS::SNS::Topic, Properties: {TopicName: news}}
  Echo: {Type: AWS::Serverless::Function, Properties: {Handler: app.echo}}
  Keep:
    Type: AWS::Serverless::Function
    Properties:
      Handler: app.keep
      Events: {News: {Type: SNS, Properties: {Topic: !Ref News}}}
"""


def boto3_version():
    return next(version for registry, _, package, version in pins.pins() if (registry, package) == ("pypi", "boto3"))


CLIENTS = {  # The requirements of each client, and its command.
    "java": (lambda: pins.need(("maven", "java"), tools=("java", "javac")), lambda: pins.java_command("java", "SdkTwo")),
    "go": (lambda: pins.need(("go", "go"), tools=("go",)), lambda: pins.go_command("sdk_two")),
    "boto3": (lambda: pins.need(("pypi", "boto3")),
              lambda: [PYTHON, str(pathlib.Path(__file__).parent / "boto3_newest.py"), boto3_version()]),
}
CHOSEN = "java"


class Language(unittest.TestCase):
    def test_the_scenario(self):
        command = CLIENTS[CHOSEN][1]()
        folder = tempfile.TemporaryDirectory(prefix="freshet-languages-")
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name)
        (root / "code").mkdir()
        (root / "code" / "app.py").write_text(FUNCTIONS)
        runtime = f"python{sys.version_info.major}.{sys.version_info.minor}"
        (root / "template.yaml").write_text(TEMPLATE.replace("RUNTIME", runtime))
        with endpoint.Endpoint(str(root / "template.yaml")) as server:
            environment = endpoint.environment(server.url)
            if CHOSEN == "boto3":
                environment = pins.python_environment("boto3", environment)
            done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=SECONDS)
            self.assertEqual((done.returncode, done.stdout[-5:]), (0, "done\n"), done.stdout + done.stderr)
            client = endpoint.client(server.url)
            self.addCleanup(client.close)
            item = self.kept(client, f"from-{CHOSEN}")
            self.assertEqual((item["subject"], item["kind"]), ({"S": "<ä> & 'b'"}, {"S": "a"}))

    def kept(self, client, table):
        """The items that the topic's subscriber has written, as soon as they exist."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            item = client.get_item(TableName=table, Key={"id": {"S": "by topic"}}).get("Item")
            if item:
                return item
            time.sleep(0.02)
        self.fail("the message did not reach the function")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in CLIENTS:
        sys.exit(__doc__)
    CHOSEN = sys.argv.pop(1)
    CLIENTS[CHOSEN][0]()
    unittest.main()
