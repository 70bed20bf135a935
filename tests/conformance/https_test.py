#!/usr/bin/env python3
"""Where the daemon itself asks by https://: endpoints of topics, functions and tasks behind certificates that are good,
foreign, expired, or of another host. Needs the daemon's binary (FRESHET_BINARY) and openssl.

The authority and its certificates are made anew in a folder of their own.
"""
import http.server
import json
import pathlib
import queue
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "faults"))
from endpoint import Endpoint, client  # noqa: E402
from s3_server import KEY, SECRET, S3Server  # noqa: E402

WAIT_SECONDS = 60
TEMPLATE = """
Resources:
  Behind:
    Type: AWS::Serverless::Function
    Properties: {Runtime: http, Handler: "%s"}
"""


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=folder.name)


def make_authority(name):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
            f"/CN={name}", "-addext", "basicConstraints=critical,CA:TRUE", "-out", f"{name}.crt", "-keyout", f"{name}.key")


def issue(name, names, authority="ca", days="2"):
    """A certificate for `names`, signed by the authority; with -1 days it has expired."""
    pathlib.Path(folder.name, f"{name}.ext").write_text(f"subjectAltName={names}\n")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-out",
            f"{name}.csr", "-keyout", f"{name}.key")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.crt", "-CAkey", f"{authority}.key", "-set_serial",
            str(abs(hash(name)) % 10**9 + 1), "-days", days, "-extfile", f"{name}.ext", "-out", f"{name}.crt")


def setUpModule():
    global folder, daemon
    if not shutil.which("openssl"):
        raise unittest.SkipTest("openssl is not installed")
    folder = tempfile.TemporaryDirectory(prefix="freshet-https-")
    make_authority("ca")
    make_authority("stranger")
    issue("good", "DNS:localhost,IP:127.0.0.1")
    issue("elsewhere", "DNS:elsewhere.example")
    issue("foreign", "DNS:localhost,IP:127.0.0.1", authority="stranger")
    issue("expired", "DNS:localhost,IP:127.0.0.1", days="-1")
    daemon = Endpoint("--ca-file", str(pathlib.Path(folder.name, "ca.crt")))
    daemon.__enter__()


def tearDownModule():
    daemon.__exit__()
    folder.cleanup()


def server_context(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pathlib.Path(folder.name, f"{certificate}.crt"), pathlib.Path(folder.name, f"{certificate}.key"))
    return context


class Server:
    """Answers POSTs with what `answer` makes of the body; what came is in `received`. use() takes another certificate
    for connections from then on."""

    def __init__(self, certificate, answer=lambda body: b""):
        self.received = queue.Queue()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.received.put(body.decode())
                text = answer(body)
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *unused):
                pass

        class Tcp(http.server.ThreadingHTTPServer):
            def get_request(self):  # The handshake is for the handler's thread.
                plain, address = super().get_request()
                return outer.context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False), address

            def handle_error(self, *unused):  # A client that refused the certificate.
                pass

        self.use(certificate)
        self.server = Tcp(("127.0.0.1", 0), Handler)
        self.url = f"https://localhost:{self.server.server_port}/hook"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def use(self, certificate):
        self.context = server_context(certificate)

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def next(self):
        return json.loads(self.received.get(timeout=WAIT_SECONDS))


def logged(text, endpoint=None):
    deadline = time.monotonic() + WAIT_SECONDS
    log = pathlib.Path((endpoint or daemon).log.name)
    while text not in log.read_text(errors="replace"):
        if time.monotonic() > deadline:
            raise AssertionError(f"not in the log: {text}\n{log.read_text(errors='replace')[-4000:]}")
        time.sleep(0.05)


class Topics(unittest.TestCase):
    def setUp(self):
        self.sns = client(daemon.url, "sns")
        self.addCleanup(self.sns.close)
        self.topic = self.sns.create_topic(Name=self.id().rsplit(".", 1)[1])["TopicArn"]

    def server(self, certificate):
        server = Server(certificate)
        self.addCleanup(server.close)
        return server

    def subscribe(self, server, url=None):
        return self.sns.subscribe(TopicArn=self.topic, Protocol="https", Endpoint=url or server.url,
                                  ReturnSubscriptionArn=True)["SubscriptionArn"]

    def confirm(self, server):
        asked = server.next()
        self.assertEqual(asked["Type"], "SubscriptionConfirmation")
        with urllib.request.urlopen(asked["SubscribeURL"], timeout=WAIT_SECONDS) as answer:
            answer.read()

    def test_a_good_certificate_is_delivered_to(self):
        server = self.server("good")
        for url in (server.url, server.url.replace("localhost", "127.0.0.1")):
            self.subscribe(server, url)
            self.confirm(server)
        for number in range(20):
            self.sns.publish(TopicArn=self.topic, Message=str(number) + "x" * 20_000)
        self.assertEqual({server.next()["Message"].rstrip("x") for _ in range(40)}, {str(i) for i in range(20)})

    def test_others_are_refused_and_tried_again(self):
        for certificate, why in (("elsewhere", "hostname mismatch"), ("expired", "certificate has expired"),
                                 ("foreign", "unable to get local issuer certificate")):
            with self.subTest(certificate):
                server = self.server(certificate)
                self.subscribe(server)
                logged(f"{server.url.rsplit('/', 1)[0]}: its certificate is refused: {why}")
                self.assertTrue(server.received.empty(), "nothing was sent")
                server.use("good")
                self.confirm(server)

    def test_an_endpoint_that_hangs_in_the_handshake_keeps_nobody(self):
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        self.subscribe(None, f"https://127.0.0.1:{silent.getsockname()[1]}/")
        server = self.server("good")
        self.subscribe(server)
        self.confirm(server)
        self.sns.publish(TopicArn=self.topic, Message="x")
        self.assertEqual(server.next()["Message"], "x")


