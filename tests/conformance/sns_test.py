#!/usr/bin/env python3
"""Amazon SNS as boto3, the aws command and the JavaScript SDK use it. Started like conformance_test.py.

Topics, publishing, filters, subscribers that confirm, fail and hang up, a restart, and signatures. Endpoints are HTTP
servers of this test's own.
"""
import hashlib
import http.server
import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

import boto3
import botocore.config
import botocore.exceptions

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import endpoint as harness  # noqa: E402
from endpoint import HAS_AWS, NO_AWS, NODE, ROOT, Endpoint, aws, client  # noqa: E402

BINARY = os.environ.get("FRESHET_BINARY", str(ROOT / "build" / "release" / "freshet"))
HAS_NODE = shutil.which("node") is not None and (NODE / "node_modules" / "@aws-sdk" / "client-sns").is_dir()
WAIT_SECONDS = 60


class Subscriber:
    """An HTTP endpoint: what it is sent is in `received`, and it answers as `script` says: a status, or None to hang
    up. 200 when the script is at its end."""

    def __init__(self):
        self.received = queue.Queue()
        self.script = queue.Queue()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.received.put((dict(self.headers.items()), body.decode()))
                status = 200 if outer.script.empty() else outer.script.get()
                if status is None:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *unused):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def next(self):
        headers, body = self.received.get(timeout=WAIT_SECONDS)
        return headers, json.loads(body) if body.startswith("{") else body

    def confirm(self):
        """Does what a subscriber does: visits the URL that it is sent."""
        headers, message = self.next()
        assert headers["x-amz-sns-message-type"] == message["Type"] == "SubscriptionConfirmation", (headers, message)
        with urllib.request.urlopen(message["SubscribeURL"], timeout=WAIT_SECONDS) as answer:
            return answer.read().decode()


def setUpModule():
    global endpoint
    endpoint = Endpoint()
    endpoint.__enter__()


def tearDownModule():
    endpoint.__exit__()


