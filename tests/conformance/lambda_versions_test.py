#!/usr/bin/env python3
"""Versions, aliases and resource policies of functions as deployment scripts use them: with boto3, the aws command and across
`kill -9`. Messages are the service's, as others have recorded them. Started like conformance_test.py.
"""
import datetime
import http.server
import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from botocore.exceptions import ClientError

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from endpoint import HAS_AWS, NO_AWS, ROOT, START_SECONDS, Endpoint, aws, client  # noqa: E402
from lambda_code import ROLE, archive  # noqa: E402

BINARY = os.environ.get("FRESHET_BINARY", str(ROOT / "build" / "release" / "freshet"))
UUID = r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"
MISMATCH = ("The Revision Id provided does not match the latest Revision Id. Call the GetFunction/GetAlias API to retrieve the "
            "latest Revision Id")
WAIT_SECONDS = 60


def setUpModule():
    global endpoint
    endpoint = Endpoint()
    endpoint.__enter__()


def tearDownModule():
    endpoint.__exit__()


def code_of(answer):
    """The code that answers: its version and the name that it was called by."""
    return archive(app="import os\ndef handler(event, context):\n"
                       f"    return [{answer!r}, os.environ['AWS_LAMBDA_FUNCTION_VERSION'], context.function_version,\n"
                       "            context.function_name, context.invoked_function_arn.split(':function:')[1]]\n")


def create(functions, name, answer, **more):
    return functions.create_function(FunctionName=name, Role=ROLE, Runtime="python3.11", Handler="app.handler", Timeout=20,
                                     Code={"ZipFile": code_of(answer)},
                                     Environment={"Variables": {"PATH": "/usr/local/bin:/usr/bin:/bin"}}, **more)


def invoke(functions, name, **more):
    answer = functions.invoke(FunctionName=name, **more)
    return json.loads(answer["Payload"].read()), answer["ExecutedVersion"]


class Case(unittest.TestCase):
    def setUp(self):
        self.url = endpoint.url
        self.client = client(self.url, "lambda")
        self.addCleanup(self.client.close)
        self.name = "F" + re.sub(r"\W", "", self.id().split(".")[-1])[:40]
        self.made = create(self.client, self.name, "first")
        self.addCleanup(lambda: self.client.delete_function(FunctionName=self.name))
        self.arn = self.made["FunctionArn"]

    def refused(self, code, message, call, **named):
        with self.assertRaises(ClientError) as caught:
            call(**named)
        error = caught.exception.response["Error"]
        self.assertEqual((error["Code"], error["Message"]), (code, message))
        return caught.exception.response["ResponseMetadata"]

    def change(self, answer):
        return self.client.update_function_code(FunctionName=self.name, ZipFile=code_of(answer))

    def publish(self, **more):
        return self.client.publish_version(FunctionName=self.name, **more)


