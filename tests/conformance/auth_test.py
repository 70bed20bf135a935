#!/usr/bin/env python3
"""Signed requests: real clients against a daemon that has credentials. Needs the daemon's binary (FRESHET_BINARY)."""
import datetime
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

import boto3
import botocore.auth
import botocore.awsrequest
import botocore.config
import botocore.credentials
from botocore.exceptions import ClientError

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import endpoint  # noqa: E402

HERE = pathlib.Path(__file__).parent
KEY, SECRET = "AKIDCONFORMANCE", "the/secret+of=conformance"
FILE = (f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n"
        "[temporary]\naws_access_key_id = ASIACONFORMANCE\naws_secret_access_key = other\naws_session_token = token+/=\n"
        "[reader]\naws_access_key_id = AKIDREADER\naws_secret_access_key = reads\nfreshet_role = read\n"
        "[worker]\naws_access_key_id = AKIDWORKER\naws_secret_access_key = works\nfreshet_role = work\n")
DIRECTORY = tempfile.TemporaryDirectory(prefix="freshet-auth-")
CREDENTIALS = pathlib.Path(DIRECTORY.name) / "credentials"
BINARY = os.environ.get("FRESHET_BINARY", str(endpoint.ROOT / "build" / "release" / "freshet"))
SERVER = endpoint.Endpoint("--credentials", str(CREDENTIALS))


def setUpModule():
    CREDENTIALS.touch(mode=0o600)
    CREDENTIALS.write_text(FILE)
    SERVER.__enter__()


def tearDownModule():
    for made in CLIENTS:
        made.close()
    SERVER.__exit__()
    DIRECTORY.cleanup()


CLIENTS = []


def client(key=KEY, secret=SECRET, token=None, region="us-east-1", service="dynamodb"):
    config = botocore.config.Config(retries={"max_attempts": 0})
    made = boto3.session.Session().client(service, endpoint_url=SERVER.url, region_name=region, aws_access_key_id=key,
                                          aws_secret_access_key=secret, aws_session_token=token, config=config)
    CLIENTS.append(made)
    return made


