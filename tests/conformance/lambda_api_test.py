#!/usr/bin/env python3
"""Functions made, changed and deleted through the Lambda API, by boto3, the aws command and the AWS SDK for JavaScript. Started
like conformance_test.py.
"""
import base64
import hashlib
import http.server
import io
import json
import os
import pathlib
import queue
import re
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request
import zipfile

from botocore.exceptions import ClientError

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from endpoint import HAS_AWS, HAS_NODE, NO_AWS, NO_NODE, NODE, ROOT, Endpoint, aws, client, node  # noqa: E402
from lambda_code import ROLE, answering, archive, twice  # noqa: E402

WAIT_SECONDS = 60


def setUpModule():
    global endpoint
    endpoint = Endpoint()
    endpoint.__enter__()


def tearDownModule():
    endpoint.__exit__()


class Case(unittest.TestCase):
    url = None

    def setUp(self):
        self.url = endpoint.url
        self.client = client(self.url, "lambda")
        self.addCleanup(self.client.close)

    def create(self, name, code=None, **more):
        if not more.pop("keep", False):
            self.addCleanup(lambda: self.delete(name))
        settings = {"Runtime": "python3.11", "Handler": "app.handler", "Timeout": 20,
                    "Environment": {"Variables": {"PATH": "/usr/local/bin:/usr/bin:/bin"}}, **more}
        return self.client.create_function(FunctionName=name, Role=ROLE, Code=code or {"ZipFile": answering("first")},
                                           **settings)

    def post(self, path, body):
        """As no SDK would send it."""
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def delete(self, name):
        try:
            self.client.delete_function(FunctionName=name)
        except ClientError as error:
            self.assertEqual(error.response["Error"]["Code"], "ResourceNotFoundException")

    def invoke(self, name, event):
        answer = self.client.invoke(FunctionName=name, Payload=json.dumps(event))
        return json.loads(answer["Payload"].read())

    def refused(self, code, call, *arguments, **named):
        with self.assertRaises(ClientError) as caught:
            call(*arguments, **named)
        self.assertEqual(caught.exception.response["Error"]["Code"], code, caught.exception)
        return caught.exception.response["Error"]["Message"]