class Versions(Case):
    def test_a_version_stays_as_it_was_published(self):
        published = self.publish(Description="one")
        self.assertEqual(published["ResponseMetadata"]["HTTPStatusCode"], 201)
        self.assertEqual((published["Version"], published["FunctionArn"]), ("1", self.arn + ":1"))
        self.assertEqual((published["FunctionName"], published["Description"]), (self.name, "one"))
        self.assertEqual((published["CodeSha256"], published["LastModified"]),
                         (self.made["CodeSha256"], self.made["LastModified"]))
        self.change("second")
        tuned = self.client.update_function_configuration(FunctionName=self.name, Timeout=7)
        self.assertEqual(tuned["Version"], "$LATEST")
        self.assertEqual(invoke(self.client, self.name), (["second", "$LATEST", "$LATEST", self.name, self.name], "$LATEST"))
        of_one = (["first", "1", "1", self.name, self.name + ":1"], "1")
        self.assertEqual(invoke(self.client, self.name, Qualifier="1"), of_one)
        self.assertEqual(invoke(self.client, self.name + ":1"), of_one)
        self.assertEqual(invoke(self.client, self.arn + ":1"), of_one)
        for seen in (self.client.get_function(FunctionName=self.name, Qualifier="1")["Configuration"],
                     self.client.get_function_configuration(FunctionName=self.arn + ":1")):
            self.assertEqual((seen["Version"], seen["Timeout"], seen["FunctionArn"]), ("1", 20, self.arn + ":1"))
            self.assertEqual(seen["RevisionId"], published["RevisionId"])

    def test_what_has_not_changed_is_not_published_again(self):
        self.assertEqual([self.publish()["Version"], self.publish(Description="another")["Version"]], ["1", "1"])
        self.change("first")  # The same code, but updated.
        self.assertEqual(self.publish()["Version"], "2")
        self.client.put_function_concurrency(FunctionName=self.name, ReservedConcurrentExecutions=3)
        self.assertEqual(self.publish()["Version"], "2")
        self.client.delete_function(FunctionName=self.name, Qualifier="2")
        self.assertEqual(self.publish()["Version"], "3", "a number is used once")
        self.assertEqual([one["Version"] for one in self.client.list_versions_by_function(FunctionName=self.name)["Versions"]],
                         ["$LATEST", "1", "3"])

    def test_publish_with_create_and_update(self):
        other = self.name + "2"
        self.addCleanup(lambda: self.client.delete_function(FunctionName=other))
        made = create(self.client, other, "first", Publish=True)
        self.assertEqual((made["Version"], made["FunctionArn"]), ("1", self.arn + "2"))
        updated = self.client.update_function_code(FunctionName=other, ZipFile=code_of("second"), Publish=True)
        self.assertEqual((updated["Version"], updated["FunctionArn"]), ("2", self.arn + "2:2"))
        self.assertEqual(invoke(self.client, other, Qualifier="1")[0][0], "first")
        self.assertEqual(invoke(self.client, other, Qualifier="2")[0][0], "second")

    def test_conditions(self):
        sha = self.made["CodeSha256"]
        self.refused("InvalidParameterValueException",
                     f"CodeSHA256 (other) is different from current CodeSHA256 in $LATEST ({sha}). Please try again with the "
                     "CodeSHA256 in $LATEST.", self.publish, CodeSha256="other")
        self.assertEqual(self.refused("PreconditionFailedException", MISMATCH, self.publish, RevisionId="other")["HTTPStatusCode"],
                         412)
        self.assertEqual(self.publish(CodeSha256=sha, RevisionId=self.made["RevisionId"])["Version"], "1")

    def test_pages(self):
        for number in range(4):
            self.change(f"number {number}")
            self.publish()
        pages = self.client.get_paginator("list_versions_by_function").paginate(
            FunctionName=self.name, PaginationConfig={"PageSize": 2})
        self.assertEqual([[one["FunctionArn"].split(":")[-1] for one in page["Versions"]] for page in pages],
                         [["$LATEST", "1"], ["2", "3"], ["4"]])

    def test_what_is_not_there_and_what_takes_no_version(self):
        missing = f"Function not found: {self.arn}:9"
        for call in (self.client.invoke, self.client.get_function, self.client.get_function_configuration,
                     self.client.delete_function, self.client.get_policy):
            self.refused("ResourceNotFoundException", missing, call, FunctionName=self.name, Qualifier="9")
        self.publish()
        for call, more in ((self.client.update_function_configuration, {"Timeout": 3}), (self.client.publish_version, {}),
                           (self.client.update_function_code, {"ZipFile": code_of("x")}),
                           (self.client.put_function_concurrency, {"ReservedConcurrentExecutions": 1})):
            self.refused("InvalidParameterValueException",
                         f"FunctionName {self.name}:1: this call takes a function without a qualifier",
                         call, FunctionName=self.name + ":1", **more)
        self.refused("InvalidParameterValueException", "$LATEST version cannot be deleted without deleting the function.",
                     self.client.delete_function, FunctionName=self.name, Qualifier="$LATEST")

    def test_versions_share_the_functions_concurrency(self):
        self.publish()
        self.client.put_function_concurrency(FunctionName=self.name, ReservedConcurrentExecutions=0)
        self.refused("TooManyRequestsException", "Rate Exceeded.", self.client.invoke, FunctionName=self.name + ":1")
        self.client.delete_function_concurrency(FunctionName=self.name)
        self.assertEqual(invoke(self.client, self.name + ":1")[1], "1")


