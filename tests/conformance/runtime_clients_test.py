#!/usr/bin/env python3
"""The official runtime clients in the place of Freshet's own, where a function brings them. Started like conformance_test.py.

Node.js: npm's aws-lambda-ric itself, which ./test.sh installs in ric/ of FRESHET_NODE_MODULES (a native build). Python: a stand-in of
the name awslambdaric (tests/apps/awslambdaric), started by the same command, which speaks the Runtime API with the requests that the
official one sends. awslambdaric_test.py runs the official one, where ./test.sh could install it.
"""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from endpoint import NODE, ROOT, Endpoint, client  # noqa: E402

RIC = NODE / "ric" / "node_modules" / "aws-lambda-ric"
HAS_RIC = shutil.which("node") is not None and (RIC / "dist" / "rapid-client.node").exists()
NO_RIC = f"aws-lambda-ric is not in {RIC} (./test.sh installs it): the official client for Node.js is NOT tested"

NODE_CODE = '''
const https = require("https");
const by = () => Object.getOwnPropertySymbols(globalThis).map(String)
  .includes("Symbol(aws.lambda.beforeExit)") ? "official" : "own";
exports.who = async (event, context) => ({ by: by(), event, id: context.awsRequestId, name: context.functionName,
  arn: context.invokedFunctionArn, client: context.clientContext, left: context.getRemainingTimeInMillis() > 1000,
  trace: process.env._X_AMZN_TRACE_ID, identity: context.identity });
exports.fails = async (event) => { console.log("before the error"); throw new RangeError("too far"); };
exports.never = () => new Promise(() => setTimeout(() => console.log("the last timer"), 5));
exports.callback = (event, context, callback) => setTimeout(() => callback(null, { late: event.n }), 5);
exports.crash = async () => { setTimeout(() => { throw new TypeError("from a timer"); }, 1); await new Promise(() => {}); };
exports.stream = globalThis.awslambda && awslambda.streamifyResponse(async (event, output) => {
  for (const part of event.parts) output.write(part);
  output.end();
});
exports.late = globalThis.awslambda && awslambda.streamifyResponse(async (event, output) => {
  output.write("half");
  throw new RangeError("on the way");
});
// Where the trace of this invocation is found, and whether the C library's environment, which never gives a value's memory
// back, has it too.
exports.trace = async (event, context) => {
  const name = "_X_AMZN_TRACE_ID";
  const { env } = await import("node:process");
  const found = { header: process.env[name], imported: env[name], copied: { ...process.env }[name], listed: name in process.env,
    child: require("child_process").execFileSync("printenv", [name]).toString().trim() };
  const inC = name in process.report.getReport().environmentVariables;
  process.env.OTHER = "set";
  const others = [process.env.OTHER, delete process.env.OTHER, process.env.OTHER, process.report.getReport().environmentVariables.OTHER];
  process.env[name] = "own";
  const own = process.env[name];
  return { found, inC, others, own, gone: delete process.env[name] && !(name in process.env) };
};
// What programs do to the environment, the trace included, is as it is without anything around it.
exports.environment = async () => {
  const name = "_X_AMZN_TRACE_ID";
  const refused = (change) => {
    try {
      change();
      return false;
    } catch (error) {
      return error instanceof TypeError;
    }
  };
  const trace = process.env[name];
  const derived = Object.create(process.env);
  derived.OF_DERIVED = derived[name] = "derived";
  const inherits = [derived.OF_DERIVED, process.env.OF_DERIVED === undefined, process.env[name] === trace, Object.keys(derived).length];
  const refusals = [
    refused(() => (process.env[name] = Symbol("s"))),
    refused(() => Object.defineProperty(process.env, name, { value: "1" })),
    refused(() => Object.defineProperty(process.env, name, { get: () => "1", configurable: true })),
  ];
  const { Worker, SHARE_ENV } = require("worker_threads");
  await new Promise((done) => new Worker(`process.env.${name} = process.env.OF_WORKER = "worker"`, { eval: true, env: SHARE_ENV }).on("exit", done));
  const keys = Object.keys(process.env).filter((key) => key === name);
  return { inherits, refusals, keys, kept: process.env[name] === trace, worker: process.env.OF_WORKER };
};
// As an SDK of 2021 calls: to amazonaws.com, whatever the environment says.
exports.oldSdk = () => new Promise((done, fail) => {
  const request = https.request({ hostname: "dynamodb.us-east-1.amazonaws.com", method: "POST", path: "/", headers: {
    "content-type": "application/x-amz-json-1.0", "x-amz-target": "DynamoDB_20120810.ListTables" } }, (answer) => {
    let text = "";
    answer.on("data", (part) => { text += part; });
    answer.on("end", () => done(JSON.parse(text)));
  });
  request.on("error", fail);
  request.end("{}");
});
'''
MODULE = "export const handler = async ({ n }) => ({ n, module: typeof require === 'undefined' });\n"
PYTHON_CODE = '''
import os, sys

def who(event, context):
    said = context.client_context
    return {"by": "official" if "awslambdaric" in sys.modules else "own", "event": event, "id": context.aws_request_id,
            "arn": context.invoked_function_arn, "trace": os.environ["_X_AMZN_TRACE_ID"], "argv": sys.argv[1:],
            "client": said and {"custom": said.custom, "env": said.env, "title": said.client and said.client.app_title},
            "pool": context.identity.cognito_identity_pool_id}

def trace(event, context):
    import ctypes, subprocess
    name = "_X_AMZN_TRACE_ID"
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    value = os.environ[name]
    child = subprocess.run(["printenv", name], capture_output=True, text=True).stdout.strip()
    answer = {"value": value, "child": child, "at": libc.getenv(name.encode())}
    if event.get("change"):
        os.environ[name] = "own"
        answer["own"] = [os.environ[name], subprocess.run(["printenv", name], capture_output=True, text=True).stdout.strip()]
        del os.environ[name]
        answer["gone"] = name not in os.environ and libc.getenv(name.encode()) is None
    return answer

def fails(event, context):
    print("before the error")
    raise KeyError("odd")
'''
CLIENT_CONTEXT = {"custom": {"colour": "gr\u00fcn"}, "env": {"locale": "de"}, "client": {"app_title": "App"}}
BROKEN = {"name": "aws-lambda-ric", "version": "0.0.0", "bin": {"aws-lambda-ric": "bin/index.mjs"}}


