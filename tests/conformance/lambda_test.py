#!/usr/bin/env python3
"""Functions as programs, invoked by boto3, the aws command and `freshet invoke`. Started like conformance_test.py.

The programs are Python and Node.js, and one `provided` program that speaks the Runtime API with the standard library
alone. What they reach of the daemon, they reach through boto3 of an age that does not know AWS_ENDPOINT_URL.
"""
import base64
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from endpoint import ROOT, Endpoint, client, environment  # noqa: E402

BINARY = os.environ.get("FRESHET_BINARY", str(ROOT / "build" / "release" / "freshet"))

PYTHON = '''
import json, logging, os
import boto3

logging.getLogger().setLevel(logging.INFO)

def handler(event, context):
    if event.get("fail"):
        raise KeyError(event["fail"])
    if "put" in event:
        boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item={"id": {"S": event["put"]}})
    logging.info("seen %s", json.dumps(event))
    print("plain")
    return {"event": event, "id": context.aws_request_id, "name": context.function_name, "arn": context.invoked_function_arn,
            "left": context.get_remaining_time_in_millis() > 1000, "memory": context.memory_limit_in_mb,
            "variables": sorted(os.environ), "trace": os.environ["_X_AMZN_TRACE_ID"]}
'''

NODE = '''
exports.handler = async (event, context) => {
  if (event.fail) throw new RangeError(event.fail);
  console.log("seen", JSON.stringify(event));
  return { event, name: context.functionName, id: context.awsRequestId.length };
};
exports.callback = (event, context, callback) => {
  setTimeout(() => callback(null, { late: event.n }), 5);
};
exports.never = () => new Promise(() => setTimeout(() => console.log("the last timer"), 5));
exports.stream = async (event) => { for (const r of event.Records) console.log("stream", r.dynamodb.Keys.id.S); };
exports.held = async ({ until }) => {
  console.log("begun");
  while (!require("fs").existsSync(until)) await new Promise((done) => setTimeout(done, 5));
  return "let go";
};
'''

MODULE = "export const handler = async ({ n }) => ({ n, module: typeof require === 'undefined' });\n"

BOOTSTRAP = '''#!/usr/bin/env python3
import http.client, os
api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
while True:
    api.request("GET", "/2018-06-01/runtime/invocation/next")
    event = api.getresponse()
    body = event.read()
    path = f"/2018-06-01/runtime/invocation/{event.headers['Lambda-Runtime-Aws-Request-Id']}/"
    if body.startswith(b'{"fail"'):
        kind = body.decode().split('"')[3]
        api.request("POST", path + "error", '{"errorType": "Own", "errorMessage": "m"}',
                    {"Lambda-Runtime-Function-Error-Type": kind})
    else:
        parts = iter([b"[", body, b"]"])
        api.request("POST", path + "response", parts, {"Transfer-Encoding": "chunked"}, encode_chunked=True)
    api.getresponse().read()
'''

TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Table:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      BillingMode: PAY_PER_REQUEST
      StreamSpecification: {StreamViewType: KEYS_ONLY}
"""


def function(name, runtime, handler, extra=""):
    return f"""
  {name}:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: {runtime}
      CodeUri: code/
      Handler: {handler}
      Timeout: 20
      Environment: {{Variables: {{TABLE: !Ref Table, PATH: /usr/local/bin:/usr/bin:/bin}}}}
{extra}"""


STREAM = """      Events:
        Changes:
          Type: DynamoDB
          Properties: {Stream: !GetAtt Table.StreamArn, StartingPosition: TRIM_HORIZON}
"""


def setUpModule():
    global folder, endpoint
    folder = tempfile.TemporaryDirectory(prefix="freshet-functions-")
    code = pathlib.Path(folder.name) / "code"
    code.mkdir()
    (code / "app.py").write_text(PYTHON)
    (code / "index.js").write_text(NODE)
    (code / "module.mjs").write_text(MODULE)
    (code / "bootstrap").write_text(BOOTSTRAP)
    (code / "bootstrap").chmod(0o755)
    template = TEMPLATE + function("Python", "python3.11", "app.handler") + function("Echo", "provided.al2023", "none")
    if shutil.which("node"):
        template += function("Node", "nodejs20.x", "index.handler") + function("Callback", "nodejs20.x", "index.callback")
        template += function("Never", "nodejs20.x", "index.never") + function("Module", "nodejs20.x", "module.handler")
        template += function("Stream", "nodejs20.x", "index.stream", STREAM)
        template += function("Held", "nodejs20.x", "index.held", "      ReservedConcurrentExecutions: 1\n")
    path = pathlib.Path(folder.name) / "template.yaml"
    path.write_text(template)
    endpoint = Endpoint(str(path))
    endpoint.__enter__()


def tearDownModule():
    endpoint.__exit__()
    folder.cleanup()


class Case(unittest.TestCase):
    def setUp(self):
        self.client = client(endpoint.url, "lambda")

    def invoke(self, name, event, **more):
        answer = self.client.invoke(FunctionName=name, Payload=json.dumps(event), **more)
        return answer, json.loads(answer["Payload"].read() or b"null")

    def wait_for_log(self, *texts):
        """Until one line of the daemon's log has all of them."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            endpoint.log.flush()
            lines = pathlib.Path(endpoint.log.name).read_text(errors="replace").splitlines()
            if any(all(text in line for text in texts) for line in lines):
                return
            time.sleep(0.05)
        self.fail(f"no line with {texts}")