class Functions(Case):
    def test_create_invoke_update_delete(self):
        zipped = answering("first")
        made = self.create("Made", {"ZipFile": zipped}, Description="of a test", MemorySize=256)
        self.assertEqual(made["ResponseMetadata"]["HTTPStatusCode"], 201)
        self.assertEqual((made["FunctionName"], made["Runtime"], made["Handler"]), ("Made", "python3.11", "app.handler"))
        self.assertEqual((made["Role"], made["Description"], made["MemorySize"]), (ROLE, "of a test", 256))
        self.assertEqual((made["State"], made["LastUpdateStatus"], made["Version"]), ("Active", "Successful", "$LATEST"))
        self.assertEqual(made["CodeSize"], len(zipped))
        self.assertEqual(made["CodeSha256"], base64.b64encode(hashlib.sha256(zipped).digest()).decode())
        self.assertRegex(made["LastModified"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+0000$")
        self.assertEqual(self.invoke("Made", {"n": 4}), ["first", 8])
        self.client.get_waiter("function_active_v2").wait(FunctionName="Made")

        changed = self.client.update_function_code(FunctionName="Made", ZipFile=answering("second"),
                                                   RevisionId=made["RevisionId"])
        self.assertNotEqual(changed["CodeSha256"], made["CodeSha256"])
        self.assertNotEqual(changed["RevisionId"], made["RevisionId"])
        self.client.get_waiter("function_updated_v2").wait(FunctionName="Made")
        self.assertEqual(self.invoke("Made", {"n": 5}), ["second", 10])

        tuned = self.client.update_function_configuration(FunctionName=made["FunctionArn"], Timeout=7, Description="other")
        self.assertEqual((tuned["Timeout"], tuned["Description"], tuned["MemorySize"]), (7, "other", 256))
        self.assertEqual(tuned["CodeSha256"], changed["CodeSha256"])
        seen = self.client.get_function_configuration(FunctionName="Made")
        for name in ("Timeout", "Description", "Role", "CodeSha256", "RevisionId", "Environment"):
            self.assertEqual(seen[name], tuned[name])
        self.assertIn("Made", [one["FunctionName"] for one in self.client.list_functions()["Functions"]])

        self.assertEqual(self.client.delete_function(FunctionName="Made")["ResponseMetadata"]["HTTPStatusCode"], 204)
        self.refused("ResourceNotFoundException", self.client.get_function, FunctionName="Made")
        self.refused("ResourceNotFoundException", self.client.delete_function, FunctionName="Made")

    def test_an_archive_that_cannot_be_unpacked(self):
        for one in (b"no archive", archive(app="a", app__b="b").replace(b"app.py", b"app\0py"), twice("app.py"), twice("x" * 300)):
            with self.subTest(one[:60]), self.assertRaises(ClientError) as refused:
                self.create("Unpacked", {"ZipFile": one})
            self.assertEqual(refused.exception.response["Error"]["Code"], "InvalidParameterValueException")
            self.assertNotIn("/", refused.exception.response["Error"]["Message"])  # Nothing of the daemon's folders.

    def test_a_program_of_its_own(self):
        bootstrap = '#!/usr/bin/env python3\nimport http.client, os\n' \
                    'api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])\nwhile True:\n' \
                    '    api.request("GET", "/2018-06-01/runtime/invocation/next")\n    event = api.getresponse()\n' \
                    '    body = event.read()\n    id = event.headers["Lambda-Runtime-Aws-Request-Id"]\n' \
                    '    api.request("POST", f"/2018-06-01/runtime/invocation/{id}/response", b"[" + body + b"]")\n' \
                    '    api.getresponse().read()\n'
        self.create("Provided", {"ZipFile": archive(bootstrap=bootstrap)}, Runtime="provided.al2023", Handler="none")
        self.assertEqual(self.invoke("Provided", {"n": 1}), [{"n": 1}])

    def wait_until(self, condition, what):
        deadline = time.monotonic() + WAIT_SECONDS
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.01)

    def folder_of(self, name):
        return pathlib.Path(self.client.get_function(FunctionName=name)["Code"]["Location"].removeprefix("file://"))

    def test_replaced_code_goes_with_the_last_that_runs_from_it(self):
        slow = archive(app="import pathlib, time\ndef handler(event, context):\n"
                           "    pathlib.Path(event['begun']).touch()\n"
                           "    while not pathlib.Path(event['until']).exists():\n        time.sleep(0.005)\n"
                           "    import late\n    return late.WORD\n", late="WORD = 'from the old code'\n")
        with tempfile.TemporaryDirectory(prefix="freshet-code-") as place:
            event = {name: str(pathlib.Path(place) / name) for name in ("begun", "until")}
            self.create("Replaced", {"ZipFile": slow})
            old = self.folder_of("Replaced")
            answers = []
            running = threading.Thread(target=lambda: answers.append(self.invoke("Replaced", event)))
            running.start()
            try:
                self.wait_until(pathlib.Path(event["begun"]).exists, "the first invocation")
                self.client.update_function_code(FunctionName="Replaced", ZipFile=answering("new"))
                self.assertNotEqual(self.folder_of("Replaced"), old)
                self.assertEqual(self.invoke("Replaced", {"n": 1}), ["new", 2])
                self.assertTrue((old / "late.py").exists(), "an invocation still runs from it")
            finally:
                pathlib.Path(event["until"]).touch()
                running.join()
            self.assertEqual(answers, ["from the old code"])
            self.wait_until(lambda: not old.exists(), "the old code is gone")
        # The same archive is one folder, which stays as long as one function names it.
        self.create("Shares", {"ZipFile": answering("new")})
        shared = self.folder_of("Shares")
        self.assertEqual(self.folder_of("Replaced"), shared)
        self.delete("Replaced")
        self.client.update_function_code(FunctionName="Shares", ZipFile=answering("dry"), DryRun=True)
        self.assertEqual(self.invoke("Shares", {"n": 2}), ["new", 4])
        self.wait_until(lambda: [one.name for one in shared.parent.iterdir()] == [shared.name], "what nobody names is gone")
        self.client.update_function_code(FunctionName="Shares", ZipFile=slow)
        self.client.update_function_code(FunctionName="Shares", ZipFile=answering("new"))
        self.assertEqual(self.invoke("Shares", {"n": 3}), ["new", 6])

    def test_a_folder_is_run_in_place(self):
        with tempfile.TemporaryDirectory(prefix="freshet-code-") as folder:
            file = pathlib.Path(folder) / "app.py"
            file.write_text("def handler(event, context):\n    return 'from a folder'\n")
            made = self.create("Folder", {"S3Bucket": "hot-reload", "S3Key": folder})
            self.assertEqual(made["CodeSha256"], "")
            self.assertEqual(self.invoke("Folder", {}), "from a folder")
            code = self.client.get_function(FunctionName="Folder")["Code"]
            self.assertEqual(code["Location"], "file://" + folder)
            self.delete("Folder")

    def test_environment_and_its_rules(self):
        self.create("Variables", {"ZipFile": archive(app="import os\ndef handler(e, c):\n    return os.environ.get('A')\n")})
        self.assertIsNone(self.invoke("Variables", {}))
        self.client.update_function_configuration(FunctionName="Variables", Environment={
            "Variables": {"A": "b", "PATH": "/usr/local/bin:/usr/bin:/bin"}})
        self.assertEqual(self.invoke("Variables", {}), "b")
        self.refused("InvalidParameterValueException", self.client.update_function_configuration, FunctionName="Variables",
                     Environment={"Variables": {"AWS_REGION": "x"}})
        # Variables that a program's environment cannot hold are refused now, not at the first call.
        for variables in ({"A=B": "x"}, {"": "x"}, {"1A": "x"}, {"A\0": "x"}, {"A": "x\0y"}, {"A": "x" * 4096},
                          {"FRESHET_RUNTIME_CLIENT": "both"}):
            with self.subTest(str(variables)[:20]):
                self.refused("InvalidParameterValueException", self.client.update_function_configuration,
                             FunctionName="Variables", Environment={"Variables": variables})
        self.assertEqual(self.invoke("Variables", {}), "b")
        for more in ({"Description": "x" * 257}, {"Handler": "x" * 129}):
            self.refused("InvalidParameterValueException", self.client.update_function_configuration,
                         FunctionName="Variables", **more)

    def test_what_is_refused(self):
        self.create("Taken")
        self.refused("ResourceConflictException", self.create, "Taken", keep=True)
        self.refused("PreconditionFailedException", self.client.update_function_code, FunctionName="Taken",
                     ZipFile=answering("x"), RevisionId="another")
        self.refused("ResourceNotFoundException", self.client.update_function_code, FunctionName="Nobody",
                     ZipFile=answering("x"))
        wrong = "InvalidParameterValueException"
        for name, settings in (("runtime", {"Runtime": "cobol85"}), ("timeout", {"Timeout": 0}), ("name", {}),
                               ("memory", {"MemorySize": 1}), ("image", {"PackageType": "Image"})):
            self.refused(wrong, self.create, "not a name" if name == "name" else "Bad", keep=True, **settings)
        for code in ({"S3Bucket": "any", "S3Key": "key"}, {"S3Bucket": "hot-reload", "S3Key": "/no/such/folder"},
                     {"ZipFile": b"this is no archive"}, {"ZipFile": archive(app="x = 1\n")[:-30]}):
            self.refused(wrong, self.create, "Bad", code, keep=True)
        outside = io.BytesIO()
        with zipfile.ZipFile(outside, "w") as made:
            made.writestr("../outside.py", "x")
        self.assertIn("outside", self.refused(wrong, self.create, "Bad", {"ZipFile": outside.getvalue()}, keep=True))
        self.refused("ResourceNotFoundException", self.client.get_function, FunctionName="Bad")

    def test_a_version_or_alias_that_is_not_there(self):
        arn = self.create("Versioned")["FunctionArn"]
        code = {"ZipFile": answering("other")}
        for name in ("Versioned:1", "Versioned:live", arn + ":1", "000000000000:function:Versioned:1",
                     arn.replace("us-east-1", "eu-west-1"), arn.replace("000000000000", "111111111111")):
            for call, more in ((self.client.invoke, {}), (self.client.get_function, {}),
                               (self.client.get_function_configuration, {}), (self.client.update_function_code, code),
                               (self.client.update_function_configuration, {"Timeout": 3}), (self.client.delete_function, {}),
                               (self.client.put_function_concurrency, {"ReservedConcurrentExecutions": 1}),
                               (self.client.get_function_concurrency, {}), (self.client.delete_function_concurrency, {}),
                               (self.client.put_function_event_invoke_config, {"MaximumRetryAttempts": 1}),
                               (self.client.update_function_event_invoke_config, {"MaximumRetryAttempts": 1}),
                               (self.client.get_function_event_invoke_config, {}),
                               (self.client.list_function_event_invoke_configs, {}),
                               (self.client.delete_function_event_invoke_config, {}),
                               (self.client.list_event_source_mappings, {})):
                with self.subTest(name=name, call=call.__name__):
                    self.refused("ResourceNotFoundException", call, FunctionName=name, **more)
        for call in (self.client.invoke, self.client.get_function, self.client.get_function_event_invoke_config):
            self.refused("ResourceNotFoundException", call, FunctionName="Versioned", Qualifier="1")
        self.refused("InvalidParameterValueException", self.create, "Versioned:1", keep=True)
        # Nothing of that has changed it, and $LATEST is there in every form.
        for name in ("Versioned:$LATEST", arn, arn + ":$LATEST", "000000000000:function:Versioned"):
            self.assertEqual(self.invoke(name, {"n": 1}), ["first", 2])
        self.assertEqual(self.client.get_function(FunctionName="Versioned", Qualifier="$LATEST")["Configuration"]["Timeout"], 20)
        self.assertNotIn("Concurrency", self.client.get_function(FunctionName="Versioned"))

    def test_concurrency(self):
        self.create("Limited")
        self.assertNotIn("ReservedConcurrentExecutions", self.client.get_function_concurrency(FunctionName="Limited"))
        put = self.client.put_function_concurrency(FunctionName="Limited", ReservedConcurrentExecutions=0)
        self.assertEqual(put["ReservedConcurrentExecutions"], 0)
        self.assertEqual(self.client.get_function(FunctionName="Limited")["Concurrency"], {"ReservedConcurrentExecutions": 0})
        self.assertEqual(self.refused("TooManyRequestsException", self.invoke, "Limited", {"n": 1}), "Rate Exceeded.")
        self.client.delete_function_concurrency(FunctionName="Limited")
        self.assertEqual(self.invoke("Limited", {"n": 1}), ["first", 2])


class InvokeConfigs(Case):
    def test_put_update_get_list_delete(self):
        self.create("Later")
        topic = client(self.url, "sns").create_topic(Name="failed")["TopicArn"]
        get = lambda: self.client.get_function_event_invoke_config(FunctionName="Later")
        self.refused("ResourceNotFoundException", get)
        self.client.put_function_event_invoke_config(FunctionName="Later", MaximumRetryAttempts=1, MaximumEventAgeInSeconds=90,
                                                     DestinationConfig={"OnFailure": {"Destination": topic}})
        self.client.update_function_event_invoke_config(FunctionName="Later", MaximumRetryAttempts=0)
        config = get()
        self.assertEqual((config["MaximumRetryAttempts"], config["MaximumEventAgeInSeconds"]), (0, 90))
        self.assertEqual(config["DestinationConfig"]["OnFailure"], {"Destination": topic})
        self.assertTrue(config["FunctionArn"].endswith(":function:Later:$LATEST"))
        listed = self.client.list_function_event_invoke_configs(FunctionName="Later")["FunctionEventInvokeConfigs"]
        self.assertEqual([one["MaximumRetryAttempts"] for one in listed], [0])
        self.client.put_function_event_invoke_config(FunctionName="Later", MaximumRetryAttempts=2)
        self.assertEqual(get()["DestinationConfig"], {"OnSuccess": {}, "OnFailure": {}})
        self.refused("InvalidParameterValueException", self.client.put_function_event_invoke_config, FunctionName="Later",
                     DestinationConfig={"OnFailure": {"Destination": topic + "-other"}})
        self.client.delete_function_event_invoke_config(FunctionName="Later")
        self.refused("ResourceNotFoundException", get)

    def test_dead_letters_stand_beside_the_event_invoke_config(self):
        """The event itself goes to the dead-letter topic, whatever becomes of the config."""
        letters = queue.Queue()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()
                letters.put(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sns = client(self.url, "sns")
        topic = sns.create_topic(Name="dead")["TopicArn"]
        sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=f"http://127.0.0.1:{server.server_port}/")
        sns.confirm_subscription(TopicArn=topic, Token=letters.get(timeout=WAIT_SECONDS)["Token"])

        made = self.create("Dying", {"ZipFile": archive(app="def handler(event, context):\n    raise ValueError(event['n'])\n")},
                           DeadLetterConfig={"TargetArn": topic})
        self.assertEqual(made["DeadLetterConfig"], {"TargetArn": topic})
        get = lambda: self.client.get_function_event_invoke_config(FunctionName="Dying")
        self.refused("ResourceNotFoundException", get)
        shown = lambda: self.client.get_function_configuration(FunctionName="Dying").get("DeadLetterConfig")
        self.client.put_function_event_invoke_config(FunctionName="Dying", MaximumRetryAttempts=0)
        self.assertEqual(get()["DestinationConfig"], {"OnSuccess": {}, "OnFailure": {}})
        self.assertEqual(shown(), {"TargetArn": topic})
        request = self.client.invoke(FunctionName="Dying", InvocationType="Event", Payload=b'{"n": 7}')
        letter = letters.get(timeout=WAIT_SECONDS)
        self.assertEqual(json.loads(letter["Message"]), {"n": 7})
        values = {name: one["Value"] for name, one in letter["MessageAttributes"].items()}
        self.assertEqual(values, {"RequestID": request["ResponseMetadata"]["RequestId"], "ErrorCode": "200", "ErrorMessage": "7"})

        self.client.delete_function_event_invoke_config(FunctionName="Dying")
        self.assertEqual(shown(), {"TargetArn": topic})
        self.client.update_function_configuration(FunctionName="Dying", DeadLetterConfig={"TargetArn": ""})
        self.assertIsNone(shown())
        self.refused("InvalidParameterValueException", self.client.update_function_configuration, FunctionName="Dying",
                     DeadLetterConfig={"TargetArn": topic + ".fifo"})


class Mappings(Case):
    def setUp(self):
        super().setUp()
        self.dynamodb = client(self.url)
        self.addCleanup(self.dynamodb.close)
        self.dynamodb.create_table(TableName="Source", BillingMode="PAY_PER_REQUEST",
                                   AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                                   KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                                   StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
        self.addCleanup(lambda: self.dynamodb.delete_table(TableName="Source"))
        self.stream = self.dynamodb.describe_table(TableName="Source")["Table"]["LatestStreamArn"]
        self.create("Reader", {"ZipFile": archive(app=(
            "import boto3\nfrom botocore.config import Config\n"
            "def handler(event, context):\n"
            "    table = boto3.client('dynamodb')\n"
            "    for record in event['Records']:\n"
            "        table.put_item(TableName='Seen', Item=record['dynamodb']['Keys'])\n"))})
        self.dynamodb.create_table(TableName="Seen", BillingMode="PAY_PER_REQUEST",
                                   AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                                   KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}])
        self.addCleanup(lambda: self.dynamodb.delete_table(TableName="Seen"))

    def put(self, name):
        self.dynamodb.put_item(TableName="Source", Item={"id": {"S": name}})

    def wait_for(self, *names):
        deadline = time.monotonic() + WAIT_SECONDS
        while sorted(names) != self.seen():
            self.assertLess(time.monotonic(), deadline, self.seen())
            time.sleep(0.02)

    def seen(self):
        return sorted(item["id"]["S"] for item in self.dynamodb.scan(TableName="Seen")["Items"])

    def test_create_get_list_update_delete(self):
        self.put("before")
        made = self.client.create_event_source_mapping(
            EventSourceArn=self.stream, FunctionName="Reader", StartingPosition="TRIM_HORIZON", BatchSize=5,
            MaximumRetryAttempts=3, BisectBatchOnFunctionError=True,
            FilterCriteria={"Filters": [{"Pattern": '{"dynamodb": {"Keys": {"id": {"S": [{"anything-but": ["not this"]}]}}}}'}]})
        self.assertEqual(made["ResponseMetadata"]["HTTPStatusCode"], 202)
        self.assertEqual((made["EventSourceArn"], made["BatchSize"], made["State"]), (self.stream, 5, "Enabled"))
        self.assertLess(abs(made["LastModified"].timestamp() - time.time()), 60)
        self.wait_for("before")
        mapping = made["UUID"]
        self.assertRegex(mapping, r"\A[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
        self.assertIn("already exists", self.refused(
            "ResourceConflictException", self.client.create_event_source_mapping, EventSourceArn=self.stream,
            FunctionName="Reader", StartingPosition="LATEST"))

        off = self.client.update_event_source_mapping(UUID=mapping, Enabled=False, BatchSize=7, ParallelizationFactor=3)
        self.assertIn(off["State"], ("Updating", "Disabling", "Disabled"))
        self.assertEqual((off["BatchSize"], off["MaximumRetryAttempts"], off["ParallelizationFactor"]), (7, 3, 3))
        self.put("while it is off")
        self.put("not this")
        self.client.update_event_source_mapping(UUID=mapping, Enabled=True)
        self.wait_for("before", "while it is off")  # Nothing is lost, nothing comes that was filtered.

        got = self.client.get_event_source_mapping(UUID=mapping)
        self.refused("ResourceNotFoundException", self.client.update_event_source_mapping, UUID=mapping,
                     FunctionName="Reader:1")
        self.assertEqual((got["State"], got["BisectBatchOnFunctionError"], got["LastProcessingResult"]),
                         ("Enabled", True, "OK"))
        for query in ({}, {"FunctionName": "Reader"}, {"EventSourceArn": self.stream}):
            listed = self.client.list_event_source_mappings(**query)["EventSourceMappings"]
            self.assertEqual([one["UUID"] for one in listed], [mapping])
        version = self.client.publish_version(FunctionName="Reader")["Version"]
        other = self.client.create_event_source_mapping(EventSourceArn=self.stream, FunctionName="Reader:" + version,
                                                        StartingPosition="LATEST", Enabled=False)["UUID"]
        self.assertIn(mapping, self.refused("ResourceConflictException", self.client.update_event_source_mapping, UUID=other,
                                            FunctionName="Reader"))
        self.client.delete_event_source_mapping(UUID=other)
        self.client.delete_function(FunctionName="Reader", Qualifier=version)
        self.assertEqual(self.client.list_event_source_mappings(FunctionName="Other")["EventSourceMappings"], [])
        gone = self.client.delete_event_source_mapping(UUID=mapping)
        self.assertEqual(gone["State"], "Deleting")
        self.refused("ResourceNotFoundException", self.client.get_event_source_mapping, UUID=mapping)

    def test_what_is_refused(self):
        create = lambda **more: self.client.create_event_source_mapping(**{
            "EventSourceArn": self.stream, "FunctionName": "Reader", "StartingPosition": "LATEST", **more})
        wrong = "InvalidParameterValueException"
        self.refused("ResourceNotFoundException", create, FunctionName="Nobody")
        for name in ("Reader:1", "000000000000:function:Reader:live"):
            self.refused("ResourceNotFoundException", create, FunctionName=name)
        for at in (1700000000, None):
            more = {"StartingPositionTimestamp": at} if at else {}
            self.assertEqual(self.refused(wrong, create, StartingPosition="AT_TIMESTAMP", **more),
                             f"Unsupported starting position for arn type: {self.stream}")
        self.refused(wrong, create, StartingPositionTimestamp=1700000000)
        self.refused(wrong, create, EventSourceArn="arn:aws:sqs:us-east-1:000000000000:queue")
        self.refused(wrong, create, EventSourceArn=self.stream.replace("Source", "Other"))
        self.refused(wrong, create, BatchSize=0)
        self.refused(wrong, create, ParallelizationFactor=11)
        self.refused(wrong, create, TumblingWindowInSeconds=901)
        self.refused(wrong, create, ParallelizationFactor=2, TumblingWindowInSeconds=1)
        self.refused(wrong, create, StartingPosition="NOWHERE")
        self.refused(wrong, create, FilterCriteria={"Filters": [{"Pattern": "no json"}]})
        # A list that is none is not the same as an empty one.
        for more in ({"FunctionResponseTypes": "ReportBatchItemFailures"}, {"FilterCriteria": {"Filters": "[]"}}):
            body = {"EventSourceArn": self.stream, "FunctionName": "Reader", "StartingPosition": "LATEST", **more}
            status, answer = self.post("/2015-03-31/event-source-mappings/", body)
            self.assertEqual((status, "must be a list" in answer), (400, True), answer)
        self.assertEqual(self.client.list_event_source_mappings()["EventSourceMappings"], [])


class Coverage(Case):
    """docs/compatibility.md, held against the service's model and the server."""

    def rows(self):
        text = (ROOT / "docs/compatibility.md").read_text()
        section = text[text.index("\n## Lambda\n"):]
        section = section[:section.index("\n## ", 2)]
        for line in section.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            if line.startswith("| ") and len(cells) == 3 and cells[0] != "Operation":
                yield cells[0].split(", "), cells[1] + " " + cells[2]

    def test_every_parameter_of_what_is_there_is_told(self):
        model = self.client.meta.service_model
        told = {}
        for operations, text in self.rows():
            names = set(re.findall(r"`(\w+)`", text))
            for other in re.findall(r"as (Create\w+|Invoke)", text) + (
                    ["CreateEventSourceMapping"] if "and the same" in text else []):
                names |= told[other]
            for operation in operations:
                told[operation] = names
                self.assertIn(operation, model.operation_names)
                shape = model.operation_model(operation).input_shape
                others = {"StartingPositionTimestamp", "Topics", "Queues", "SourceAccessConfigurations",
                          "SelfManagedEventSource", "AmazonManagedKafkaEventSourceConfig",
                          "SelfManagedKafkaEventSourceConfig"}  # Told as other sources' parameters.
                # For all calls: no versions but $LATEST, and pages where the row says so.
                untold = set(shape.members) - names - others - {"Qualifier", "Marker", "MaxItems"}
                self.assertEqual(untold, set(), operation)
        self.assertGreater(len(told), 20)

    def test_what_is_not_told_is_not_implemented(self):
        there = {operation for operations, _ in self.rows() for operation in operations}
        model = self.client.meta.service_model
        for name in set(model.operation_names) - there:
            http = model.operation_model(name).http
            path = re.sub(r"\{[^}]*\}", "x", http["requestUri"])
            request = urllib.request.Request(self.url + path, b"{}" if http["method"] in ("POST", "PUT") else None,
                                             method=http["method"])
            with self.assertRaises(urllib.error.HTTPError, msg=name) as caught:
                urllib.request.urlopen(request, timeout=30)
            self.assertEqual((caught.exception.code, caught.exception.headers["x-amzn-ErrorType"]), (501, "NotImplemented"), name)
            caught.exception.close()


class OtherClients(Case):
    @unittest.skipUnless(HAS_AWS, NO_AWS)
    def test_aws(self):
        with tempfile.TemporaryDirectory(prefix="freshet-aws-") as folder:
            file = pathlib.Path(folder) / "code.zip"
            file.write_bytes(answering("by aws"))
            self.addCleanup(lambda: self.delete("ByAws"))
            run = lambda *words: aws(self.url, "lambda", *words)
            made = run("create-function", "--function-name", "ByAws", "--runtime", "python3.11", "--role", ROLE, "--handler",
                       "app.handler", "--zip-file", f"fileb://{file}", "--timeout", "20", "--environment",
                       "Variables={PATH=/usr/local/bin:/usr/bin:/bin}")
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertEqual(json.loads(made.stdout)["Timeout"], 20)
            for words in (("put-function-concurrency", "--reserved-concurrent-executions", "2"),
                          ("update-function-configuration", "--description", "changed"),
                          ("put-function-event-invoke-config", "--maximum-retry-attempts", "0"),
                          ("get-function-event-invoke-config",)):
                done = run(words[0], "--function-name", "ByAws", *words[1:])
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.invoke("ByAws", {"n": 2}), ["by aws", 4])
            self.assertEqual(run("delete-function", "--function-name", "ByAws").returncode, 0)
            missing = run("get-function", "--function-name", "ByAws")
            self.assertIn("ResourceNotFoundException", missing.stderr)

    @unittest.skipUnless(HAS_NODE and (NODE / "node_modules/@aws-sdk/client-lambda").is_dir(), NO_NODE)
    def test_javascript(self):
        with tempfile.TemporaryDirectory(prefix="freshet-js-") as folder:
            file = pathlib.Path(folder) / "code.zip"
            file.write_bytes(answering("by JavaScript"))
            done = node(self.url, "lambda_v3.mjs", str(file))
            self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
            self.assertEqual(json.loads(done.stdout)["result"], ["by JavaScript", 6])


if __name__ == "__main__":
    unittest.main()