def function(name, runtime, folder, handler, choice=None):
    chosen = f", FRESHET_RUNTIME_CLIENT: {choice}" if choice else ""
    return f"""
  {name}:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: {runtime}
      CodeUri: {folder}/
      Handler: {handler}
      Timeout: 20
      MemorySize: 256
      Environment: {{Variables: {{PATH: /usr/local/bin:/usr/bin:/bin{chosen}}}}}
"""


def setUpModule():
    global folder, endpoint
    folder = tempfile.TemporaryDirectory(prefix="freshet-clients-")
    root = pathlib.Path(folder.name)
    for name in ("official", "plain", "broken"):
        (root / name).mkdir()
        (root / name / "index.js").write_text(NODE_CODE)
        (root / name / "module.mjs").write_text(MODULE)
        (root / name / "app.py").write_text(PYTHON_CODE)
    shutil.copytree(ROOT / "tests" / "apps" / "awslambdaric", root / "official" / "awslambdaric")
    (root / "broken" / "awslambdaric").mkdir()
    (root / "broken" / "awslambdaric" / "__init__.py").write_text("import awslambdaric_native\n")
    (root / "broken" / "node_modules" / "aws-lambda-ric" / "bin").mkdir(parents=True)
    (root / "broken" / "node_modules" / "aws-lambda-ric" / "package.json").write_text(json.dumps(BROKEN))
    (root / "broken" / "node_modules" / "aws-lambda-ric" / "bin" / "index.mjs").write_text("import './nothing.mjs';\n")
    template = "Transform: AWS::Serverless-2016-10-31\nResources:\n"
    for place in ("official", "plain", "broken"):
        template += function(place.capitalize() + "Python", "python3.11", place, "app.who")
    template += function("Fails", "python3.11", "official", "app.fails")
    template += function("Missing", "python3.11", "official", "nothing.handler")
    template += function("TracePython", "python3.11", "plain", "app.trace")
    template += function("OwnPython", "python3.11", "official", "app.who", "own")
    template += function("WantedPython", "python3.11", "plain", "app.who", "official")
    if shutil.which("node"):
        template += function("TraceNode", "nodejs20.x", "plain", "index.trace")
        template += function("EnvironmentNode", "nodejs20.x", "plain", "index.environment")
        template += function("PlainNode", "nodejs20.x", "plain", "index.who")
        template += function("WantedNode", "nodejs20.x", "plain", "index.who", "official")
        template += function("BrokenNode", "nodejs20.x", "broken", "index.who")
        template += function("OwnBrokenNode", "nodejs20.x", "broken", "index.who", "own")
    if HAS_RIC:
        (root / "official" / "node_modules").symlink_to(RIC.parent)
        for name in ("who", "fails", "never", "callback", "crash", "stream", "late", "oldSdk", "nobody"):
            template += function("Node" + name.capitalize(), "nodejs20.x", "official", "index." + name)
        template += function("NodeModule", "nodejs20.x", "official", "module.handler")
        template += function("NodeMissing", "nodejs20.x", "official", "nothing.handler")
        template += function("NodeOwn", "nodejs20.x", "official", "index.who", "own")
        by_path = function("NodePath", "nodejs20.x", "plain", "index.who")
        template += by_path.replace("{PATH:", f"{{NODE_PATH: {RIC.parent}, PATH:")
    (root / "template.yaml").write_text(template)
    endpoint = Endpoint(str(root / "template.yaml"))
    endpoint.__enter__()


