#!/usr/bin/env python3
"""Well over a thousand malformed requests through the real binary.

Bad JSON, wrong types, deep nesting, huge numbers, bombs, broken framing, smuggled lengths: each gets a 4xx with the name
that is due, or a closed connection. Meanwhile a healthy client goes on undisturbed, and memory stays flat.
"""
import gzip
import json
import random
import socket
import threading
import time
import zlib

from daemon import LARGER, SLOWER, Daemon, main

TABLE = "Healthy"
TARGET = "DynamoDB_20120810."
PATIENCE = 60 * SLOWER  # Seconds: the safety net of a hanging test.
MAX_GROWTH = LARGER * (24 << 20)  # Bytes between the first pass and the last.
MAX_PEAK = LARGER * (256 << 20)  # Bytes ever, above what the daemon has at rest: bodies of 16 MB and what is read out of one.

REFUSED = {"SerializationException", "ValidationException"}
SERIAL, INVALID, UNKNOWN = {"SerializationException"}, {"ValidationException"}, {"UnknownOperationException"}

PUT = {"TableName": TABLE, "Item": {"id": {"S": "bad"}, "n": {"N": "1"}, "l": {"L": [{"S": "x"}, {"BOOL": True}]}}}


def head(operation="PutItem", target=TARGET, length=None, more=()):
    lines = ["POST / HTTP/1.1", "Host: localhost", "Content-Type: application/x-amz-json-1.0",
             "X-Amz-Target: " + target + operation, *more]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


def post(body, operation="PutItem", names=REFUSED, status=400, more=(), target=TARGET):
    """A request whose framing is right."""
    body = body if isinstance(body, bytes) else body.encode()
    return head(operation, target, len(body), more) + body, {status}, names, False


def raw(request, statuses, names=None):
    """A request whose framing is wrong: refused, and the connection ends. `None` in `statuses`: it may just end."""
    return request if isinstance(request, bytes) else request.encode("latin-1"), statuses, names, True


def bad_json(rng):
    text = json.dumps(PUT)
    for end in range(len(text)):
        yield post(text[:end], names=SERIAL)
    for body in ("", " ", "null", "[]", "5", '"x"', "true", "{}{}", "{} x", "{,}", "{'a':1}", '{"a":}', '{"a" 1}', '{"a":1,}',
                 '{"a":01}', '{"a":+1}', '{"a":.5}', '{"a":1.}', '{"a":1e}', '{"a":NaN}', '{"a":Infinity}', '{"a":-}',
                 '{"a":tru}', '{"a":"\\x"}', '{"a":"\\u12"}', '{"a":"\\ud800"}', '{"a":"\\udc00x"}', '{"a":"\t"}', '{"a":"\n"}',
                 "{/**/}", "//\n{}", "\ufeff{}", '{"a":[1,]}', '{"a":[1 2]}', '{"a":"', "{" * 5, "}" * 5, "]", ":", ","):
        yield post(body, names=SERIAL)
    for piece in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x00", b"\x80", b"\x01"):
        for at in (9, text.index("bad") + 1, text.index("Item") + 1):
            yield post(text[:at].encode() + piece + text[at:].encode(), names=SERIAL)
    for _ in range(120):  # A byte that cannot stand anywhere outside of a string.
        at = rng.choice([i for i, c in enumerate(text) if c in "{}[]:,"])
        yield post(text[:at] + rng.choice("?@#^&*();<>=!abcxyz\\'`~") + text[at:], names=SERIAL)