class LastModified(Case):
    def test_it_changes_with_code_and_configuration_only(self):
        seen = lambda: self.client.get_function_configuration(FunctionName=self.name)["LastModified"]
        first = self.made["LastModified"]
        self.assertRegex(first, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+0000$")
        self.client.put_function_concurrency(FunctionName=self.name, ReservedConcurrentExecutions=3)
        self.client.put_function_event_invoke_config(FunctionName=self.name, MaximumRetryAttempts=1)
        self.publish()
        self.client.create_alias(FunctionName=self.name, Name="live", FunctionVersion="1")
        self.client.add_permission(FunctionName=self.name, StatementId="a", Action="lambda:InvokeFunction", Principal="*")
        invoke(self.client, self.name)
        self.assertEqual(seen(), first)
        tuned = self.client.update_function_configuration(FunctionName=self.name, Description="x")["LastModified"]
        self.assertGreater(tuned, first)
        self.assertGreater(self.change("other")["LastModified"], tuned)

    def test_what_a_template_deploys_has_it_too(self):
        with tempfile.TemporaryDirectory(prefix="freshet-lambda-") as folder:
            (pathlib.Path(folder) / "app.py").write_text("def handler(event, context):\n    return 1\n")
            template = pathlib.Path(folder) / "template.yaml"
            template.write_text("Resources:\n  Deployed:\n    Type: AWS::Lambda::Function\n    Properties: "
                                "{FunctionName: Deployed, Runtime: python3.11, Handler: app.handler, Code: .}\n")
            before = time.time()
            with Endpoint(str(template)) as server:
                functions = client(server.url, "lambda")
                self.addCleanup(functions.close)
                text = functions.get_function_configuration(FunctionName="Deployed")["LastModified"]
                self.assertRegex(text, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+0000$")
                at = datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z").timestamp()
                self.assertTrue(before - 1 <= at <= time.time() + 1, text)


class Ids(Case):
    def test_they_are_uuids(self):
        self.assertRegex(self.made["RevisionId"], UUID)
        self.assertRegex(self.made["ResponseMetadata"]["RequestId"], UUID)
        answer = self.client.invoke(FunctionName=self.name)
        self.assertRegex(answer["ResponseMetadata"]["RequestId"], UUID)
        metadata = self.refused("ResourceNotFoundException", f"Function not found: {self.arn}Nobody", self.client.get_function,
                                FunctionName=self.name + "Nobody")
        self.assertRegex(metadata["RequestId"], UUID)
        topics = client(self.url, "sns")
        self.addCleanup(topics.close)
        self.assertRegex(topics.list_topics()["ResponseMetadata"]["RequestId"], UUID)


class Aliases(Case):
    def test_an_alias_is_made_pointed_elsewhere_and_deleted(self):
        self.publish()
        made = self.client.create_alias(FunctionName=self.name, Name="live", FunctionVersion="1", Description="for all")
        self.assertEqual(made["ResponseMetadata"]["HTTPStatusCode"], 201)
        self.assertEqual((made["AliasArn"], made["Name"], made["FunctionVersion"], made["Description"]),
                         (self.arn + ":live", "live", "1", "for all"))
        self.assertNotIn("RoutingConfig", made)
        self.assertRegex(made["RevisionId"], UUID)
        by_alias = (["first", "1", "1", self.name, self.name + ":live"], "1")
        for name in (self.name + ":live", self.arn + ":live"):
            self.assertEqual(invoke(self.client, name), by_alias)
        self.assertEqual(invoke(self.client, self.name, Qualifier="live"), by_alias)
        seen = self.client.get_function(FunctionName=self.name, Qualifier="live")["Configuration"]
        self.assertEqual((seen["FunctionArn"], seen["Version"]), (self.arn + ":live", "1"))
        self.change("second")
        self.publish()
        moved = self.client.update_alias(FunctionName=self.name, Name="live", FunctionVersion="2", RevisionId=made["RevisionId"])
        self.assertEqual((moved["FunctionVersion"], moved["Description"]), ("2", "for all"))
        self.assertNotEqual(moved["RevisionId"], made["RevisionId"])
        self.assertEqual(invoke(self.client, self.name, Qualifier="live")[0][:2], ["second", "2"])
        self.assertEqual(self.client.get_alias(FunctionName=self.name, Name="live")["RevisionId"], moved["RevisionId"])
        self.client.update_alias(FunctionName=self.name, Name="live", FunctionVersion="$LATEST")
        self.assertEqual(invoke(self.client, self.name, Qualifier="live")[1], "$LATEST")
        self.assertEqual(self.client.delete_alias(FunctionName=self.name, Name="live")["ResponseMetadata"]["HTTPStatusCode"], 204)
        self.client.delete_alias(FunctionName=self.name, Name="live")  # As on the service.
        self.refused("ResourceNotFoundException", f"Function not found: {self.arn}:live", self.client.invoke,
                     FunctionName=self.name, Qualifier="live")

    def test_what_is_refused(self):
        self.publish()
        alias = {"FunctionName": self.name, "Name": "live"}
        self.client.create_alias(FunctionVersion="1", **alias)
        self.refused("ResourceConflictException", f"Alias already exists: {self.arn}:live", self.client.create_alias,
                     FunctionVersion="1", **alias)
        other = {"FunctionName": self.name, "Name": "other"}
        self.refused("ResourceNotFoundException", f"Function not found: {self.arn}:9", self.client.create_alias,
                     FunctionVersion="9", **other)
        self.refused("ResourceNotFoundException", f"Cannot find alias arn: {self.arn}:other", self.client.get_alias, **other)
        self.refused("ResourceNotFoundException", f"Alias not found: {self.arn}:other", self.client.update_alias, **other)
        self.assertEqual(self.refused("PreconditionFailedException", MISMATCH, self.client.update_alias, RevisionId="x", **alias)
                         ["HTTPStatusCode"], 412)
        self.refused("ResourceConflictException",
                     f"Version 1 of function {self.name} cannot be deleted while an alias points to it: live",
                     self.client.delete_function, FunctionName=self.name, Qualifier="1")
        self.refused("InvalidParameterValueException", "Deletion of aliases is not currently supported.",
                     self.client.delete_function, FunctionName=self.name, Qualifier="live")
        for weights, message in (
                ({"1": 0.5}, "Invalid function version 1. Function version 1 is already included in routing configuration."),
                ({"2": 0.5, "3": 0.1}, "Number of items in AdditionalVersionWeights cannot be greater than 1")):
            self.refused("InvalidParameterValueException", message, self.client.update_alias,
                         RoutingConfig={"AdditionalVersionWeights": weights}, **alias)
        self.refused("InvalidParameterValueException", "$LATEST is not supported for an alias pointing to more than 1 version",
                     self.client.update_alias, FunctionVersion="$LATEST",
                     RoutingConfig={"AdditionalVersionWeights": {"1": 0.5}}, **alias)

    def test_an_alias_shares_its_invocations_between_two_versions(self):
        self.publish()
        self.change("second")
        self.publish()
        both = {"AdditionalVersionWeights": {"2": 1.0}}
        made = self.client.create_alias(FunctionName=self.name, Name="live", FunctionVersion="1", RoutingConfig=both)
        self.assertEqual(made["RoutingConfig"], both)
        self.assertEqual(invoke(self.client, self.name, Qualifier="live")[0],
                         ["second", "2", "2", self.name, self.name + ":live"])
        self.client.update_alias(FunctionName=self.name, Name="live",
                                 RoutingConfig={"AdditionalVersionWeights": {"2": 0.5}})
        seen = set()
        for _ in range(200):  # All of one version: once in 2^199.
            seen.add(invoke(self.client, self.name, Qualifier="live")[1])
            if len(seen) == 2:
                break
        self.assertEqual(seen, {"1", "2"})
        plain = self.client.update_alias(FunctionName=self.name, Name="live", RoutingConfig={"AdditionalVersionWeights": {}})
        self.assertNotIn("RoutingConfig", plain)

    def test_lists(self):
        self.publish()
        for name, version in (("blue", "1"), ("green", "$LATEST"), ("live", "1")):
            self.client.create_alias(FunctionName=self.name, Name=name, FunctionVersion=version)
        pages = self.client.get_paginator("list_aliases").paginate(FunctionName=self.name, PaginationConfig={"PageSize": 2})
        self.assertEqual([[one["Name"] for one in page["Aliases"]] for page in pages], [["blue", "green"], ["live"]])
        of_one = self.client.list_aliases(FunctionName=self.name, FunctionVersion="1")["Aliases"]
        self.assertEqual([one["Name"] for one in of_one], ["blue", "live"])

    def test_events_topics_and_configs_go_by_alias(self):
        self.publish()
        self.change("second")
        self.client.create_alias(FunctionName=self.name, Name="live", FunctionVersion="1")
        config = self.client.put_function_event_invoke_config(FunctionName=self.name, Qualifier="live", MaximumRetryAttempts=0)
        self.assertEqual(config["FunctionArn"], self.arn + ":live")
        self.client.put_function_event_invoke_config(FunctionName=self.name, Qualifier="1", MaximumRetryAttempts=1)
        get = self.client.get_function_event_invoke_config
        self.assertEqual(get(FunctionName=self.name, Qualifier="live")["MaximumRetryAttempts"], 0)
        self.assertEqual(get(FunctionName=self.name, Qualifier="1")["MaximumRetryAttempts"], 1)
        listed = self.client.list_function_event_invoke_configs(FunctionName=self.name)["FunctionEventInvokeConfigs"]
        self.assertEqual(sorted(one["FunctionArn"].split(":")[-1] for one in listed), ["1", "live"])
        topics = client(self.url, "sns")
        self.addCleanup(topics.close)
        topic = topics.create_topic(Name=self.name)["TopicArn"]
        subscription = topics.subscribe(TopicArn=topic, Protocol="lambda", Endpoint=self.arn + ":live",
                                        ReturnSubscriptionArn=True)["SubscriptionArn"]
        self.assertEqual(topics.get_subscription_attributes(SubscriptionArn=subscription)["Attributes"]["Endpoint"],
                         self.arn + ":live")
        done = topics.create_topic(Name=self.name + "-done")["TopicArn"]
        self.client.put_function_event_invoke_config(FunctionName=self.name, Qualifier="live",
                                                     DestinationConfig={"OnSuccess": {"Destination": done}})
        bodies = queue.Queue()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                bodies.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        asked = topics.subscribe(TopicArn=done, Protocol="http", Endpoint=f"http://127.0.0.1:{server.server_port}/")
        self.assertIn("SubscriptionArn", asked)
        topics.confirm_subscription(TopicArn=done, Token=bodies.get(timeout=WAIT_SECONDS)["Token"])
        topics.publish(TopicArn=topic, Message="go")
        record = json.loads(bodies.get(timeout=WAIT_SECONDS)["Message"])
        self.assertEqual(record["requestContext"]["functionArn"], self.arn + ":live")
        self.assertEqual(record["responseContext"]["executedVersion"], "1")
        self.assertEqual(record["responsePayload"], ["first", "1", "1", self.name, self.name + ":live"])


class Policies(Case):
    def add(self, statement, **more):
        return self.client.add_permission(**{"FunctionName": self.name, "StatementId": statement,
                                             "Action": "lambda:InvokeFunction", "Principal": "s3.amazonaws.com", **more})

    def test_statements_are_kept_and_shown(self):
        self.refused("ResourceNotFoundException", "The resource you requested does not exist.", self.client.get_policy,
                     FunctionName=self.name)
        added = self.add("from-s3", SourceArn="arn:aws:s3:::bucket", SourceAccount="123456789012")
        self.assertEqual(added["ResponseMetadata"]["HTTPStatusCode"], 201)
        statement = {"Sid": "from-s3", "Effect": "Allow", "Principal": {"Service": "s3.amazonaws.com"},
                     "Action": "lambda:InvokeFunction", "Resource": self.arn,
                     "Condition": {"StringEquals": {"AWS:SourceAccount": "123456789012"},
                                   "ArnLike": {"AWS:SourceArn": "arn:aws:s3:::bucket"}}}
        self.assertEqual(json.loads(added["Statement"]), statement)
        first = self.client.get_policy(FunctionName=self.name)
        self.assertRegex(first["RevisionId"], UUID)
        self.assertEqual(json.loads(first["Policy"]), {"Version": "2012-10-17", "Id": "default", "Statement": [statement]})
        self.add("from-account", Principal="123456789012", RevisionId=first["RevisionId"])
        second = self.client.get_policy(FunctionName=self.name)
        self.assertNotEqual(second["RevisionId"], first["RevisionId"])
        self.assertEqual(json.loads(second["Policy"])["Statement"][1]["Principal"], {"AWS": "arn:aws:iam::123456789012:root"})
        self.refused("PreconditionFailedException", MISMATCH, self.client.remove_permission, FunctionName=self.name,
                     StatementId="from-s3", RevisionId=first["RevisionId"])
        removed = self.client.remove_permission(FunctionName=self.name, StatementId="from-s3", RevisionId=second["RevisionId"])
        self.assertEqual(removed["ResponseMetadata"]["HTTPStatusCode"], 204)
        self.client.remove_permission(FunctionName=self.name, StatementId="from-account")
        self.refused("ResourceNotFoundException", "The resource you requested does not exist.", self.client.get_policy,
                     FunctionName=self.name)

    def test_each_qualifier_has_its_own(self):
        self.publish()
        self.client.create_alias(FunctionName=self.name, Name="live", FunctionVersion="1")
        for qualifier in ("1", "live"):
            added = self.add("same", Qualifier=qualifier)
            self.assertEqual(json.loads(added["Statement"])["Resource"], f"{self.arn}:{qualifier}")
        self.add("same")
        self.assertEqual(json.loads(self.client.get_policy(FunctionName=self.name, Qualifier="live")["Policy"])
                         ["Statement"][0]["Resource"], self.arn + ":live")
        self.client.delete_alias(FunctionName=self.name, Name="live")
        self.client.create_alias(FunctionName=self.name, Name="live", FunctionVersion="1")
        self.refused("ResourceNotFoundException", "The resource you requested does not exist.", self.client.get_policy,
                     FunctionName=self.name, Qualifier="live")

    def test_what_is_refused(self):
        self.refused("ResourceNotFoundException", "No policy is associated with the given resource.",
                     self.client.remove_permission, FunctionName=self.name, StatementId="none")
        self.add("taken")
        conflict = self.refused("ResourceConflictException", "The statement id (taken) provided already exists. Please provide a "
                                "new statement id, or remove the existing statement.", self.add, statement="taken")
        self.assertEqual(conflict["HTTPStatusCode"], 409)
        self.refused("ResourceNotFoundException", "Statement none is not found in resource policy.",
                     self.client.remove_permission, FunctionName=self.name, StatementId="none")
        self.refused("InvalidParameterValueException", "We currently do not support adding policies for $LATEST.",
                     self.add, statement="b", Qualifier="$LATEST")
        self.refused("InvalidParameterValueException",
                     "The provided principal was invalid. Please check the principal and try again.", self.add, statement="b",
                     Principal="nobody")
        self.refused("PreconditionFailedException", MISMATCH, self.add, statement="b", RevisionId="x")
        for number in range(200):
            try:
                self.add(f"{number}-{'x' * 90}")
            except self.client.exceptions.PolicyLengthExceededException as error:
                self.assertRegex(error.response["Error"]["Message"],
                                 r"^The final policy size \(\d+\) is bigger than the limit \(20480\)\.$")
                return
        self.fail("a policy has no end")


class AcrossLives(unittest.TestCase):
    def start(self, folder, life):
        ready = folder / f"ready-{life}"
        process = subprocess.Popen([BINARY, "run", "--data", str(folder / "data"), "--listen", "127.0.0.1:0", "--ready-file",
                                    str(ready)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: process.poll() is None and (process.kill(), process.wait()))
        deadline = time.monotonic() + START_SECONDS
        while not ready.exists():
            self.assertTrue(process.poll() is None and time.monotonic() < deadline, "it does not start")
            time.sleep(0.02)
        functions = client(ready.read_text().strip(), "lambda")
        self.addCleanup(functions.close)
        return process, functions

    def test_all_of_it_survives_kill_9(self):
        with tempfile.TemporaryDirectory(prefix="freshet-lambda-") as name:
            folder = pathlib.Path(name)
            process, functions = self.start(folder, 1)
            create(functions, "Lives", "first", Publish=True)
            functions.update_function_code(FunctionName="Lives", ZipFile=code_of("second"), Publish=True)
            functions.update_function_code(FunctionName="Lives", ZipFile=code_of("third"))
            functions.delete_function(FunctionName="Lives", Qualifier="2")
            alias = functions.create_alias(FunctionName="Lives", Name="live", FunctionVersion="1")
            functions.put_function_event_invoke_config(FunctionName="Lives", Qualifier="live", MaximumRetryAttempts=0)
            functions.add_permission(FunctionName="Lives", StatementId="a", Action="lambda:InvokeFunction", Principal="*",
                                     Qualifier="live")
            before = [functions.get_policy(FunctionName="Lives", Qualifier="live")["Policy"],
                      functions.list_versions_by_function(FunctionName="Lives")["Versions"]]
            process.send_signal(signal.SIGKILL)
            process.wait()
            process, functions = self.start(folder, 2)
            self.assertEqual(functions.get_alias(FunctionName="Lives", Name="live")["RevisionId"], alias["RevisionId"])
            self.assertEqual([functions.get_policy(FunctionName="Lives", Qualifier="live")["Policy"],
                              functions.list_versions_by_function(FunctionName="Lives")["Versions"]], before)
            self.assertEqual(functions.get_function_event_invoke_config(FunctionName="Lives", Qualifier="live")
                             ["MaximumRetryAttempts"], 0)
            # The code of a version is there although the function has another one by now.
            self.assertEqual(invoke(functions, "Lives:live")[0][0], "first")
            self.assertEqual(invoke(functions, "Lives")[0][0], "third")
            self.assertEqual(functions.publish_version(FunctionName="Lives")["Version"], "3")
            functions.delete_function(FunctionName="Lives")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(), 0)
            process, functions = self.start(folder, 3)
            create(functions, "Lives", "anew")
            self.assertEqual(functions.list_aliases(FunctionName="Lives")["Aliases"], [])
            self.assertEqual(functions.publish_version(FunctionName="Lives")["Version"], "1")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(), 0)


class OfATemplate(unittest.TestCase):
    """A template's functions, as a deployment script sees them; the daemon is restarted in between."""
    TEMPLATE = """Transform: AWS::Serverless-2016-10-31
Resources:
  Source:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      StreamSpecification: {StreamViewType: KEYS_ONLY}
  Reader:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: http
      Handler: http://127.0.0.1:9/
      Timeout: %d
      AutoPublishAlias: live
      Events:
        Rows: {Type: DynamoDB, Properties: {Stream: !GetAtt Source.StreamArn, StartingPosition: LATEST, BatchSize: %d}}
"""

    def start(self, folder, life, *numbers):
        template, ready = folder / "template.yaml", folder / f"ready-{life}"
        template.write_text(self.TEMPLATE % numbers)
        log = (folder / f"log-{life}").open("w")
        self.addCleanup(log.close)
        process = subprocess.Popen([BINARY, "run", str(template), "--data", str(folder / "data"), "--listen", "127.0.0.1:0",
                                    "--ready-file", str(ready)], stdout=subprocess.DEVNULL, stderr=log)
        self.addCleanup(lambda: process.poll() is None and (process.kill(), process.wait()))
        deadline = time.monotonic() + START_SECONDS
        while not ready.exists():
            self.assertTrue(process.poll() is None and time.monotonic() < deadline, (folder / f"log-{life}").read_text())
            time.sleep(0.02)
        self.assertNotIn("AutoPublishAlias", (folder / f"log-{life}").read_text(), "it has its effect")
        functions = client(ready.read_text().strip(), "lambda")
        self.addCleanup(functions.close)
        return process, functions

    def stop(self, process):
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 0)

    def test_mappings_and_aliases(self):
        with tempfile.TemporaryDirectory(prefix="freshet-lambda-") as name:
            folder = pathlib.Path(name)
            began = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=1)
            process, functions = self.start(folder, 1, 3, 10)
            listed = functions.list_event_source_mappings()["EventSourceMappings"]
            self.assertEqual(len(listed), 1)
            mapping = listed[0]
            self.assertRegex(mapping["UUID"], UUID)
            self.assertTrue(mapping["FunctionArn"].endswith(":function:Reader:live"), mapping["FunctionArn"])
            self.assertLess(began, mapping["LastModified"])
            self.assertLess(mapping["LastModified"], datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=1))
            alias = functions.get_alias(FunctionName="Reader", Name="live")
            self.assertEqual(alias["FunctionVersion"], "1")
            # The name that earlier releases showed instead of a UUID still finds it.
            for named in (mapping["UUID"], "ReaderRows"):
                got = functions.get_event_source_mapping(UUID=named)
                self.assertEqual((got["UUID"], got["LastModified"]), (mapping["UUID"], mapping["LastModified"]))
            self.stop(process)

            process, functions = self.start(folder, 2, 3, 10)
            again = functions.get_event_source_mapping(UUID=mapping["UUID"])
            self.assertEqual(again["LastModified"], mapping["LastModified"])
            self.assertEqual(functions.get_alias(FunctionName="Reader", Name="live")["RevisionId"], alias["RevisionId"])
            self.stop(process)

            process, functions = self.start(folder, 3, 4, 20)
            changed = functions.get_event_source_mapping(UUID=mapping["UUID"])
            self.assertEqual(changed["BatchSize"], 20)
            self.assertLess(mapping["LastModified"], changed["LastModified"])
            self.assertEqual(functions.get_alias(FunctionName="Reader", Name="live")["FunctionVersion"], "2")
            self.assertEqual(functions.get_function_configuration(FunctionName="Reader", Qualifier="live")["Timeout"], 4)
            self.assertEqual(functions.get_function_configuration(FunctionName="Reader", Qualifier="1")["Timeout"], 3)
            off = functions.update_event_source_mapping(UUID="ReaderRows", Enabled=False)
            self.assertEqual(off["UUID"], mapping["UUID"])
            self.assertEqual(functions.delete_event_source_mapping(UUID=mapping["UUID"])["State"], "Deleting")
            self.assertEqual(functions.list_event_source_mappings()["EventSourceMappings"], [])
            self.stop(process)