class Python(Case):
    def test_result_context_and_environment(self):
        answer, result = self.invoke("Python", {"n": 1})
        self.assertEqual((answer["StatusCode"], answer["ExecutedVersion"]), (200, "$LATEST"))
        self.assertNotIn("FunctionError", answer)
        self.assertEqual(result["event"], {"n": 1})
        self.assertEqual(result["arn"], "arn:aws:lambda:us-east-1:000000000000:function:Python")
        self.assertEqual((result["left"], result["memory"]), (True, "128"))
        self.assertRegex(result["trace"], "^Root=1-[0-9a-f]{8}-[0-9a-f]{24};Parent=[0-9a-f]{16};Sampled=1$")
        for name in result["variables"]:
            self.assertFalse(name.startswith("FRESHET"), name)
        self.assertIn("AWS_LAMBDA_RUNTIME_API", result["variables"])
        self.assertNotIn("HOME", result["variables"])

    def test_request_id_and_trace_are_the_callers(self):
        trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
        add = lambda params, **_: params["headers"].update({"X-Amzn-Trace-Id": trace})
        self.client.meta.events.register("before-call.lambda.Invoke", add)
        answer, result = self.invoke("Python", {"n": 1})
        self.assertEqual(answer["ResponseMetadata"]["RequestId"], result["id"])
        self.assertEqual(result["trace"], trace)
        answer, _ = self.invoke("Python", {"n": "traced"}, InvocationType="Event")
        self.wait_for_log(f'"requestId":"{answer["ResponseMetadata"]["RequestId"]}"', "traced")

    def test_error_and_log(self):
        answer, result = self.invoke("Python", {"fail": "odd"}, LogType="Tail")
        self.assertEqual((answer["StatusCode"], answer["FunctionError"]), (200, "Unhandled"))
        self.assertEqual((result["errorType"], result["errorMessage"]), ("KeyError", "'odd'"))
        self.assertIn("in handler", result["stackTrace"][0])
        log = base64.b64decode(answer["LogResult"]).decode()
        self.assertIn("[ERROR] KeyError: 'odd'", log)
        self.assertRegex(log, "^START RequestId: ")
        self.assertIn("REPORT RequestId: ", log)

    def test_log_of_one_invocation_is_its_own(self):
        for n in range(20):
            answer, _ = self.invoke("Python", {"n": n}, LogType="Tail")
            log = base64.b64decode(answer["LogResult"]).decode()
            self.assertIn(f'seen {{"n": {n}}}', log)
            self.assertEqual(log.count("plain\n"), 1)

    def test_reaches_the_table_without_being_told(self):
        _, result = self.invoke("Python", {"put": "from-python"})
        self.assertEqual(result["event"], {"put": "from-python"})
        item = client(endpoint.url).get_item(TableName="Table", Key={"id": {"S": "from-python"}})
        self.assertIn("Item", item)


class Provided(Case):
    def test_a_program_of_its_own_with_a_streamed_answer(self):
        for n in range(3):
            self.assertEqual(self.invoke("Echo", {"n": n})[1], [{"n": n}])

    def test_an_error_that_its_runtime_has_handled(self):
        for kind, told in (("Handled", "Handled"), ("Unhandled", "Unhandled"), ("Runtime.Own", "Unhandled")):
            answer, document = self.invoke("Echo", {"fail": kind})
            self.assertEqual((answer["FunctionError"], document["errorType"]), (told, "Own"))


