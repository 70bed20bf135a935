#!/usr/bin/env python3
"""FIFO topics of several daemons that share one engine (--fleet):

  tests/conformance/engine_fleet_topics_test.py freshet|extenddb|dynamodb_local

Everything is started on free ports and stopped. An engine that is not installed is skipped by name."""
import http.server
import json
import re
import signal
import sys
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from engine_daemon_test import EngineDaemon, Served, dynamodb_local, extenddb
from engine_fleet_test import EngineFleet

TOPIC = "Orders.fifo"
UNIT = f"topic/{TOPIC}"
ARN = f"arn:aws:sns:us-east-1:000000000000:{TOPIC}"
KILLS = 3


class Subscriber(Served):
    """A function over HTTP for the time of a `with`: keeps the records that it gets. While `busy` is set, it accepts none."""

    def __init__(self):
        self.records, self.busy = [], threading.Event()
        subscriber = self

        class Answer(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                is_busy = subscriber.busy.is_set()
                if not is_busy:
                    subscriber.records += event["Records"]
                self.send_response(503 if is_busy else 200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *unused):
                pass

        super().__init__(Answer)
        self.url += "/f"


def template(function, place):
    topic = {"TopicName": TOPIC, "FifoTopic": True}
    seen = {"Runtime": "http", "Handler": function.url, "Events": {"Message": {"Type": "SNS", "Properties": {"Topic": {"Ref": "Orders"}}}}}
    path = place / "topics.json"
    path.write_text(json.dumps({"Resources": {"Orders": {"Type": "AWS::SNS::Topic", "Properties": topic},
                                              "Seen": {"Type": "AWS::Serverless::Function", "Properties": seen}}}))
    return path


def ask(daemon, **form):
    """The status, the headers and the text of the answer."""
    body = urllib.parse.urlencode({"Version": "2010-03-31", "TopicArn": ARN, **form}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{daemon.port}/", body, {"Content-Type": "application/x-www-form-urlencoded"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def published(text):
    """The ids and the sequence numbers in an answer."""
    return list(zip(re.findall("<MessageId>(.*?)</MessageId>", text), re.findall("<SequenceNumber>(.*?)</SequenceNumber>", text)))


class EngineFleetTopics(EngineFleet):
    """Uses the fixture, not its tests (load_tests below)."""

    def members(self, function, names):
        path = template(function, self.place)
        out = []
        for name in names:
            daemon = self.daemon(name, "--fleet", "--fleet-lease-ms", "3000", "--create-tables", path)
            daemon.template = None
            out.append(daemon.start())
        return out

    def publish(self, daemons, text, group="g"):
        """As a client does: again, at any daemon, while nobody serves the topic or the answer got lost."""
        number = 0
        while True:
            daemon = daemons[number % len(daemons)]
            number += 1
            try:
                status, headers, body = ask(daemon, Action="Publish", Message=text, MessageGroupId=group, MessageDeduplicationId=text)
            except OSError:
                continue
            if status == 200:
                return published(body)[0]
            self.assertIn(status, (500, 503), body)
            if status == 503:
                self.assertEqual(headers["Retry-After"], "1")
                self.assertIn("ServiceUnavailable", body)
                self.assertRegex(body, "no member of the fleet serves topic|cannot be reached|another member serves topic")
            time.sleep(0.02)

    def messages(self, function):
        return [record["Sns"]["Message"] for record in list(function.records)]

    def until_came(self, function, count):
        end = time.monotonic() + 120
        while len(set(self.messages(function))) < count:
            self.assertLess(time.monotonic(), end, self.messages(function)[-5:])
            time.sleep(0.02)

    def in_order(self, function, count):
        """Each came, and none before an earlier one."""
        first = list(dict.fromkeys(self.messages(function)))
        self.assertEqual(first, [f"m-{number}" for number in range(count)])

    def test_each_daemon_takes_publishes_and_one_numbers_them(self):
        with Subscriber() as function:
            daemons = self.members(function, "abc")
            sent = [self.publish([daemons[number % 3]], f"m-{number}") for number in range(9)]
            again = [self.publish([daemons[(number + 1) % 3]], f"m-{number}") for number in range(9)]
            self.assertEqual(again, sent, "what is sent again is known at each daemon")
            entries = {}
            for number in range(3):
                entry = f"PublishBatchRequestEntries.member.{number + 1}."
                entries |= {entry + "Id": str(number), entry + "Message": f"m-{9 + number}", entry + "MessageGroupId": "g",
                            entry + "MessageDeduplicationId": f"m-{9 + number}"}
            owner = self.owner(daemons, UNIT)
            other = next(one for one in daemons if one is not owner)
            status, _, body = ask(other, Action="PublishBatch", **entries)
            self.assertEqual(status, 200, body)
            numbers = [number for _, number in sent + published(body)]
            self.assertEqual(numbers, [str(10 ** 19 + number) for number in range(1, 13)])
            self.until_came(function, 12)
            self.assertEqual(self.messages(function), [f"m-{number}" for number in range(12)], "each once, in order")
            # An error of the topic comes back as it is.
            status, _, body = ask(other, Action="Publish", Message="x")
            self.assertEqual(status, 400, body)
            self.assertIn("MessageGroupId", body)

    def test_a_topic_survives_its_daemons(self):
        """Its daemon is killed, stopped and joined by others, again and again, while a client publishes."""
        with Subscriber() as function:
            names = iter(range(100))
            daemons = self.members(function, [f"m{next(names)}" for _ in range(3)])
            sent, stopping, failed = [], threading.Event(), []

            def produce():
                try:
                    while not stopping.is_set():
                        sent.append(self.publish(list(daemons), f"m-{len(sent)}"))
                except Exception as error:
                    failed.append(error)

            producer = threading.Thread(target=produce)
            producer.start()
            try:
                for turn in range(2 * KILLS):
                    before = len(sent)
                    while len(sent) < before + 20 and not failed:
                        time.sleep(0.005)
                    owner = self.owner(daemons, UNIT)
                    daemons.remove(owner)
                    if turn % 2:
                        owner.process.send_signal(signal.SIGTERM)
                        owner.process.wait()
                    else:
                        owner.kill()
                    daemons += self.members(function, [f"m{next(names)}"])
            finally:
                stopping.set()
                producer.join()
            self.assertEqual(failed, [])
            self.until_came(function, len(sent))
            self.in_order(function, len(sent))
            numbers = [number for _, number in sent]
            self.assertEqual(numbers, sorted(set(numbers)), "they rise, and none comes twice")
            ids = {}
            for record in function.records:
                ids.setdefault(record["Sns"]["Message"], set()).add(record["Sns"]["MessageId"])
            self.assertEqual([ids[f"m-{number}"] for number in range(len(sent))], [{one} for one, _ in sent], "each is sent once")
            came = len(function.records)
            print(f"{len(sent)} messages, {came - len(sent)} deliveries came again after {KILLS} kills", file=sys.stderr)
            self.assertLessEqual(came - len(sent), KILLS, "only what was under way at a kill comes again")

    def test_what_waits_goes_with_the_topic(self):
        """The daemon that takes over delivers what another one has acknowledged: after a stop, and after a freeze."""
        with Subscriber() as function:
            function.busy.set()
            daemons = self.members(function, "abc")
            for number in range(10):
                self.publish(daemons, f"m-{number}")
            owner = self.owner(daemons, UNIT)
            others = [one for one in daemons if one is not owner]
            owner.process.send_signal(signal.SIGSTOP)
            try:
                self.assertIn(self.owner(others, UNIT), others)
                function.busy.clear()
                self.publish(others, "m-10")
                self.until_came(function, 11)
                self.in_order(function, 11)
            finally:
                owner.process.send_signal(signal.SIGCONT)
            for number in range(11, 20):
                self.publish(daemons, f"m-{number}")
            self.until_came(function, 20)
            self.in_order(function, 20)
            self.assertLessEqual(len(function.records), 21, "at most the one that was under way comes again")
            function.busy.set()
            for number in range(20, 25):
                self.publish(daemons, f"m-{number}")
            owner = self.owner(daemons, UNIT)
            self.end(owner)
            function.busy.clear()
            self.until_came(function, 25)
            self.in_order(function, 25)


def load_tests(loader, *unused):
    names = (name for name in loader.getTestCaseNames(EngineFleetTopics) if name in vars(EngineFleetTopics))
    return unittest.TestSuite(EngineFleetTopics(name) for name in names)


if __name__ == "__main__":
    EngineDaemon.name = sys.argv.pop(1)
    {"extenddb": extenddb.need, "dynamodb_local": dynamodb_local.need}.get(EngineDaemon.name, lambda: None)()
    unittest.main()