def wrong_types():
    wrong = {"string": [5, True, [], {}, 1.5], "integer": ["x", [], {}, 1.5, True], "long": ["x", [], {}, True],
             "boolean": ["x", 5, [], {}], "list": ["x", 5, {}, True], "map": ["x", 5, [], True], "structure": ["x", 5, [], True]}
    members = {
        "PutItem": dict(TableName="string", Item="map", ConditionExpression="string", ExpressionAttributeNames="map",
                        ExpressionAttributeValues="map", ReturnValues="string", ReturnConsumedCapacity="string",
                        ReturnItemCollectionMetrics="string", ReturnValuesOnConditionCheckFailure="string"),
        "UpdateItem": dict(TableName="string", Key="map", UpdateExpression="string", ConditionExpression="string",
                           ExpressionAttributeNames="map", ExpressionAttributeValues="map", ReturnValues="string"),
        "DeleteItem": dict(TableName="string", Key="map", ConditionExpression="string", ReturnValues="string"),
        "GetItem": dict(TableName="string", Key="map", ConsistentRead="boolean", ProjectionExpression="string"),
        "Query": dict(TableName="string", IndexName="string", KeyConditionExpression="string", FilterExpression="string",
                      Limit="integer", ConsistentRead="boolean", ScanIndexForward="boolean", ExclusiveStartKey="map",
                      Select="string"),
        "Scan": dict(TableName="string", IndexName="string", FilterExpression="string", Limit="integer", Segment="integer",
                     TotalSegments="integer", ExclusiveStartKey="map", ConsistentRead="boolean", Select="string"),
        "BatchGetItem": dict(RequestItems="map", ReturnConsumedCapacity="string"),
        "BatchWriteItem": dict(RequestItems="map", ReturnConsumedCapacity="string"),
        "CreateTable": dict(TableName="string", KeySchema="list", AttributeDefinitions="list", GlobalSecondaryIndexes="list",
                            LocalSecondaryIndexes="list", BillingMode="string", StreamSpecification="structure",
                            ProvisionedThroughput="structure"),
        "DescribeTable": dict(TableName="string"), "DeleteTable": dict(TableName="string"),
        "ListTables": dict(Limit="integer", ExclusiveStartTableName="string"),
        "UpdateTimeToLive": dict(TableName="string", TimeToLiveSpecification="structure"),
        "DescribeTimeToLive": dict(TableName="string"),
    }
    streams = {"ListStreams": dict(TableName="string", Limit="integer", ExclusiveStartStreamArn="string"),
               "DescribeStream": dict(StreamArn="string", Limit="integer", ExclusiveStartShardId="string", ShardFilter="structure"),
               "GetShardIterator": dict(StreamArn="string", ShardId="string", ShardIteratorType="string", SequenceNumber="string"),
               "GetRecords": dict(ShardIterator="string", Limit="integer")}
    for target, operations in ((TARGET, members), ("DynamoDBStreams_20120810.", streams)):
        for operation, shapes in operations.items():
            for member, shape in shapes.items():
                for value in wrong[shape]:
                    yield post(json.dumps({member: value}), operation, REFUSED, target=target)
    for value in (5, "x", [], {}, {"X": 1}, {"S": "a", "N": "1"}, {"S": 5}, {"N": 5}, {"N": "x"}, {"B": "?"}, {"B": "YQ"},
                  {"BOOL": "x"}, {"NULL": False}, {"SS": []}, {"SS": ["a", "a"]}, {"NS": ["1", "x"]}, {"NS": ["1", "1.0"]},
                  {"BS": ["!"]}, {"L": {}}, {"L": [5]}, {"M": []}, {"M": {"a": 5}}, {"SS": "x"}, {"L": [{}]}):
        yield post(json.dumps({"TableName": TABLE, "Item": {"id": {"S": "bad"}, "v": value}}))
        yield post(json.dumps({"TableName": TABLE, "Key": {"id": value}}), "GetItem")