def tearDownModule():
    endpoint.__exit__()
    folder.cleanup()


class Case(unittest.TestCase):
    def setUp(self):
        self.client = client(endpoint.url, "lambda")
        self.addCleanup(self.client.close)

    def call(self, name, event=None, **more):
        """The result, the error's kind, and the log."""
        answer = self.client.invoke(FunctionName=name, Payload=json.dumps(event or {}), LogType="Tail", **more)
        log = base64.b64decode(answer["LogResult"]).decode()
        return json.loads(answer["Payload"].read()), answer.get("FunctionError"), log

    def works_as(self, name, by):
        context = base64.b64encode(json.dumps(CLIENT_CONTEXT, ensure_ascii=False).encode()).decode()
        for n in range(3):
            result, error, _ = self.call(name, {"n": n}, ClientContext=context)
            self.assertIsNone(error, result)
            self.assertEqual((result["by"], result["event"]), (by, {"n": n}))
            self.assertRegex(result["trace"], "^Root=1-")
            self.assertTrue(result["arn"].endswith(f":function:{name}"))
            said = result["client"]
            self.assertEqual(said["custom"], CLIENT_CONTEXT["custom"])
        self.assertIsNone(self.call(name, {"n": 0})[0].get("client"))
        return result

    def fails_with(self, name, error_type, text, **more):
        result, error, log = self.call(name, **more)
        self.assertEqual((error, result.get("errorType")), ("Unhandled", error_type), (result, log))
        self.assertIn(text, result["errorMessage"])
        return result, log


class Python(Case):
    def test_official_where_it_is_installed(self):
        result = self.works_as("OfficialPython", "official")
        self.assertEqual(result["argv"], ["app.who"])
        self.assertEqual(result["client"]["title"], "App")

    def test_own_elsewhere_or_when_it_is_wanted(self):
        for name in ("PlainPython", "OwnPython"):
            result = self.works_as(name, "own")
            self.assertEqual((result["client"]["env"], result["client"]["title"]), ({"locale": "de"}, "App"))
            self.assertIsNone(result["pool"])

    def test_the_trace_of_each_invocation_takes_no_new_memory(self):
        places, seen = set(), set()
        for n in range(4):
            result, error, _ = self.call("TracePython", {"change": n == 1})
            self.assertIsNone(error, result)
            self.assertRegex(result["value"], "^Root=1-")
            self.assertEqual(result["child"], result["value"])
            places.add(result["at"])
            seen.add(result["value"])
            if n == 1:
                self.assertEqual((result["own"], result["gone"]), (["own", "own"], True))
        self.assertEqual((len(places), len(seen)), (1, 4))

    def test_errors(self):
        _, log = self.fails_with("Fails", "KeyError", "odd")
        self.assertIn("before the error", log)
        self.fails_with("Missing", "Runtime.ImportModuleError", "nothing")

    def test_one_that_is_wanted_and_not_there_or_cannot_be_loaded(self):
        self.fails_with("WantedPython", "Runtime.ClientNotFound", "FRESHET_RUNTIME_CLIENT is official")
        self.fails_with("BrokenPython", "Runtime.ClientNotStarted", "FRESHET_RUNTIME_CLIENT=own")


