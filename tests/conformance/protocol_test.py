#!/usr/bin/env python3
"""The bytes on the wire: headers, compression, framing. Started like conformance_test.py."""
import gzip
import http.client
import json
import pathlib
import socket
import sys
import unittest
import urllib.parse
import uuid
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import endpoint  # noqa: E402

SERVER = endpoint.Endpoint()
# Servers that look at credentials at all want some.
AUTHORIZATION = ("AWS4-HMAC-SHA256 Credential=conformance/20260101/us-east-1/dynamodb/aws4_request, "
                 "SignedHeaders=host, Signature=0")


def setUpModule():
    SERVER.__enter__()


def tearDownModule():
    SERVER.__exit__()


class Protocol(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.place = urllib.parse.urlsplit(SERVER.url).netloc
        cls.client = endpoint.client(SERVER.url)
        cls.table = "protocol-" + uuid.uuid4().hex[:12]
        cls.client.create_table(
            TableName=cls.table, BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}])
        cls.client.put_item(TableName=cls.table, Item={"pk": {"S": "big"}, "text": {"S": "x" * 20_000}})
        cls.client.put_item(TableName=cls.table, Item={"pk": {"S": "small"}})

    @classmethod
    def tearDownClass(cls):
        cls.client.delete_table(TableName=cls.table)

    def headers(self, operation="GetItem", **more):
        headers = {"X-Amz-Target": "DynamoDB_20120810." + operation, "Content-Type": "application/x-amz-json-1.0",
                   "Authorization": AUTHORIZATION, "X-Amz-Date": "20260101T000000Z"}
        headers.update({name.replace("_", "-"): value for name, value in more.items()})
        return headers

    def key(self, pk):
        return json.dumps({"TableName": self.table, "Key": {"pk": {"S": pk}}}).encode()

    def post(self, body, **headers):
        connection = http.client.HTTPConnection(self.place, timeout=60)
        self.addCleanup(connection.close)
        connection.request("POST", "/", body, self.headers(**headers))
        answer = connection.getresponse()
        return answer, answer.read()

    def check_sum(self, answer, body):
        """SDKs check the sum of what came over the wire, before they decompress."""
        self.assertEqual(int(answer.headers["x-amz-crc32"]), zlib.crc32(body))
        self.assertEqual(len(answer.headers["x-amzn-RequestId"]), 52)

    def test_every_answer_has_an_id_and_a_checksum(self):
        answer, body = self.post(self.key("small"))
        self.assertEqual(answer.status, 200)
        self.check_sum(answer, body)
        other, _ = self.post(self.key("small"))
        self.assertNotEqual(answer.headers["x-amzn-RequestId"], other.headers["x-amzn-RequestId"])
        for operation, wrong in (("GetItem", b"{"), ("GetItem", b"{}"), ("NoSuchThing", b"{}")):
            answer, body = self.post(wrong, **{"X-Amz-Target": "DynamoDB_20120810." + operation})
            self.assertEqual(answer.status, 400)
            self.check_sum(answer, body)

    def test_both_versions_of_the_content_type(self):
        for version in ("1.0", "1.1"):
            kind = "application/x-amz-json-" + version
            answer, _ = self.post(self.key("small"), Content_Type=kind)
            self.assertEqual(answer.headers["Content-Type"], kind)

    def test_compressed_requests(self):
        raw = zlib.compressobj(wbits=-15)
        for coding, body in (("gzip", gzip.compress(self.key("small"))), ("deflate", zlib.compress(self.key("small"))),
                             ("deflate", raw.compress(self.key("small")) + raw.flush()), ("identity", self.key("small"))):
            answer, body = self.post(body, Content_Encoding=coding)
            self.assertEqual((answer.status, json.loads(body)), (200, {"Item": {"pk": {"S": "small"}}}), coding)

    def test_bad_compressed_requests(self):
        good = gzip.compress(self.key("small"))
        for coding, body, status in (("gzip", self.key("small"), 400), ("gzip", good[:-5], 400), ("deflate", b"\x78\x9c", 400),
                                     ("gzip", good + b"{}", 400), ("br", self.key("small"), 415), ("gzip, gzip", good, 415),
                                     ("gzip", gzip.compress(bytes(17 << 20)), 413)):
            answer, body = self.post(body, Content_Encoding=coding)
            self.assertEqual(answer.status, status, body)
            self.assertIn("__type", json.loads(body))

    def test_compressed_answers(self):
        for accepted, coding, unpack in (("gzip", "gzip", gzip.decompress), ("deflate", "deflate", zlib.decompress),
                                         ("br;q=1.0, gzip;q=0.8, *;q=0.1", "gzip", gzip.decompress),
                                         ("identity", None, bytes), ("gzip;q=0", None, bytes)):
            answer, body = self.post(self.key("big"), Accept_Encoding=accepted)
            self.assertEqual(answer.headers["Content-Encoding"], coding)
            self.check_sum(answer, body)
            self.assertEqual(json.loads(unpack(body))["Item"]["text"], {"S": "x" * 20_000})
            if coding:
                self.assertLess(len(body), 1000)
            answer, body = self.post(self.key("small"), Accept_Encoding=accepted)
            self.assertIsNone(answer.headers["Content-Encoding"])  # Not worth it.
            self.check_sum(answer, body)

    def test_health(self):
        connection = http.client.HTTPConnection(self.place, timeout=60)
        self.addCleanup(connection.close)
        connection.request("GET", "/")
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        self.assertTrue(answer.read().startswith(b"healthy: "))

    def test_no_cors_headers_unless_asked_for(self):
        answer, _ = self.post(self.key("small"))
        self.assertEqual([name for name in answer.headers if name.lower().startswith("access-control")], [])

    # Framing, on a bare socket.

    def head(self, *more):
        lines = ["POST / HTTP/1.1", "Host: " + self.place] + [f"{n}: {v}" for n, v in self.headers().items()] + list(more)
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def connect(self):
        host, port = self.place.rsplit(":", 1)
        sock = socket.create_connection((host.strip("[]"), int(port)), timeout=60)
        self.addCleanup(sock.close)
        stream = sock.makefile("rb")
        self.addCleanup(stream.close)
        return sock, stream

    def answer(self, stream):
        status = int(stream.readline().split()[1])
        headers = http.client.parse_headers(stream)
        return status, stream.read(int(headers.get("Content-Length", 0)))

    def test_chunked_bodies(self):
        sock, stream = self.connect()
        body = self.key("small")
        chunks = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(part), part) for part in (body[:7], body[7:8], body[8:]))
        for _ in range(2):  # The connection stays.
            sock.sendall(self.head("Transfer-Encoding: chunked") + chunks + b"0\r\nTrailer: x\r\n\r\n")
            status, answer = self.answer(stream)
            self.assertEqual((status, json.loads(answer)), (200, {"Item": {"pk": {"S": "small"}}}))

    def test_expect_continue(self):
        sock, stream = self.connect()
        body = self.key("small")
        sock.sendall(self.head("Content-Length: %d" % len(body), "Expect: 100-continue"))
        self.assertEqual(stream.readline().split()[1], b"100")
        self.assertEqual(stream.readline(), b"\r\n")
        sock.sendall(body)
        self.assertEqual(self.answer(stream)[0], 200)

    def test_pipelining(self):
        sock, stream = self.connect()
        keys = [self.key(pk) for pk in ("small", "missing", "big")] * 20
        sock.sendall(b"".join(self.head("Content-Length: %d" % len(key)) + key for key in keys))
        sizes = [len(self.answer(stream)[1]) for _ in keys]
        self.assertEqual(sizes, sizes[:3] * 20)
        self.assertEqual(len(set(sizes[:3])), 3)


if __name__ == "__main__":
    unittest.main()