def too_deep_and_too_much(rng):
    for depth in (200, 1_000, 20_000, 500_000):
        yield post("[" * depth)
        yield post('{"a":' * depth)
        yield post('{"a":[' * depth, names=SERIAL)
        yield post("[" * depth + "]" * depth)
    for depth in (33, 60):
        for opening, closing in (('{"L":[', "]}"), ('{"M":{"a":', "}}")):
            value = opening * depth + '{"S":"x"}' + closing * depth
            yield post('{"TableName":"%s","Item":{"id":{"S":"bad"},"v":%s}}' % (TABLE, value))
    for number in ("1" * 39, "1" * 100_000, "1e126", "1e-131", "-1e126", "1e99999999999999999999", "NaN", "Infinity", "-Infinity",
                   "0x10", "--1", "1-", "1e", "", " 1 2", "1_000", "٣", "1,5", "." * 9, "1" + "0" * 126, "0." + "0" * 130 + "1",
                   "1." + "1" * 38):
        yield post(json.dumps({"TableName": TABLE, "Item": {"id": {"S": "bad"}, "n": {"N": number}}}), names=INVALID)
        yield post(json.dumps({"TableName": TABLE, "Item": {"id": {"S": "bad"}, "n": {"NS": [number, "1"]}}}), names=INVALID)
    for limit in ("1e400", "99999999999999999999", "-1", "0", "1.5", "1e-1", "9" * 5000, "-9223372036854775809", "2147483648"):
        yield post('{"TableName":"%s","Limit":%s}' % (TABLE, limit), "Scan")
    for body in ({"id": {"S": ""}}, {"id": {"S": "x" * 2049}}, {"id": {"S": "a"}, "": {"S": "x"}}, {"id": {"N": "1"}}, {"x": {"S": "a"}},
                 {"id": {"S": "a"}, "x": {"S": "x" * (400 << 10)}}, {"id": {"S": "a"}, "x" * 66_000: {"S": "x"}},
                 {"id": {"S": "a"}, "l": {"L": [{"N": "1"}] * 300_000}}):
        yield post(json.dumps({"TableName": TABLE, "Item": body}), names=INVALID)
    for name in ("", "a", "a" * 256, "ä" * 5, "a b", "../..", "a\u0000b", "arn:", "arn:aws:dynamodb:::table/", "%n%n", "freshet.x/"):
        yield post(json.dumps({"TableName": name}), "DescribeTable", names=INVALID)
    for expression in ("(" * 1_000 + "a = :v" + ")" * 1_000, "a = :v" + " AND a = :v" * 300, "x" * 4_097, "a." * 40 + "a = :v", "NOT " * 400 + "a = :v",
                       "size(" * 100 + "a" + ")" * 100 + " = :v", "a[99999999999] = :v", "a = ", "= :v", "a == :v", "#", ":v", "\x00", "'", "a = :v;",
                       "a IN (" + ":v," * 101 + ":v)", "contains(a)", "attribute_type(a, :v)", "BETWEEN", "a BETWEEN :v", "::v = a", "a = :" + "v" * 300):
        yield post(json.dumps({"TableName": TABLE, "Item": {"id": {"S": "bad"}}, "ConditionExpression": expression,
                               "ExpressionAttributeValues": {":v": {"N": "1"}}}), names=INVALID)
        yield post(json.dumps({"TableName": TABLE, "Key": {"id": {"S": "bad"}}, "UpdateExpression": "SET " + expression,
                               "ExpressionAttributeValues": {":v": {"N": "1"}}}), "UpdateItem", names=INVALID)
    for n in range(26, 40):
        yield post(json.dumps({"RequestItems": {TABLE: [{"DeleteRequest": {"Key": {"id": {"S": str(i)}}}} for i in range(n)]}}),
                   "BatchWriteItem", names=INVALID)


def many_members():
    """Long lists and maps of members of a wrong type: the time must not grow with their square, nor the memory with names."""
    fives = "[" + ",".join(["5"] * 300_000) + "]"
    map_ = "{" + ",".join(f'"k{i}":5' for i in range(100_000)) + "}"
    for operation, body in (("BatchWriteItem", '{"RequestItems":{"abc":%s}}'), ("TransactWriteItems", '{"TransactItems":%s}'),
                            ("TransactGetItems", '{"TransactItems":%s}'), ("CreateTable", '{"KeySchema":%s}'),
                            ("CreateTable", '{"AttributeDefinitions":%s}'), ("TagResource", '{"Tags":%s}'),
                            ("UntagResource", '{"TagKeys":%s}'), ("BatchExecuteStatement", '{"Statements":%s}'),
                            ("ExecuteStatement", '{"Parameters":%s}'), ("GetItem", '{"AttributesToGet":%s}'),
                            ("Scan", '{"ScanFilter":{"a":{"ComparisonOperator":"IN","AttributeValueList":%s}}}')):
        yield post(body % fives, operation, names=SERIAL)
    for operation, member in (("BatchWriteItem", "RequestItems"), ("BatchGetItem", "RequestItems"), ("PutItem", "Expected"),
                              ("UpdateItem", "AttributeUpdates"), ("Query", "KeyConditions"), ("Scan", "ScanFilter"),
                              ("PutItem", "ExpressionAttributeNames"), ("PutItem", "ExpressionAttributeValues"), ("PutItem", "Item")):
        yield post('{"%s":%s}' % (member, map_), operation, names=SERIAL)
    for match in (fives, map_):
        body = '{"match":%s}' % match
        yield f"POST /filtered/none/assign HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode(), {400}, None, False
    objects = "[" + ",".join(["{}"] * 100_000) + "]"
    for name in ("abc", "x" * 2_000_000):
        yield post('{"RequestItems":{"%s":%s}}' % (name, objects), "BatchWriteItem", names=INVALID)