class OtherClients(unittest.TestCase):
    @unittest.skipUnless(HAS_AWS, NO_AWS)
    def test_a_deployment_by_the_aws_command(self):
        """As scripts do it: new code, a version of it, the alias moves, and back."""
        run = lambda *words: aws(endpoint.url, "lambda", *words, "--function-name", "ByAws")
        with tempfile.TemporaryDirectory(prefix="freshet-aws-") as folder:
            file = pathlib.Path(folder) / "code.zip"
            def call(*words):
                done = run(*words)
                self.assertEqual(done.returncode, 0, done.stderr)
                return json.loads(done.stdout) if done.stdout.strip() else {}
            file.write_bytes(code_of("blue"))
            call("create-function", "--runtime", "python3.11", "--role", ROLE, "--handler", "app.handler", "--zip-file",
                 f"fileb://{file}", "--timeout", "20", "--publish", "--environment",
                 "Variables={PATH=/usr/local/bin:/usr/bin:/bin}")
            call("wait", "function-active-v2")
            call("create-alias", "--name", "live", "--function-version", "1")
            call("add-permission", "--statement-id", "api", "--action", "lambda:InvokeFunction", "--principal",
                 "apigateway.amazonaws.com", "--qualifier", "live")
            file.write_bytes(code_of("green"))
            call("update-function-code", "--zip-file", f"fileb://{file}")
            call("wait", "function-updated-v2")
            version = call("publish-version")["Version"]
            self.assertEqual(version, "2")
            output = pathlib.Path(folder) / "out"
            for target, answer in ((version, "green"), ("1", "blue")):
                call("update-alias", "--name", "live", "--function-version", target)
                invoked = aws(endpoint.url, "lambda", "invoke", "--function-name", "ByAws:live", str(output))
                self.assertEqual(invoked.returncode, 0, invoked.stderr)
                self.assertEqual((json.loads(output.read_text())[0], json.loads(invoked.stdout)["ExecutedVersion"]),
                                 (answer, target))
            self.assertIn("apigateway", call("get-policy", "--qualifier", "live")["Policy"])
            call("remove-permission", "--statement-id", "api", "--qualifier", "live")
            call("delete-alias", "--name", "live")
            call("delete-function", "--qualifier", "1")
            call("delete-function")


if __name__ == "__main__":
    unittest.main()