class Case(unittest.TestCase):
    def setUp(self):
        self.sns = client(endpoint.url, "sns")
        self.addCleanup(self.sns.close)
        self.name = self.id().rsplit(".", 1)[1]
        self.topic = self.sns.create_topic(Name=self.name)["TopicArn"]
        self.addCleanup(lambda: self.sns.delete_topic(TopicArn=self.topic))

    def subscriber(self):
        subscriber = Subscriber()
        self.addCleanup(subscriber.close)
        return subscriber

    def confirmed(self, **attributes):
        subscriber = self.subscriber()
        arn = self.sns.subscribe(TopicArn=self.topic, Protocol="http", Endpoint=subscriber.url, Attributes=attributes,
                                 ReturnSubscriptionArn=True)["SubscriptionArn"]
        self.assertIn(arn, subscriber.confirm())
        return subscriber, arn

    def refused(self, status, code, call, **parameters):
        with self.assertRaises(botocore.exceptions.ClientError) as caught:
            call(**parameters)
        response = caught.exception.response
        self.assertEqual((response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"]), (status, code))
        self.assertEqual(response["Error"]["Type"], "Sender")
        self.assertTrue(response["ResponseMetadata"]["RequestId"])
        return response["Error"]["Message"]


class Topics(Case):
    def test_create_list_and_delete(self):
        self.assertEqual(self.topic, f"arn:aws:sns:us-east-1:000000000000:{self.name}")
        self.assertEqual(self.sns.create_topic(Name=self.name)["TopicArn"], self.topic)
        names = [f"many-{i:03}" for i in range(130)]
        arns = {self.sns.create_topic(Name=name)["TopicArn"] for name in names}
        pages = list(self.sns.get_paginator("list_topics").paginate())
        self.assertGreater(len(pages), 1)
        self.assertLessEqual(arns, {topic["TopicArn"] for page in pages for topic in page["Topics"]})
        for arn in arns:
            self.sns.delete_topic(TopicArn=arn)
        self.sns.delete_topic(TopicArn=arn)
        self.refused(404, "NotFound", self.sns.get_topic_attributes, TopicArn=arn)
        self.refused(400, "InvalidParameter", self.sns.create_topic, Name="no spaces")
        self.refused(400, "InvalidParameter", self.sns.create_topic, Name="x.fifo")
        self.refused(403, "AuthorizationError", self.sns.get_topic_attributes,
                     TopicArn="arn:aws:sns:us-east-1:123456789012:Other")

    def test_attributes_and_tags(self):
        self.sns.set_topic_attributes(TopicArn=self.topic, AttributeName="DisplayName", AttributeValue="<A & B>")
        attributes = self.sns.get_topic_attributes(TopicArn=self.topic)["Attributes"]
        self.assertEqual(attributes["DisplayName"], "<A & B>")
        self.assertEqual(json.loads(attributes["Policy"])["Id"], "__default_policy_ID")
        self.sns.tag_resource(ResourceArn=self.topic, Tags=[{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}])
        self.sns.untag_resource(ResourceArn=self.topic, TagKeys=["a"])
        self.assertEqual(self.sns.list_tags_for_resource(ResourceArn=self.topic)["Tags"], [{"Key": "b", "Value": "2"}])
        self.refused(404, "ResourceNotFound", self.sns.list_tags_for_resource, ResourceArn=self.topic + "x")
        self.refused(400, "InvalidAction", self.sns.get_sms_attributes)


class Publishing(Case):
    def test_notification(self):
        subscriber, arn = self.confirmed()
        text = "line\r\n\t<&> \"ä\" \u2028 😀"
        message_id = self.sns.publish(TopicArn=self.topic, Message=text, Subject="S & T", MessageAttributes={
            "s": {"DataType": "String", "StringValue": "x=&+ y"},
            "b": {"DataType": "Binary", "BinaryValue": b"\x00\xff"}})["MessageId"]
        headers, message = subscriber.next()
        self.assertEqual(headers["x-amz-sns-message-type"], "Notification")
        self.assertEqual(headers["x-amz-sns-subscription-arn"], arn)
        self.assertEqual(headers["x-amz-sns-message-id"], message_id)
        self.assertEqual((message["Message"], message["Subject"], message["TopicArn"]), (text, "S & T", self.topic))
        self.assertEqual(message["MessageAttributes"], {"s": {"Type": "String", "Value": "x=&+ y"},
                                                        "b": {"Type": "Binary", "Value": "AP8="}})
        self.refused(400, "InvalidParameter", self.sns.publish, TopicArn=self.topic, Message="")
        self.refused(400, "ParameterValueInvalid", self.sns.publish, TopicArn=self.topic, Message="x",
                     MessageAttributes={"a": {"DataType": "String", "BinaryValue": b"x"}})
        self.refused(404, "NotFound", self.sns.publish, TopicArn=self.topic + "x", Message="x")

    def test_raw_and_structure(self):
        subscriber, arn = self.confirmed(RawMessageDelivery="true")
        self.sns.publish(TopicArn=self.topic, MessageStructure="json",
                         Message=json.dumps({"default": "d", "http": "for http"}))
        self.assertEqual(subscriber.next()[1], "for http")
        self.sns.set_subscription_attributes(SubscriptionArn=arn, AttributeName="RawMessageDelivery",
                                             AttributeValue="false")
        self.sns.publish(TopicArn=self.topic, Message="x")
        self.assertEqual(subscriber.next()[1]["Message"], "x")

    def test_batch(self):
        subscriber, _ = self.confirmed(RawMessageDelivery="true")
        answer = self.sns.publish_batch(TopicArn=self.topic, PublishBatchRequestEntries=[
            {"Id": "a", "Message": "1"}, {"Id": "b", "Message": ""}, {"Id": "c", "Message": "3"}])
        self.assertEqual([one["Id"] for one in answer["Successful"]], ["a", "c"])
        self.assertEqual([(one["Id"], one["Code"], one["SenderFault"]) for one in answer["Failed"]],
                         [("b", "InvalidParameter", True)])
        self.assertEqual({subscriber.next()[1], subscriber.next()[1]}, {"1", "3"})
        self.refused(400, "EmptyBatchRequest", self.sns.publish_batch, TopicArn=self.topic,
                     PublishBatchRequestEntries=[])
        self.refused(400, "TooManyEntriesInBatchRequest", self.sns.publish_batch, TopicArn=self.topic,
                     PublishBatchRequestEntries=[{"Id": str(i), "Message": "x"} for i in range(11)])

    def test_filters(self):
        by_attribute, arn = self.confirmed(FilterPolicy='{"kind": ["a", {"prefix": "b"}]}', RawMessageDelivery="true")
        by_body, _ = self.confirmed(FilterPolicy='{"n": {"m": [{"numeric": [">", 5]}]}}', RawMessageDelivery="true",
                                    FilterPolicyScope="MessageBody")
        for number, kind in enumerate(("a", "x", "bc", "last-b")):
            self.sns.publish(TopicArn=self.topic, Message=json.dumps({"n": {"m": number + 4}}),
                             MessageAttributes={"kind": {"DataType": "String", "StringValue": kind}})
        self.assertEqual({by_attribute.next()[1]["n"]["m"] for _ in range(2)}, {4, 6})
        self.assertEqual({by_body.next()[1]["n"]["m"] for _ in range(2)}, {6, 7})
        self.sns.set_subscription_attributes(SubscriptionArn=arn, AttributeName="FilterPolicy", AttributeValue="{}")
        self.sns.publish(TopicArn=self.topic, Message="{}")
        self.assertEqual(by_attribute.next()[1], {}, "and nothing of the others was sent before")
        self.refused(400, "InvalidParameter", self.sns.set_subscription_attributes, SubscriptionArn=arn,
                     AttributeName="FilterPolicy", AttributeValue='{"a": "b"}')


class Subscriptions(Case):
    def test_confirmation_by_token(self):
        subscriber = self.subscriber()
        answer = self.sns.subscribe(TopicArn=self.topic, Protocol="http", Endpoint=subscriber.url)
        self.assertEqual(answer["SubscriptionArn"], "pending confirmation")
        token = subscriber.next()[1]["Token"]
        listed = self.sns.list_subscriptions_by_topic(TopicArn=self.topic)["Subscriptions"]
        self.assertEqual([(one["SubscriptionArn"], one["Endpoint"]) for one in listed],
                         [("PendingConfirmation", subscriber.url)])
        self.refused(400, "InvalidParameter", self.sns.confirm_subscription, TopicArn=self.topic, Token="x" * 64)
        arn = self.sns.confirm_subscription(TopicArn=self.topic, Token=token)["SubscriptionArn"]
        attributes = self.sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"]
        self.assertEqual((attributes["PendingConfirmation"], attributes["Endpoint"]), ("false", subscriber.url))
        again = self.sns.subscribe(TopicArn=self.topic, Protocol="http", Endpoint=subscriber.url)
        self.assertEqual(again["SubscriptionArn"], arn)
        self.sns.unsubscribe(SubscriptionArn=arn)
        self.refused(404, "NotFound", self.sns.get_subscription_attributes, SubscriptionArn=arn)
        self.refused(400, "InvalidParameter", self.sns.subscribe, TopicArn=self.topic, Protocol="sqs", Endpoint="x")
        self.refused(400, "InvalidParameter", self.sns.subscribe, TopicArn=self.topic, Protocol="https",
                     Endpoint="http://127.0.0.1/")

    def test_unsubscribe_by_url(self):
        subscriber, _ = self.confirmed()
        self.sns.publish(TopicArn=self.topic, Message="x")
        url = subscriber.next()[1]["UnsubscribeURL"]
        with self.assertRaises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(url[:-1] + ("1" if url[-1] == "0" else "0"), timeout=WAIT_SECONDS)
        self.addCleanup(caught.exception.close)
        self.assertEqual(caught.exception.code, 403)
        with urllib.request.urlopen(url, timeout=WAIT_SECONDS) as answer:
            self.assertIn("UnsubscribeResponse", answer.read().decode())
        attributes = self.sns.get_topic_attributes(TopicArn=self.topic)["Attributes"]
        self.assertEqual((attributes["SubscriptionsConfirmed"], attributes["SubscriptionsDeleted"]), ("0", "1"))

    def test_an_endpoint_that_fails_and_hangs_up(self):
        subscriber, _ = self.confirmed(RawMessageDelivery="true")
        for answer in (None, 500, 429):
            subscriber.script.put(answer)
        self.sns.publish(TopicArn=self.topic, Message="again")
        self.assertEqual([subscriber.next()[1] for _ in range(4)], ["again"] * 4)
        subscriber.script.put(404)
        self.sns.publish(TopicArn=self.topic, Message="refused")
        self.sns.publish(TopicArn=self.topic, Message="after it")
        self.assertEqual({subscriber.next()[1] for _ in range(2)}, {"refused", "after it"})

    def test_pages(self):
        arns = [self.sns.subscribe(TopicArn=self.topic, Protocol="lambda", ReturnSubscriptionArn=True,
                                   Endpoint=f"arn:aws:lambda:us-east-1:000000000000:function:f{i}")["SubscriptionArn"]
                for i in range(105)]
        for pages in (self.sns.get_paginator("list_subscriptions").paginate(),
                      self.sns.get_paginator("list_subscriptions_by_topic").paginate(TopicArn=self.topic)):
            listed = {one["SubscriptionArn"] for page in pages for one in page["Subscriptions"]}
            self.assertLessEqual(set(arns), listed)


class Clients(Case):
    @unittest.skipUnless(HAS_AWS, NO_AWS)
    def test_aws_command(self):
        subscriber = self.subscriber()

        def run(*arguments):
            done = aws(endpoint.url, "sns", *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout or "{}")

        topic = run("create-topic", "--name", "from-aws", "--tags", "Key=a,Value=b")["TopicArn"]
        run("subscribe", "--topic-arn", topic, "--protocol", "http", "--notification-endpoint", subscriber.url,
            "--attributes", "RawMessageDelivery=true")
        subscriber.confirm()
        self.assertTrue(run("publish", "--topic-arn", topic, "--message", "hello")["MessageId"])
        self.assertEqual(subscriber.next()[1], "hello")
        self.assertEqual(run("list-tags-for-resource", "--resource-arn", topic)["Tags"], [{"Key": "a", "Value": "b"}])
        fifo = run("create-topic", "--name", "from-aws.fifo", "--attributes",
                   "FifoTopic=true,ContentBasedDeduplication=true")["TopicArn"]
        numbers = [run("publish", "--topic-arn", fifo, "--message", "hello", "--message-group-id", group)
                   for group in ("a", "b")]
        self.assertEqual(numbers[0], numbers[1], "sent already, whatever the group")
        run("delete-topic", "--topic-arn", fifo)
        run("delete-topic", "--topic-arn", topic)
        gone = aws(endpoint.url, "sns", "publish", "--topic-arn", topic, "--message", "x")
        self.assertIn("(NotFound)", gone.stderr)

    @unittest.skipUnless(HAS_NODE, "client-sns is not in FRESHET_NODE_MODULES")
    def test_javascript(self):
        done = harness.node(endpoint.url, "sns_v3.mjs")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Fifo(Case):
    def setUp(self):
        super().setUp()
        self.fifo = self.sns.create_topic(Name=self.name + ".fifo", Attributes={"FifoTopic": "true"})["TopicArn"]
        self.addCleanup(lambda: self.sns.delete_topic(TopicArn=self.fifo))

    def raw_subscriber(self):
        subscriber = self.subscriber()
        self.sns.subscribe(TopicArn=self.fifo, Protocol="http", Endpoint=subscriber.url,
                           Attributes={"RawMessageDelivery": "true"})
        subscriber.confirm()
        return subscriber

    def test_attributes(self):
        attributes = self.sns.get_topic_attributes(TopicArn=self.fifo)["Attributes"]
        self.assertEqual((attributes["FifoTopic"], attributes["ContentBasedDeduplication"]), ("true", "false"))
        self.sns.set_topic_attributes(TopicArn=self.fifo, AttributeName="ContentBasedDeduplication",
                                      AttributeValue="true")
        self.sns.set_topic_attributes(TopicArn=self.fifo, AttributeName="FifoThroughputScope",
                                      AttributeValue="MessageGroup")
        self.refused(400, "InvalidParameter", self.sns.create_topic, Name="no-suffix", Attributes={"FifoTopic": "true"})

    def test_ids(self):
        self.refused(400, "InvalidParameter", self.sns.publish, TopicArn=self.fifo, Message="x")
        self.refused(400, "InvalidParameter", self.sns.publish, TopicArn=self.fifo, Message="x", MessageGroupId="g")
        self.refused(400, "InvalidParameter", self.sns.publish, TopicArn=self.topic, Message="x", MessageGroupId="g")

    def test_order_deduplication_and_sequence(self):
        subscriber = self.raw_subscriber()
        subscriber.script.put(503)
        first = self.sns.publish(TopicArn=self.fifo, Message="1", MessageGroupId="g", MessageDeduplicationId="a")
        again = self.sns.publish(TopicArn=self.fifo, Message="other", MessageGroupId="g", MessageDeduplicationId="a")
        self.assertEqual((again["MessageId"], again["SequenceNumber"]), (first["MessageId"], first["SequenceNumber"]))
        batch = self.sns.publish_batch(TopicArn=self.fifo, PublishBatchRequestEntries=[
            {"Id": str(i), "Message": str(i), "MessageGroupId": "g", "MessageDeduplicationId": f"b{i}"}
            for i in range(2, 10)])
        numbers = [first["SequenceNumber"]] + [one["SequenceNumber"] for one in batch["Successful"]]
        self.assertEqual({len(number) for number in numbers}, {20})
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertEqual([subscriber.next()[1] for _ in range(10)], ["1"] + [str(i) for i in range(1, 10)])

    def test_content(self):
        self.sns.set_topic_attributes(TopicArn=self.fifo, AttributeName="ContentBasedDeduplication",
                                      AttributeValue="true")
        subscriber = self.subscriber()
        self.sns.subscribe(TopicArn=self.fifo, Protocol="http", Endpoint=subscriber.url)
        subscriber.confirm()
        for text in ("same", "same", "other"):
            self.sns.publish(TopicArn=self.fifo, Message=text, MessageGroupId="g")
        messages = [subscriber.next()[1] for _ in range(2)]
        self.assertEqual([one["Message"] for one in messages], ["same", "other"])
        self.assertEqual(messages[0]["MessageDeduplicationId"], hashlib.sha256(b"same").hexdigest())
        self.assertLess(messages[0]["SequenceNumber"], messages[1]["SequenceNumber"])


class Restart(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="freshet-sns-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, run):
        ready = self.folder / f"ready{run}"
        process = subprocess.Popen([BINARY, "run", "--data", str(self.folder / "data"), "--listen", "127.0.0.1:0",
                                    "--ready-file", str(ready)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + WAIT_SECONDS
        while not ready.exists():
            self.assertLess(time.monotonic(), deadline, "it did not get ready")
            time.sleep(0.02)
        sns = client(ready.read_text().strip(), "sns")
        self.addCleanup(sns.close)
        return process, sns

    def test_fifo_survives_kill_9(self):
        """Killed while the endpoint refuses: what was acknowledged comes, in order, and is still known as sent."""
        subscriber = Subscriber()
        self.addCleanup(subscriber.close)
        process, sns = self.start(1)
        topic = sns.create_topic(Name="kept.fifo", Attributes={"FifoTopic": "true"})["TopicArn"]
        sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=subscriber.url,
                      Attributes={"RawMessageDelivery": "true"})
        subscriber.confirm()
        for _ in range(1000):
            subscriber.script.put(503)

        def publish(number):
            return sns.publish(TopicArn=topic, Message=f"m{number}", MessageGroupId=f"g{number % 3}",
                               MessageDeduplicationId=str(number))["SequenceNumber"]

        sent = [publish(number) for number in range(30)]
        process.send_signal(signal.SIGKILL)
        process.wait()
        while not subscriber.script.empty():
            subscriber.script.get()
        process, sns = self.start(2)
        self.assertEqual([publish(number) for number in range(30)], sent, "each was sent already")
        self.assertGreater(publish(30), max(sent))
        seen = {}
        while len(seen) < 31:
            seen.setdefault(subscriber.next()[1])
        for group in range(3):
            numbers = [int(text[1:]) for text in seen if int(text[1:]) % 3 == group]
            self.assertEqual(numbers, sorted(numbers))

    def test_a_topic_survives_kill_9(self):
        subscriber = Subscriber()
        self.addCleanup(subscriber.close)
        process, sns = self.start(1)
        topic = sns.create_topic(Name="kept", Attributes={"DisplayName": "D"}, Tags=[{"Key": "k", "Value": "v"}])["TopicArn"]
        sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=subscriber.url)
        subscriber.confirm()
        process.send_signal(signal.SIGKILL)
        process.wait()
        process, sns = self.start(2)
        attributes = sns.get_topic_attributes(TopicArn=topic)["Attributes"]
        self.assertEqual((attributes["DisplayName"], attributes["SubscriptionsConfirmed"]), ("D", "1"))
        self.assertEqual(sns.list_tags_for_resource(ResourceArn=topic)["Tags"], [{"Key": "k", "Value": "v"}])
        sns.publish(TopicArn=topic, Message="after")
        self.assertEqual(subscriber.next()[1]["Message"], "after")


class Signatures(unittest.TestCase):
    def test_requests_are_signed_for_sns(self):
        with tempfile.TemporaryDirectory(prefix="freshet-sns-") as folder:
            keys = pathlib.Path(folder) / "keys"
            keys.write_text("[default]\naws_access_key_id = AKIDTEST\naws_secret_access_key = secret\n")
            keys.chmod(0o600)
            with Endpoint("--credentials", str(keys)) as server:

                def sns(secret, service="sns", region="us-east-1"):
                    config = botocore.config.Config(retries={"max_attempts": 0})
                    return boto3.session.Session().client(service, endpoint_url=server.url, region_name=region,
                                                          aws_access_key_id="AKIDTEST", aws_secret_access_key=secret,
                                                          config=config)

                topic = sns("secret").create_topic(Name="signed")["TopicArn"]
                for made, code in ((sns("wrong"), "SignatureDoesNotMatch"),
                                   (sns("secret", region="eu-west-1"), "SignatureDoesNotMatch")):
                    with self.assertRaises(botocore.exceptions.ClientError) as caught:
                        made.list_topics()
                    self.assertEqual(caught.exception.response["Error"]["Code"], code)
                    self.assertEqual(caught.exception.response["ResponseMetadata"]["HTTPStatusCode"], 403)
                subscriber = Subscriber()
                try:
                    sns("secret").subscribe(TopicArn=topic, Protocol="http", Endpoint=subscriber.url)
                    self.assertIn(topic, subscriber.confirm(), "the token is the proof: no signature is needed")
                finally:
                    subscriber.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