class Signed(unittest.TestCase):
    maxDiff = None

    def fails(self, code, message, call, **request):
        with self.assertRaises(ClientError) as caught:
            call(**request)
        error = caught.exception.response["Error"]
        self.assertEqual(error["Code"], code, error)
        self.assertIn(message, error["Message"])
        self.assertEqual(caught.exception.response["ResponseMetadata"]["HTTPStatusCode"], 400)
        self.assertIn("RequestId", caught.exception.response["ResponseMetadata"])

    def test_boto3(self):
        self.assertIn("TableNames", client().list_tables())
        self.assertIn("Streams", client(service="dynamodbstreams").list_streams())
        self.assertIn("TableNames", client("ASIACONFORMANCE", "other", "token+/=").list_tables())
        self.fails("InvalidSignatureException", "does not match the signature you provided",
                   client(secret="wrong").list_tables)
        self.fails("UnrecognizedClientException", "security token", client("AKIDNOBODY").list_tables)
        self.fails("UnrecognizedClientException", "security token", client(token="x").list_tables)
        self.fails("UnrecognizedClientException", "", client("ASIACONFORMANCE", "other").list_tables)
        self.fails("InvalidSignatureException", "valid region, not 'eu-west-1'", client(region="eu-west-1").list_tables)
        unsigned = boto3.session.Session().client(
            "dynamodb", endpoint_url=SERVER.url, region_name="us-east-1",
            config=botocore.config.Config(signature_version=botocore.UNSIGNED, retries={"max_attempts": 0}))
        CLIENTS.append(unsigned)
        self.fails("MissingAuthenticationTokenException", "Request is missing Authentication Token", unsigned.list_tables)

    def test_roles(self):
        reader, worker = client("AKIDREADER", "reads"), client("AKIDWORKER", "works")
        table = dict(TableName="roles", BillingMode="PAY_PER_REQUEST",
                     KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                     AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}])
        self.fails("AccessDeniedException", "needs the role admin", worker.create_table, **table)
        client().create_table(**table)
        self.addCleanup(client().delete_table, TableName="roles")
        item = {"TableName": "roles", "Item": {"id": {"S": "a"}}}
        self.fails("AccessDeniedException", "AKIDREADER has the role read; this request needs the role work",
                   reader.put_item, **item)
        self.fails("AccessDeniedException", "needs the role work", reader.execute_statement,
                   Statement="SELECT * FROM roles")
        worker.put_item(**item)
        self.assertEqual(reader.scan(TableName="roles")["Items"], [item["Item"]])
        topics = client("AKIDWORKER", "works", service="sns")
        with self.assertRaises(ClientError) as caught:
            topics.create_topic(Name="roles")
        self.assertEqual(caught.exception.response["Error"]["Code"], "AuthorizationError")
        self.assertEqual(caught.exception.response["ResponseMetadata"]["HTTPStatusCode"], 403)

    def send(self, request):
        prepared = urllib.request.Request(request.url, request.data, dict(request.headers.items()), method=request.method)
        try:
            with urllib.request.urlopen(prepared, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as answer:
            with answer:
                return answer.code, answer.read().decode()

    def request(self, path="/", method="POST", body=b"{}"):
        return botocore.awsrequest.AWSRequest(
            method, SERVER.url + path, data=body,
            headers={"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Type": "application/x-amz-json-1.0"})

    def test_presigned(self):
        keys = botocore.credentials.Credentials(KEY, SECRET)

        class WithBody(botocore.auth.SigV4QueryAuth):
            def payload(self, request):  # botocore knows presigned requests without a body only.
                return hashlib.sha256(b"{}").hexdigest()

        request = self.request(body=b"")
        WithBody(keys, "dynamodb", "us-east-1", expires=60).add_auth(request)
        self.assertIn("X-Amz-Signature=", request.url)
        request.data = b"{}"
        self.assertEqual(self.send(request), (200, '{"TableNames":[]}'))
        request.data = b'{"Limit":1}'
        status, body = self.send(request)
        self.assertEqual((status, "InvalidSignatureException" in body), (400, True), body)

    def test_old_and_early_signatures(self):
        keys = botocore.credentials.Credentials(KEY, SECRET)
        real = datetime.datetime
        for hours, message in ((-1, "Signature expired: "), (1, "Signature not yet current: ")):

            class Shifted(real):
                @classmethod
                def utcnow(cls):
                    return real.utcnow() + datetime.timedelta(hours=hours)

            request = self.request()
            botocore.auth.datetime.datetime = Shifted
            try:
                botocore.auth.SigV4Auth(keys, "dynamodb", "us-east-1").add_auth(request)
            finally:
                botocore.auth.datetime.datetime = real
            status, body = self.send(request)
            self.assertEqual((status, json.loads(body)["__type"]), (400, "com.amazon.coral.service#InvalidSignatureException"))
            self.assertTrue(json.loads(body)["message"].startswith(message), body)

    def test_every_other_route_wants_a_signature_too(self):
        def get(path):
            return self.send(botocore.awsrequest.AWSRequest("GET", SERVER.url + path))

        for path in ("/", "/healthz", "/readyz"):
            self.assertEqual(get(path)[0], 200, path)
        for path in ("/queues/Q/tasks", "/record?table=x"):
            self.assertEqual(get(path)[0], 403, path)

    @unittest.skipUnless(shutil.which("curl"), "curl is not installed")
    def test_curl(self):
        def curl(user, path, *more):
            done = subprocess.run(
                ["curl", "-sS", "--aws-sigv4", "aws:amz:us-east-1:freshet", "--user", user, SERVER.url + path, *more],
                capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        self.assertIn("NotFound", curl(f"{KEY}:{SECRET}", "/queues/My%20Queue/sheds?limit=1"))
        self.assertIn("InvalidSignatureException", curl(f"{KEY}:wrong", "/queues/My%20Queue/tasks/a?x=1"))

    def session(self, method="GET", path="/session", body=None, server=None, **headers):
        """Status, JSON and headers of an unsigned request, as a browser or curl sends it."""
        data = None if body is None else json.dumps(body).encode()
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request((server or SERVER).url + path, data, more, method=method)
        if data is not None:
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read()), answer.headers
        except urllib.error.HTTPError as answer:
            with answer:
                return answer.code, json.loads(answer.read()), answer.headers

    def sign_in(self, key=KEY, secret=SECRET, server=None, **more):
        return self.session("POST", body={"accessKeyId": key, "secretAccessKey": secret, **more}, server=server)

    def test_sessions(self):
        status, answer, headers = self.sign_in("AKIDREADER", "reads")
        self.assertEqual((status, answer["signedInBy"], answer["accessKeyId"], answer["role"]), (200, "session", "AKIDREADER", "read"))
        value, *attributes = headers["Set-Cookie"].split("; ")
        port = SERVER.url.rpartition(":")[2]
        self.assertRegex(value, f"^freshet-session-{port}=[0-9a-f]{{64}}$")
        self.assertEqual(attributes, ["Path=/", "HttpOnly", "SameSite=Strict"])
        self.assertEqual(self.session(Cookie=value)[1]["accessKeyId"], "AKIDREADER")
        self.assertEqual(self.session(path="/queues", Cookie=value)[1]["queues"], [])
        status, answer, _ = self.session("POST", "/queues/Q/pause", {}, Cookie=value)
        self.assertIn("must say that it is of the daemon's own page", answer["error"]["message"])
        status, answer, _ = self.session("POST", "/queues/Q/pause", {}, Cookie=value, Origin=SERVER.url)
        self.assertEqual((status, answer["error"]["code"]), (403, "AccessDeniedException"))
        self.assertIn("AKIDREADER has the role read; this request needs the role operate", answer["error"]["message"])
        self.assertEqual(self.session("DELETE", Cookie=value, Origin="http://localhost:1")[0], 403)
        self.assertEqual(self.session("DELETE", Cookie=value, Origin=SERVER.url)[:2], (200, {}))
        status, answer, _ = self.session(path="/queues", Cookie=value)
        self.assertEqual((status, answer["error"]["code"]), (403, "ExpiredTokenException"))
        self.assertEqual(self.session()[1]["error"]["code"], "MissingAuthenticationTokenException")

    def test_sign_in_needs_the_secret(self):
        for key, secret in ((KEY, "wrong"), ("AKIDNOBODY", SECRET), ("ASIACONFORMANCE", "other")):
            status, answer, headers = self.sign_in(key, secret)
            self.assertEqual((status, answer["error"]["code"], headers["Set-Cookie"]), (403, "AccessDeniedException", None))
        self.assertEqual(self.sign_in("ASIACONFORMANCE", "other", sessionToken="token+/=")[0], 200)

    def test_a_session_may_change_what_its_role_may_and_the_audit_log_names_its_key(self):
        _, _, headers = self.sign_in()
        cookie = headers["Set-Cookie"].split(";")[0]
        name = "arn:aws:lambda:us-east-1:000000000000:function:nothing"
        status, answer, _ = self.session("DELETE", f"/2015-03-31/functions/{name}", Cookie=cookie, Origin=SERVER.url)
        self.assertEqual(status, 404, answer)
        newest = self.session(path="/audit?limit=1", Cookie=cookie)[1]
        self.assertEqual(newest["lines"][0]["who"], KEY, newest)

    def test_a_restart_ends_sessions(self):
        with endpoint.Endpoint("--credentials", str(CREDENTIALS)) as first:
            cookie = self.sign_in(server=first)[2]["Set-Cookie"].split(";")[0]
            port = first.url.rpartition(":")[2]
        with endpoint.Endpoint("--credentials", str(CREDENTIALS), "--listen", f"127.0.0.1:{port}") as second:
            self.assertEqual(self.session(server=second, Cookie=cookie)[1]["error"]["code"], "ExpiredTokenException")

    def test_wrong_tries_are_bounded(self):
        with endpoint.Endpoint("--credentials", str(CREDENTIALS)) as server:
            answers = [self.sign_in(secret="wrong", server=server) for _ in range(12)]
            self.assertEqual([status for status, _, _ in answers[:10]], [403] * 10)
            status, answer, headers = answers[-1]
            self.assertEqual((status, answer["error"]["code"]), (429, "TooManyRequestsException"))
            self.assertGreater(int(headers["Retry-After"]), 0)

    def test_beyond_loopback_signing_in_needs_tls(self):
        with endpoint.Endpoint("--credentials", str(CREDENTIALS), "--listen", "0.0.0.0:0") as server:
            server.url = server.url.replace("0.0.0.0", "127.0.0.1")
            status, answer, _ = self.sign_in(server=server)
            self.assertEqual((status, answer["error"]["code"]), (403, "AccessDeniedException"))
            self.assertIn("--tls-cert", answer["error"]["message"])

    def test_secrets_are_not_logged(self):
        with endpoint.Endpoint("--credentials", str(CREDENTIALS), "--log-level", "debug") as server:
            value = self.sign_in(server=server)[2]["Set-Cookie"].split(";")[0].partition("=")[2]
            self.sign_in(secret="a-wrong-secret", server=server)
            self.session("POST", "/queues/Q/pause", {}, server=server, Cookie=f"freshet-session={value}")
            server.log.seek(0)
            log = server.log.read().decode()
        self.assertIn('"event":"SIGNED_IN","key":"AKIDCONFORMANCE"', log)
        for secret in (value, SECRET, "a-wrong-secret"):
            self.assertNotIn(secret, log)

    @unittest.skipUnless(shutil.which("aws"), "the aws CLI is not installed")
    def test_aws_cli(self):
        def aws(secret):
            environment = dict(endpoint.environment(SERVER.url), AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=secret)
            return subprocess.run(["aws", "--endpoint-url", SERVER.url, "--output", "json", "dynamodb", "list-tables"],
                                  capture_output=True, text=True, env=environment, timeout=120)

        done = aws(SECRET)
        self.assertEqual((done.returncode, json.loads(done.stdout or "{}")), (0, {"TableNames": []}), done.stderr)
        self.assertIn("(InvalidSignatureException)", aws("wrong").stderr)

    @unittest.skipUnless((pathlib.Path(os.environ.get("FRESHET_NODE_MODULES", "")) / "node_modules/@aws-sdk").is_dir(),
                         "the AWS SDK for JavaScript is not in FRESHET_NODE_MODULES (./test.sh installs it)")
    def test_javascript(self):
        script = """
            import { DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb";
            const client = new DynamoDBClient({ endpoint: process.env.AWS_ENDPOINT_URL, region: "us-east-1" });
            try {
              console.log(JSON.stringify((await client.send(new ListTablesCommand({}))).TableNames));
            } catch (error) {
              console.log(error.name);
            }
            client.destroy();"""
        place = pathlib.Path(os.environ["FRESHET_NODE_MODULES"])
        for secret, said in ((SECRET, "[]"), ("wrong", "InvalidSignatureException")):
            environment = dict(endpoint.environment(SERVER.url), AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=secret)
            done = subprocess.run(["node", "--input-type=module", "-e", script], capture_output=True, text=True, cwd=place,
                                  env=environment, timeout=120)
            self.assertEqual(done.stdout.strip(), said, done.stderr)

    def freshet(self, *arguments):
        return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=60,
                              env={k: v for k, v in os.environ.items() if not k.startswith("FRESHET_")})

    def test_freshets_own_command_line(self):
        command = ("stats", "--url", SERVER.url, "--queue", "My Queue")
        unsigned = self.freshet(*command).stderr
        self.assertIn("Request is missing Authentication Token", unsigned)
        self.assertIn("--credentials FILE", unsigned)
        done = self.freshet(*command, "--credentials", str(CREDENTIALS))
        self.assertIn("there is no queue 'My Queue'", done.stderr)  # Let in.
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_the_command_line_says_which_key_signs_when_its_role_is_too_little(self):
        reader = pathlib.Path(DIRECTORY.name) / "reader"
        reader.touch(mode=0o600)
        reader.write_text("[r]\naws_access_key_id = AKIDREADER\naws_secret_access_key = reads\n")
        done = self.freshet("pause", "Q", "--url", SERVER.url, "--credentials", str(reader))
        self.assertIn("this request needs the role operate", done.stderr)
        self.assertIn(f"the first key in {reader} signs", done.stderr)

    def test_bad_options(self):
        def run(*arguments):
            done = self.freshet("run", "--data", ":memory:", *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            return done.stderr

        self.assertIn("--credentials", run("--listen", "0.0.0.0:0"))
        self.assertIn("the credentials file: cannot read", run("--credentials", "/nothing/here"))
        bad = pathlib.Path(DIRECTORY.name) / "open"
        bad.write_text(FILE)
        bad.chmod(0o644)
        self.assertIn("chmod 600", run("--credentials", str(bad)))


if __name__ == "__main__":
    unittest.main()