@unittest.skipUnless(shutil.which("node"), "there is no node")
class Node(Case):
    def test_forms_of_handlers(self):
        _, result = self.invoke("Node", {"n": 1})
        self.assertEqual(result, {"event": {"n": 1}, "name": "Node", "id": 36})
        self.assertEqual(self.invoke("Callback", {"n": 2})[1], {"late": 2})
        self.assertEqual(self.invoke("Module", {"n": 3})[1], {"n": 3, "module": True})

    def test_one_that_never_resolves_ends_with_its_event_loop(self):
        for _ in range(2):
            answer, result = self.invoke("Never", {}, LogType="Tail")
            self.assertNotIn("FunctionError", answer)
            self.assertIsNone(result)
            self.assertIn("the last timer", base64.b64decode(answer["LogResult"]).decode())

    def test_error(self):
        answer, result = self.invoke("Node", {"fail": "too far"})
        self.assertEqual(answer["FunctionError"], "Unhandled")
        self.assertEqual((result["errorType"], result["errorMessage"]), ("RangeError", "too far"))
        self.assertIn("index.js", " ".join(result["trace"]))

    def test_stream(self):
        client(endpoint.url).put_item(TableName="Table", Item={"id": {"S": "seen-in-stream"}})
        self.wait_for_log('"function":"Stream"', "stream seen-in-stream")

    def test_reserved_concurrency(self):
        until = pathlib.Path(folder.name) / "let-go"
        with concurrent.futures.ThreadPoolExecutor() as pool:
            first = pool.submit(self.invoke, "Held", {"until": str(until)})
            try:
                self.wait_for_log('"function":"Held"', "begun")
                with self.assertRaises(self.client.exceptions.TooManyRequestsException) as caught:
                    self.invoke("Held", {"until": str(until)})
                self.assertIn("Rate Exceeded.", str(caught.exception))
            finally:
                until.touch()
            self.assertEqual(first.result()[1], "let go")


class Api(Case):
    def test_event_and_dry_run(self):
        self.assertEqual(self.invoke("Python", {"n": "later"}, InvocationType="Event")[0]["StatusCode"], 202)
        self.wait_for_log('"function":"Python"', 'seen {\\"n\\": \\"later\\"}')
        self.assertEqual(self.invoke("Python", {"n": "never"}, InvocationType="DryRun")[0]["StatusCode"], 204)

    def test_client_context(self):
        for wrong in ("no Base64", base64.b64encode(b"[1]").decode(), base64.b64encode(b'{"a":"%s"}' % (b"x" * 2680)).decode()):
            with self.assertRaises(self.client.exceptions.InvalidRequestContentException):
                self.invoke("Echo", {}, ClientContext=wrong)
        self.assertEqual(self.invoke("Echo", {}, ClientContext=base64.b64encode(b"{}").decode())[1], [{}])

    def test_errors(self):
        with self.assertRaises(self.client.exceptions.ResourceNotFoundException) as caught:
            self.invoke("Nobody", {})
        self.assertIn("Function not found: arn:aws:lambda:", str(caught.exception))
        with self.assertRaises(self.client.exceptions.InvalidRequestContentException):
            self.client.invoke(FunctionName="Echo", Payload="{")

    def test_describe(self):
        found = self.client.get_function(FunctionName="Python")["Configuration"]
        self.assertEqual((found["Runtime"], found["Handler"], found["Timeout"]), ("python3.11", "app.handler", 20))
        names = [f["FunctionName"] for page in self.client.get_paginator("list_functions").paginate(
            PaginationConfig={"PageSize": 1}) for f in page["Functions"]]
        self.assertIn("Echo", names)
        self.assertEqual(names, sorted(names))

    def test_aws_command(self):
        if not shutil.which("aws"):
            self.skipTest("there is no aws command")
        out = pathlib.Path(folder.name) / "out.json"
        done = subprocess.run(["aws", "--endpoint-url", endpoint.url, "lambda", "invoke", "--function-name", "Echo",
                               "--payload", '{"n": 1}', str(out)],
                              env=environment(endpoint.url), capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(out.read_text()), [{"n": 1}])

    def test_freshet_invoke(self):
        run = lambda *words, **more: subprocess.run([BINARY, "invoke", *words, "--url", endpoint.url],
                                                    capture_output=True, text=True, check=False, **more)
        done = run("Echo", "--event", "-", input='{"n": 5}')
        self.assertEqual((done.returncode, json.loads(done.stdout)), (0, [{"n": 5}]))
        failed = run("Python", "--event", "-", "--log", input='{"fail": "x"}')
        self.assertEqual((failed.returncode, json.loads(failed.stdout)["errorType"]), (1, "KeyError"))
        self.assertIn("[ERROR] KeyError", failed.stderr)
        torn = run("Echo", "--event", "-", input="{")
        self.assertEqual((torn.returncode, torn.stdout), (2, ""))
        self.assertIn("Could not parse request body into json", torn.stderr)
        missing = run("Nobody")
        self.assertEqual((missing.returncode, missing.stdout), (3, ""))
        self.assertIn("there is no function 'Nobody'; there are ", missing.stderr)


if __name__ == "__main__":
    unittest.main()