class Traces(unittest.TestCase):
    def test_spans_go_to_an_endpoint_behind_tls(self):
        server = Server("good", answer=lambda body: b"{}")
        self.addCleanup(server.close)
        template = pathlib.Path(folder.name, "traced.yaml")
        template.write_text(TEMPLATE % server.url)
        ca = str(pathlib.Path(folder.name, "ca.crt"))
        with Endpoint("--ca-file", ca, "--xray-port", "0", "--trace-endpoint", server.url, str(template)) as own:
            invoker = client(own.url, "lambda")
            self.addCleanup(invoker.close)
            invoker.invoke(FunctionName="Behind", Payload=b'{"a": 1}')
            spans = server.next()
            while "resourceSpans" not in spans:
                spans = server.next()
        self.assertIn('"Behind"', json.dumps(spans))


class Handlers(unittest.TestCase):
    def test_function_and_task_runner(self):
        server = Server("good", answer=lambda body: b'{"got": ' + body + b"}")
        self.addCleanup(server.close)
        template = pathlib.Path(folder.name, "template.yaml")
        template.write_text(TEMPLATE % server.url)
        ca = str(pathlib.Path(folder.name, "ca.crt"))
        with Endpoint("--ca-file", ca, str(template)) as own:
            invoker = client(own.url, "lambda")
            self.addCleanup(invoker.close)
            answer = invoker.invoke(FunctionName="Behind", Payload=b'{"a": 1}')
            self.assertEqual(json.loads(answer["Payload"].read()), {"got": {"a": 1}})
        with Endpoint("--ca-file", ca, str(pathlib.Path(__file__).parents[2] / "config" / "lifo.yaml"), "--parameter",
                      f"TaskRunner={server.url}") as own:
            server.received.get(timeout=WAIT_SECONDS)
            put = urllib.request.Request(own.url + "/queues/QueueTable/tasks", method="POST",
                                         data=b'{"tasks": [{"payload": {"n": 7}}]}',
                                         headers={"Content-Type": "application/json"})
            with urllib.request.urlopen(put, timeout=WAIT_SECONDS) as answer:
                answer.read()
            self.assertEqual(server.next()["payload"], {"n": 7})


class Buckets(unittest.TestCase):
    """The files that capture_changes puts into a bucket whose endpoint uses TLS."""

    def capture(self, certificate, host, captured):
        changes = pathlib.Path(folder.name, f"changes-{captured}")
        changes.mkdir()
        server = S3Server(server_context(certificate))
        server.__enter__()
        self.addCleanup(server.__exit__)
        template = pathlib.Path(__file__).parents[2] / "config" / "stream-functions.yaml"
        options = {"TaskRunner": "none", "CaptureFolder": changes, "CaptureFileSeconds": 1, "S3Bucket": "changes",
                   "S3Endpoint": f"https://{host}:{server.port}", "S3AccessKeyId": KEY, "S3SecretAccessKey": SECRET}
        parameters = [word for name, value in options.items() for word in ("--parameter", f"{name}={value}")]
        own = Endpoint("--ca-file", str(pathlib.Path(folder.name, "ca.crt")), *parameters, str(template))
        own.__enter__()
        self.addCleanup(own.__exit__)
        dynamodb = client(own.url)
        self.addCleanup(dynamodb.close)
        dynamodb.put_item(TableName="QueueTable", Item={"taskId": {"S": captured}})
        return server, own, changes

    def test_files_are_put_behind_a_good_certificate(self):
        server, _, changes = self.capture("good", "localhost", "kept")
        deadline = time.monotonic() + WAIT_SECONDS
        while not server.objects or list((changes / "QueueTable").glob("*.jsonl")):
            self.assertLess(time.monotonic(), deadline, "nothing was put, or it was not removed from the folder")
            time.sleep(0.05)
        self.assertEqual(server.problems, [])
        ((path, body),) = server.objects.items()
        self.assertRegex(path, r"^/changes/QueueTable/.*\.jsonl$")
        self.assertEqual(json.loads(body)["dynamodb"]["Keys"], {"taskId": {"S": "kept"}})

    def test_behind_another_nothing_is_sent_and_they_stay(self):
        server, own, changes = self.capture("foreign", "127.0.0.1", "waits")
        logged("its certificate is refused: unable to get local issuer certificate", own)
        self.assertEqual(server.objects, {})
        self.assertEqual(len(list((changes / "QueueTable").glob("*.jsonl"))), 1)


class Options(unittest.TestCase):
    def test_a_file_without_certificates_is_refused_at_the_start(self):
        with self.assertRaises(RuntimeError) as caught:
            Endpoint("--ca-file", str(pathlib.Path(folder.name, "good.ext"))).__enter__()
        self.assertIn("--ca-file: cannot use the certificates of", str(caught.exception))


if __name__ == "__main__":
    unittest.main(verbosity=2)
