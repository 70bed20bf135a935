"""The server that the suite talks to: one that is already there (FRESHET_ENDPOINT), or a fresh daemon of its own.

Of a server that is already there a test is skipped, with the reason, when it needs an operation that is not known
there, and tables are waited for; against.py runs the suite like that and lists what differs.

The daemon is started on a free port with an empty store in memory and stopped (SIGTERM, then the exit status is
checked) when the suite ends. FRESHET_BINARY names the binary; build/release/freshet otherwise.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import boto3
import botocore.auth
import botocore.awsrequest
import botocore.config
import botocore.credentials
import botocore.session

ROOT = pathlib.Path(__file__).resolve().parents[2]
START_SECONDS = 30
STOP_SECONDS = 30
RAW_SECONDS = 30
CLIENT_SECONDS = 120  # For a whole run of a client program.
NODE = pathlib.Path(os.environ.get("FRESHET_NODE_MODULES", ""))  # Where `npm install` has been run.
HAS_AWS = shutil.which("aws") is not None
HAS_NODE = shutil.which("node") is not None and all(
    (NODE / "node_modules" / "@aws-sdk" / name).is_dir() for name in ("client-dynamodb", "client-dynamodb-streams"))
NO_AWS = "the aws CLI is not installed"
NO_NODE = "the AWS SDK for JavaScript is not in FRESHET_NODE_MODULES (./test.sh installs it)"


class Endpoint:
    def __init__(self, *options):
        """`options` are further ones of `freshet run`: such a server is always a daemon of its own."""
        self.url = None if options else os.environ.get("FRESHET_ENDPOINT")
        self.options = options
        self.process = None

    def __enter__(self):
        if self.url:
            return self
        binary = os.environ.get("FRESHET_BINARY", str(ROOT / "build" / "release" / "freshet"))
        self.directory = tempfile.TemporaryDirectory(prefix="freshet-conformance-")
        ready = pathlib.Path(self.directory.name) / "ready"
        listen = () if "--listen" in self.options else ("--listen", "127.0.0.1:0")
        command = [binary, "run", "--data", ":memory:", *listen, "--ready-file", str(ready), *self.options]
        if os.environ.get("FRESHET_COMMAND") and not self.options:  # Another server with the same promise about its ready file.
            command = [part.replace("READY", str(ready)) for part in os.environ["FRESHET_COMMAND"].split()]
        self.log = open(pathlib.Path(self.directory.name) / "log", "wb+")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + START_SECONDS
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.log.seek(0)
                raise RuntimeError(f"{command} did not get ready:\n{self.log.read().decode(errors='replace')}")
            time.sleep(0.02)
        self.url = ready.read_text().strip()
        return self

    def __exit__(self, *unused):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(STOP_SECONDS)
        self.log.seek(0)
        log = self.log.read().decode(errors="replace")
        self.log.close()
        self.directory.cleanup()
        if status != 0:
            raise RuntimeError(f"the daemon ended with status {status}:\n{log}")


def is_foreign(url):
    return url == os.environ.get("FRESHET_ENDPOINT")


def lacking(what):
    return unittest.SkipTest(f"this endpoint has no {what}")


def _operations():
    """The service's operations, which a server may lack. An invented one is unknown everywhere."""
    session = botocore.session.get_session()
    return {name for service in ("dynamodb", "dynamodbstreams")
            for name in session.get_service_model(service).operation_names}


def _check_known(operation, code):
    if code.endswith("UnknownOperationException") and operation in _operations():
        raise lacking(operation)


def _follow(client):
    """For endpoints other than a daemon of the suite's own: they may lack operations, and take time to make a table."""
    def done(parsed, model, **_):
        _check_known(model.name, parsed.get("Error", {}).get("Code", ""))
        if model.name == "CreateTable" and "TableDescription" in parsed:
            client.get_waiter("table_exists").wait(TableName=parsed["TableDescription"]["TableName"],
                                                   WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    client.meta.events.register("after-call.*.*", done)


def environment(url):
    """For child processes that use an SDK or the CLI."""
    child = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    child.update(
        AWS_ENDPOINT_URL=url,
        AWS_ACCESS_KEY_ID="conformance",
        AWS_SECRET_ACCESS_KEY="conformance",
        AWS_DEFAULT_REGION="us-east-1",
        AWS_REGION="us-east-1",
        AWS_PAGER="",
        AWS_EC2_METADATA_DISABLED="true",
    )
    return child


def _settings(url, **more):
    # The legacy retry mode is the one that checks x-amz-crc32.
    # The timeouts: an endpoint that does not answer fails the test and does not hold it.
    config = botocore.config.Config(retries={"mode": "legacy", "max_attempts": 2}, parameter_validation=False,
                                    connect_timeout=10, read_timeout=30)
    return dict(
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="conformance",
        aws_secret_access_key="conformance",
        config=config,
    ) | more


def client(url, service="dynamodb", **more):
    made = boto3.session.Session().client(service, **_settings(url, **more))
    if is_foreign(url):
        _follow(made)
    return made


def resource(url):
    made = boto3.session.Session().resource("dynamodb", **_settings(url))
    if is_foreign(url):
        _follow(made.meta.client)
    return made


def _run(url, command):
    done = subprocess.run(command, capture_output=True, text=True, env=environment(url), timeout=CLIENT_SECONDS)
    if is_foreign(url) and done.returncode != 0 and "UnknownOperationException" in done.stdout + done.stderr:
        raise lacking("operation that this client needs")
    return done


def aws(url, service, *arguments):
    """Runs the aws CLI, as a person would."""
    # Debian's CLI 2.9 does not know AWS_ENDPOINT_URL yet.
    return _run(url, ["aws", "--endpoint-url", url, "--output", "json", "--cli-read-timeout", "30", service, *arguments])


def node(url, name, *arguments):
    """Runs a script of this folder beside node_modules, where its imports are looked up."""
    script = NODE / name
    shutil.copy(pathlib.Path(__file__).parent / name, script)
    return _run(url, ["node", str(script), *arguments])


def raw(url, operation, body, prefix="DynamoDB_20120810"):
    """Sends the body as it is, signed: what no SDK would send, too. Returns the status and the answer's document."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"{prefix}.{operation}"}
    signed = botocore.awsrequest.AWSRequest("POST", url + "/", headers=headers, data=data)
    keys = botocore.credentials.Credentials("conformance", "conformance")
    botocore.auth.SigV4Auth(keys, "dynamodb", "us-east-1").add_auth(signed)
    request = urllib.request.Request(url + "/", data, dict(signed.headers.items()), method="POST")
    try:
        with urllib.request.urlopen(request, timeout=RAW_SECONDS) as answer:
            return answer.status, json.loads(answer.read() or b"{}")
    except urllib.error.HTTPError as error:
        document = json.loads(error.read() or b"{}")
        if is_foreign(url):
            _check_known(operation, document.get("__type", ""))
        return error.code, document