@unittest.skipUnless(shutil.which("node"), "there is no node")
class PythonAtItsEnd(unittest.TestCase):
    def test_what_runs_after_python_still_has_the_environment(self):
        source = (ROOT / "runtime/clients/python_client.py").read_text().removesuffix("main()\n")
        program = source + """
import ctypes
keep_trace_in_one_place()
os.environ["_X_AMZN_TRACE_ID"] = "last"
libc = ctypes.CDLL(None)
libc.strdup.restype = ctypes.c_void_p
command = ctypes.c_void_p(libc.strdup(b"echo $_X_AMZN_TRACE_ID"))
libc.__cxa_atexit(libc.system, command, None)
"""
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        self.assertEqual((run.stdout, run.stderr), ("last\n", ""))


class NodeWithout(Case):
    def test_own_elsewhere(self):
        self.works_as("PlainNode", "own")
        self.works_as("OwnBrokenNode", "own")

    def test_the_trace_of_each_invocation_takes_no_new_memory(self):
        seen = set()
        for _ in range(3):
            result, error, _ = self.call("TraceNode")
            self.assertIsNone(error, result)
            found = result["found"]
            self.assertRegex(found["header"], "^Root=1-")
            self.assertEqual(found, {name: True if name == "listed" else found["header"] for name in found})
            seen.add(found["header"])
            self.assertFalse(result["inC"])
            self.assertEqual(result["others"], ["set", True, None, None])
            self.assertEqual((result["own"], result["gone"]), ("own", True))
        self.assertEqual(len(seen), 3)

    def test_the_environment_takes_what_programs_do_to_it(self):
        result, error, _ = self.call("EnvironmentNode")
        self.assertIsNone(error, result)
        self.assertEqual(result, {"inherits": ["derived", True, True, 2], "refusals": [True, True, True],
                                  "keys": ["_X_AMZN_TRACE_ID"], "kept": True, "worker": "worker"})

    def test_one_that_is_wanted_and_not_there_or_cannot_be_loaded(self):
        self.fails_with("WantedNode", "Runtime.ClientNotFound", "FRESHET_RUNTIME_CLIENT is official")
        self.fails_with("BrokenNode", "Runtime.ClientNotStarted", "FRESHET_RUNTIME_CLIENT=own")


@unittest.skipUnless(HAS_RIC, NO_RIC)
class Node(Case):
    def test_official_where_it_is_installed(self):
        result = self.works_as("NodeWho", "official")
        self.assertEqual((result["name"], result["left"]), ("NodeWho", True))
        self.works_as("NodePath", "official")
        self.works_as("NodeOwn", "own")

    def test_forms_of_handlers(self):
        for n in range(3):
            self.assertEqual(self.call("NodeCallback", {"n": n})[0], {"late": n})
            self.assertEqual(self.call("NodeModule", {"n": n})[0], {"n": n, "module": True})

    def test_errors(self):
        for _ in range(2):
            _, log = self.fails_with("NodeFails", "RangeError", "too far")
            self.assertIn("before the error", log)
        self.fails_with("NodeCrash", "TypeError", "from a timer")
        self.fails_with("NodeMissing", "Runtime.ImportModuleError", "nothing")
        self.fails_with("NodeNobody", "Runtime.HandlerNotFound", "index.nobody")

    def test_one_that_never_resolves_ends_with_its_event_loop(self):
        for _ in range(3):
            result, error, log = self.call("NodeNever")
            self.assertEqual((result, error), (None, None))
            self.assertIn("the last timer", log)

    def test_streaming(self):
        for n in range(3):
            result, error, _ = self.call("NodeStream", {"parts": ['{"n":', f"{n}", "}"]})
            self.assertEqual((result, error), ({"n": n}, None))
        self.fails_with("NodeLate", "RangeError", "on the way")
        self.assertEqual(self.call("NodeStream", {"parts": ["[]"]})[0], [])

    def test_sdks_that_know_no_endpoint_find_this_daemon(self):
        self.assertEqual(self.call("NodeOldsdk")[:2], ({"TableNames": []}, None))


if __name__ == "__main__":
    unittest.main()