def targets(rng):
    for operation in ("", "x", "putitem", "PutItem ", "PutItem.x", "%00", "x" * 5_000, "../PutItem", "PutItem\t", "Put\x80Item"):
        request = post("{}", operation, UNKNOWN)
        yield request if operation.strip() != "PutItem" else post("{}", operation, REFUSED)  # Blanks around are not the value's.
    for target in ("DynamoDB_20111205.", "DynamoDB.", "DynamoDB_20120810", "DynamoDBStreams_20120810.", "DynamoDB_20120810..",
                   "dynamodb_20120810."):
        yield post("{}", "PutItem", UNKNOWN, target=target)
    for _ in range(60):
        name = "".join(rng.choice("abcXYZ019_.-") for _ in range(rng.randint(1, 40)))
        yield post("{}", "x" + name, UNKNOWN)


def compressed():
    good = gzip.compress(json.dumps(PUT).encode())
    for end in range(0, len(good), 3):
        # An empty body has nothing to decompress.
        yield post(good[:end], names=SERIAL, more=("Content-Encoding: gzip",))
    for at in range(len(good) - 8, len(good)):
        yield post(good[:at] + bytes([good[at] ^ 1]) + good[at + 1:], names=SERIAL, more=("Content-Encoding: gzip",))
    for body in (b"{}", b"\x1f\x8b", b"\x1f\x8b\x08" + bytes(20), b"\x78\x9c\xff\xff", good + b"x", good[::-1]):
        for coding in ("gzip", "deflate", "x-gzip"):
            yield post(body, names=SERIAL, more=("Content-Encoding: " + coding,))
    for coding in ("br", "zstd", "compress", "gzip, gzip", "gzip,deflate", "x" * 1_000):
        yield post(good, names={"UnsupportedMediaType"}, status=415, more=("Content-Encoding: " + coding,))
    yield post(gzip.compress(good), names=SERIAL, more=("Content-Encoding: gzip",))  # Once is what it says.
    for megabytes, fill in ((17, b"\0"), (64, b"["), (256, b" ")):
        squeezer = zlib.compressobj(9, zlib.DEFLATED, 31)
        bomb = b"".join(squeezer.compress(fill * (1 << 20)) for _ in range(megabytes)) + squeezer.flush()
        for _ in range(3):
            yield post(bomb, names={"RequestTooLarge"}, status=413, more=("Content-Encoding: gzip",))
    for fill in (b"[", b" ", b"\0", b'{"a":'):  # Within the bound.
        yield post(gzip.compress(fill * ((15 << 20) // len(fill))), names=SERIAL, more=("Content-Encoding: gzip",))


def broken_framing(rng):
    body = json.dumps(PUT)
    bad, chunked = {400}, "Transfer-Encoding: chunked"
    for line in ("GET", "GET /", "GET  / HTTP/1.1", "GET / HTTP/1.1 x", "G\x00T / HTTP/1.1", "/ HTTP/1.1", "GET / HTTP/x", "GET / http/1.1",
                 "\x16\x03\x01\x02\x00\x01", "SSH-2.0-x", "PRI * HTTP/2.0", "GET / HTTP/0.9", "GET / HTTP/3.0", "GE\u00e4 / HTTP/1.1"):
        yield raw(line + "\r\nHost: localhost\r\n\r\n", {400, 505, None})
    for header in ("X: a\x00b", "X : a", " X: a", "X", ": a", "X\u00e4: a", "X(: a", "Content-Length: x", "Content-Length: -1",
                   "Content-Length: +5", "Content-Length: 5, 5", "Content-Length: 5,6", "Content-Length: 0x5", "Content-Length: 1e3", "Content-Length: ",
                   "Content-Length: 99999999999999999999999", "Content-Length: 5\r\nContent-Length: 5", "Content-Length: 5\r\nContent-Length: 6",
                   "Content-Length: 5\r\n" + chunked, chunked + "\r\nContent-Length: 5", "Transfer-Encoding: chunked, chunked",
                   "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity", "Transfer-Encoding: xchunked",
                   chunked + "\r\nTransfer-Encoding: identity", "Transfer-Encoding: \x0bchunked"):
        yield raw("POST / HTTP/1.1\r\nHost: localhost\r\n" + header + "\r\n\r\n0\r\n\r\nhello", {400, 413, 501, None})
    for size in (16 << 20) + 1, 1 << 31, 1 << 40, (1 << 64) - 1:
        yield raw(head(length=size), {413, 400})
    yield raw(head(more=("X: " + "x" * 40_000,), length=0), {400})
    yield raw(head(more=tuple(f"X-{i}: x" for i in range(200)), length=0), {431})
    yield raw(b"POST /" + b"x" * 60_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", {400})
    yield raw(b"X" * 200_000, {400, 431, None})
    for chunks in ("zz\r\nhello\r\n0\r\n\r\n", "-5\r\nhello\r\n0\r\n\r\n", "+5\r\nhello\r\n0\r\n\r\n", "5 5\r\nhello\r\n", "5\nhello\n0\n\n", "5\r\nhelloXX0\r\n\r\n",
                   "5\r\nhello0\r\n\r\n", "FFFFFFFFFFFFFFFFF\r\nhello", "0x5\r\nhello\r\n0\r\n\r\n", "\r\nhello", ";x\r\nhello\r\n", "5;" + "x" * 70_000,
                   "5\r\nhello\r\n0\r\nX" * 9_000, "FFFFFFFF\r\nhello", "8000000000000000\r\nhello", "1000001\r\nhello"):
        yield raw(head(more=(chunked,)) + chunks.encode(), {400, 413, 431, None})
    for _ in range(60):  # Sizes that are none.
        size = "".join(rng.choice("ghijxyz-+ .,_") for _ in range(rng.randint(1, 6))) + "5"
        yield raw(head(more=(chunked,)) + (size + "\r\nhello\r\n0\r\n\r\n").encode(), bad | {None})
    yield raw("POST / HTTP/1.0\r\nHost: localhost\r\n" + chunked + "\r\n\r\n0\r\n\r\n", bad)
    for hosts in ((), ("Host: evil.example",), ("Host: localhost", "Host: localhost"), ("Host:",), ("Host: localhost:x",), ("Host: [::1",)):
        lines = ["POST / HTTP/1.1", *hosts, "X-Amz-Target: " + TARGET + "PutItem", f"Content-Length: {len(body)}", "Connection: close"]
        yield raw("\r\n".join(lines) + "\r\n\r\n" + body, {400, 421})
    # A request hidden in the body of one of ambiguous length must not be answered: it would be the next client's.
    hidden = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for lengths in (f"Content-Length: {len(hidden)}\r\n{chunked}", f"{chunked}\r\nContent-Length: 4", f"Content-Length: 0\r\nContent-Length: {len(hidden)}",
                    f"Content-Length: 0, {len(hidden)}", f"Transfer-Encoding: x, chunked\r\nContent-Length: {len(hidden)}",
                    f"Content-Length: 0\r\nTransfer-Encoding: chunked\x0b"):
        yield raw(b"POST / HTTP/1.1\r\nHost: localhost\r\n" + lengths.encode() + b"\r\n\r\n0\r\n\r\n" + hidden, {400, 501, None})


def task_api(rng):
    for path in ("/queues", "/queues/", "/queues/%", "/queues/%zz", "/queues/%00", "/queues/../../etc/passwd", "/queues/x/tasks/" + "y" * 9_000, "/nothing",
                 "//", "/?", "/record", "/record?table=%ff"):
        request = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n{{"
        yield request.encode(), {400, 404, 405}, None, False


def cases():
    rng = random.Random(20261121)
    return [case for family in (bad_json(rng), wrong_types(), too_deep_and_too_much(rng), many_members(), targets(rng), compressed(), broken_framing(rng), task_api(rng))
            for case in family]


def answers(stream):
    """Everything that comes until the connection ends: [(status, document)], and whether it ended whole."""
    found = []
    while True:
        line = stream.readline()
        if not line:
            return found
        status, length = int(line.split()[1]), 0
        while (field := stream.readline()) not in (b"\r\n", b""):
            name, _, value = field.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = stream.read(length)
        if status != 100:
            found.append((status, body))


def send(daemon, case):
    request, statuses, names, ends = case
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=PATIENCE) as sock, sock.makefile("rb") as stream:
        try:
            sock.sendall(request)
            if not ends or None in statuses:
                sock.shutdown(socket.SHUT_WR)  # Tells a server that waits for more that there is none.
        except OSError:
            pass  # Closed while we sent: the answer, if there is one, is still to be read.
        try:
            found = answers(stream)
        except ConnectionError:
            found = []  # Reset: closed all the same.
    shown = (request[:300], len(request), [(s, b[:300]) for s, b in found])
    assert len(found) <= 1, ("more than one answer", shown)
    if not found:
        assert ends, ("no answer", shown)  # The framing was wrong: a closed connection is an answer.
        return
    status, body = found[0]
    assert status in statuses and 400 <= status < 500 or status in (501, 505) and status in statuses, shown
    document = json.loads(body)
    if names is not None:
        assert document["__type"].rpartition("#")[2] in names, shown


class HealthyClient:
    """Goes on with right requests, and checks every answer."""

    def __init__(self, daemon):
        self.daemon, self.stopping, self.rounds, self.slowest, self.fault = daemon, threading.Event(), 0, 0.0, None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            while not self.stopping.is_set():
                begun = time.monotonic()
                key = {"id": {"S": "good"}}
                self.daemon.dynamodb("PutItem", TableName=TABLE, Item=dict(key, n={"N": str(self.rounds)}))
                assert self.daemon.dynamodb("GetItem", TableName=TABLE, Key=key)["Item"]["n"] == {"N": str(self.rounds)}
                self.daemon.dynamodb("UpdateItem", TableName=TABLE, Key=key, UpdateExpression="ADD n :one",
                                     ExpressionAttributeValues={":one": {"N": "1"}})
                items = self.daemon.dynamodb("Scan", TableName=TABLE)["Items"]
                assert items == [dict(key, n={"N": str(self.rounds + 1)})], items
                self.rounds += 1
                self.slowest = max(self.slowest, time.monotonic() - begun)
        except Exception as error:  # Anything: it must not go by unseen.
            self.fault = error

    def stop(self):
        self.stopping.set()
        self.thread.join()
        assert self.fault is None, f"the healthy client: {self.fault!r}"
        assert self.rounds > 0


def memory(daemon, field):
    with open(f"/proc/{daemon.process.pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(field + ":"))


def settled(daemon, bound):
    """The daemon's memory once it has given back what it freed, or after a while."""
    deadline = time.monotonic() + PATIENCE
    while (now := memory(daemon, "VmRSS")) > bound and time.monotonic() < deadline:
        time.sleep(0.1)
    return now


def malformed_requests(binary, folder):
    daemon = Daemon(binary, folder, "--durability", "none", template=None).start()
    try:
        daemon.dynamodb("CreateTable", TableName=TABLE, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}])
        every = cases()
        assert len(every) > 1_000, len(every)
        healthy = HealthyClient(daemon)
        rest = memory(daemon, "VmRSS")
        try:
            for case in every:
                send(daemon, case)
            first = memory(daemon, "VmRSS")  # Compared with what it has at the same place of the next pass.
            for case in every:
                send(daemon, case)
            assert daemon.process.poll() is None, daemon.log_tail()
            last = settled(daemon, first + MAX_GROWTH)
            peak = memory(daemon, "VmHWM") - rest
        except AssertionError:
            healthy.stopping.set()
            raise
        healthy.stop()
        print(f"{len(every)} requests twice; a healthy client did {healthy.rounds} rounds, the slowest in {healthy.slowest * 1000:.0f} ms; "
              f"memory {rest >> 20} -> {first >> 20} -> {last >> 20} MiB, {peak >> 20} MiB more at most")
        assert last <= first + MAX_GROWTH, f"memory grew from {first} to {last} bytes"
        assert peak <= MAX_PEAK, f"memory was {peak} bytes more than at rest"
        assert daemon.stop() == 0, daemon.log_tail()
    finally:
        daemon.kill()


if __name__ == "__main__":
    main(__doc__, "every malformed request was refused, and nobody else noticed", malformed_requests)
