"""A small server of the S3 protocol's PutObject for tests: checks each signature as the service does (with botocore, which
has the signer), and fails, hangs or forgets to answer when it is told to."""
import hashlib
import http.client
import http.server
import threading
import urllib.parse

import botocore.auth
import botocore.awsrequest
import botocore.credentials

KEY, SECRET, REGION = "AKIDTEST", "secret/of+tests", "us-east-1"


class Signer(botocore.auth.S3SigV4Auth):
    """Signs a request of a given time: what its signature must be."""

    def __init__(self, timestamp):
        super().__init__(botocore.credentials.Credentials(KEY, SECRET), "s3", REGION)
        self.timestamp = timestamp

    def expected(self, request, signed):
        request.context["timestamp"] = self.timestamp
        self.headers_to_sign = lambda r: _only(r, signed)
        canonical = self.canonical_request(request)
        return self.signature(self.string_to_sign(request, canonical), request)


def _only(request, signed):
    headers = http.client.HTTPMessage()
    for name in signed:
        headers[name] = request.headers[name]
    return headers


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, code=""):
        body = f"<Error><Code>{code}</Code><Message>Because of the test.</Message></Error>".encode() if code else b""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        server = self.server.owner
        body = self.rfile.read(int(self.headers["Content-Length"]))
        fault = server.next_fault()
        if fault == "hang":
            server.ended.wait(20)
            self.close_connection = True
            return
        if fault == "fail":
            self.answer(503, "SlowDown")
            return
        problem = self.problem(body)
        if problem:
            server.problems.append(problem)
            self.answer(403, "SignatureDoesNotMatch")
            return
        server.put(urllib.parse.unquote(self.path), body)
        if fault == "lost answer":
            self.close_connection = True
            return
        self.answer(200)

    def problem(self, body):
        if self.headers["X-Amz-Content-Sha256"] != hashlib.sha256(body).hexdigest():
            return "the body is not what was signed"
        parts = dict(part.strip().split("=", 1) for part in self.headers["Authorization"].split(" ", 1)[1].split(","))
        signed = parts["SignedHeaders"].split(";")
        if not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(signed):
            return f"not signed: {signed}"
        if parts["Credential"].split("/")[0] != KEY:
            return f"another key: {parts['Credential']}"
        request = botocore.awsrequest.AWSRequest("PUT", f"http://{self.headers['Host']}{self.path}", dict(self.headers), body)
        request.headers["X-Amz-Content-SHA256"] = self.headers["X-Amz-Content-Sha256"]
        wanted = Signer(self.headers["X-Amz-Date"]).expected(request, signed)
        return None if wanted == parts["Signature"] else f"signature {parts['Signature']} instead of {wanted}"


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    context = None

    def get_request(self):  # The handshake is for the handler's thread.
        plain, address = super().get_request()
        if self.context:
            plain = self.context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        return plain, address

    def handle_error(self, *_):  # A client that went away, or refused the certificate.
        pass


class S3Server:
    """On a free port of 127.0.0.1, within TLS if it gets a context for that. faults: of the requests to come, one each:
    "fail", "hang", "lost answer" or None."""

    def __init__(self, context=None):
        self.faults, self.objects, self.problems = [], {}, []
        self.lock, self.ended = threading.Lock(), threading.Event()
        self.http = Listener(("127.0.0.1", 0), Handler)
        self.http.context = context
        self.http.owner = self
        self.port = self.http.server_port
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.http.shutdown()
        self.http.server_close()

    def next_fault(self):
        with self.lock:
            return self.faults.pop(0) if self.faults else None

    def put(self, path, body):
        with self.lock:
            before = self.objects.get(path)
            if before is not None and before != body:
                self.problems.append(f"{path} came with another content")
            self.objects[path] = body
