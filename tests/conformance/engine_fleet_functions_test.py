#!/usr/bin/env python3
"""Several daemons over one engine (--fleet) that run functions, and serve priority queues and filtered queues:

  tests/conformance/engine_fleet_functions_test.py freshet|extenddb|dynamodb_local

Everything is started on free ports and stopped. An engine that is not installed is skipped by name."""
import base64
import json
import re
import time
import urllib.request

from engine_daemon_test import ROOT, Function, Refused, next_millisecond
from engine_fleet import LEASE_MS, EngineFleet, main, tests_of
from engine_fleet_topics_test import Subscriber, ask
from engine_fleet_topics_test import template as topic_template
from lambda_code import ROLE, answering
from daemon import SLOWER

FUNCTIONS = "/2015-03-31/functions"


class FleetOfFunctions(EngineFleet):
    def test_a_schedule_fires_once(self):
        """The one that fires it creates the task, also in a queue that another one serves."""
        daemons, wait = [], 5
        while not daemons:  # The first daemon must know the schedule before its time, however slow the machine is.
            at = time.time() + wait
            when = time.strftime("at(%Y-%m-%dT%H:%M:%S)", time.gmtime(at))
            options = ("--parameter", "CreateTasks=true", "--parameter", f"CreateSchedule={when}",
                       "--set", "CreateTasksFunction.CREATE_TASKS=1")
            first = self.member(f"a{wait}", *options)
            if time.time() < int(at):
                daemons = [first]
            else:
                self.end(first)
                wait *= 2
        daemons += [self.member(name, *options) for name in "bc"]
        while not self.items(daemons[0]):
            time.sleep(0.02)
        idle = next(daemon for daemon in daemons if "CREATE_TASKS_BEGIN" not in daemon.log_path.read_text())
        idle.kill()
        idle.start()
        for daemon in daemons:
            while "last" not in (state := daemon.call("GET", "/schedules")["schedules"][0]):
                time.sleep(0.02)
            self.assertNotIn("next", state)
        began = [daemon.log_path.read_text().count("CREATE_TASKS_BEGIN") for daemon in daemons]
        self.assertEqual(sum(began), 1, began)
        self.assertEqual(len(self.items(daemons[0])), 1)

    def runs_mapping(self, daemons, mapping="SeenChange"):
        """The one that runs the mapping. The others may be dead."""
        end = time.monotonic() + 60 * SLOWER
        while time.monotonic() < end:
            for daemon in daemons:
                fleet = daemon.call("GET", "/fleet")
                if any(one["id"] == fleet["member"] and f"mapping/{mapping}" in one["holds"] for one in fleet["members"]):
                    return daemon
            time.sleep(0.02)
        raise AssertionError("nobody runs the mapping")

    def changes(self, daemon, function, versions):
        for version in versions:
            self.change(daemon, "a", version)
        self.wait_for(daemon, lambda: versions[-1] in function.versions()["a"])

    def test_a_mapping_goes_on_at_another_daemon(self):
        with Function() as function:
            template = function.template(self.place)
            fleet = ("--fleet", "--fleet-lease-ms", str(LEASE_MS))
            daemons = [self.reader(template, *fleet, name=name).start() for name in "abc"]
            self.changes(daemons[0], function, range(1, 11))
            owner = self.runs_mapping(daemons)
            with urllib.request.urlopen(f"http://127.0.0.1:{owner.port}/metrics") as page:
                self.assertIn("\nfreshet_fleet_mappings 1\n", page.read().decode())
            daemons.remove(owner)
            owner.kill()
            self.changes(daemons[0], function, range(11, 21))
            came = function.versions()["a"]
            self.assertEqual(sorted(set(came)), list(range(1, 21)))
            self.assertEqual(came[-10:], list(range(11, 21)), "what was not processed came after the kill")
            owner = self.runs_mapping(daemons)
            daemons.remove(owner)
            self.end(owner)
            before = len(came)
            self.changes(daemons[0], function, range(21, 31))
            self.assertEqual(function.versions()["a"][before:], list(range(21, 31)), "each once: the stop was a clean one")
            self.assertEqual(self.runs_mapping(daemons), daemons[0])
            path = "/2015-03-31/event-source-mappings/"
            uuid = daemons[0].call("GET", path)["EventSourceMappings"][0]["UUID"]
            for method, document in (("PUT", {"BatchSize": 1}), ("DELETE", None)):
                with self.assertRaises(Refused) as refused:
                    daemons[0].call(method, path + uuid, document)
                self.assertEqual(refused.exception.status, 400)
                self.assertIn("what the template defines: mapping SeenChange", str(refused.exception))
            self.assertNotIn("STREAM_RECORDS_LOST", daemons[0].log_path.read_text())

    def test_a_mapping_of_a_client_is_the_fleets(self):
        with Function() as function:
            template = function.template(self.place)
            document = json.loads(template.read_text())
            document["Resources"]["Seen"]["Properties"].pop("Events")
            template.write_text(json.dumps(document))
            daemons = [self.reader(template, "--fleet", "--fleet-lease-ms", str(LEASE_MS), name=name).start() for name in "abc"]
            path = "/2015-03-31/event-source-mappings/"
            asked = {"FunctionName": "Seen", "StartingPosition": "LATEST", "BatchSize": 10,
                     "EventSourceArn": "arn:aws:dynamodb:us-east-1:000000000000:table/Orders/stream/latest"}
            uuid = daemons[0].call("POST", path, asked)["UUID"]
            with self.assertRaises(Refused) as refused:
                daemons[1].call("POST", path, asked)
            self.assertEqual(refused.exception.status, 409)
            self.assertIn(uuid, str(refused.exception))
            self.changes(daemons[1], function, range(1, 11))
            self.assertEqual(sorted(set(function.versions()["a"])), list(range(1, 11)), "it began with the client's answer")
            daemons[2].call("PUT", path + uuid, {"BatchSize": 5})
            for daemon in daemons:
                self.wait_for(daemon, lambda daemon=daemon: daemon.call("GET", path + uuid)["BatchSize"] == 5)
            owner = self.runs_mapping(daemons, uuid)
            daemons.remove(owner)
            owner.kill()
            self.changes(daemons[0], function, range(11, 21))
            self.assertEqual(sorted(set(function.versions()["a"])), list(range(1, 21)))
            owner.start()
            self.assertEqual(owner.call("GET", path + uuid)["BatchSize"], 5)
            daemons[1].call("DELETE", path + uuid)
            for daemon in (owner, *daemons):
                self.wait_for(daemon, lambda daemon=daemon: daemon.call("GET", path)["EventSourceMappings"] == [])
            self.wait_for(owner, lambda: not any(one["holds"] for one in owner.call("GET", "/fleet")["members"]))
            before = len(function.records)
            self.change(owner, "a", 21)
            time.sleep(1)  # Nothing is to come.
            self.assertEqual(len(function.records), before)

    def test_a_mapping_of_one_daemon_goes_on_in_a_fleet(self):
        with Function() as function:
            template = function.template(self.place, StartingPosition="LATEST")
            daemon = self.reader(template).start()
            self.changes(daemon, function, range(1, 6))
            self.end(daemon)
            writer = self.daemon("writer", "--create-tables").start()
            self.change(writer, "a", 6)
            self.end(writer)
            daemon = self.reader(template, "--fleet").start()
            self.changes(daemon, function, range(7, 10))
            self.assertEqual(function.versions(), {"a": list(range(1, 10))})

    def test_a_priority_queue_moves_to_another_daemon(self):
        """It is strict: one record is in flight in the whole fleet, also while another daemon takes it over."""
        definition = self.place / "priority.json"
        definition.write_text(json.dumps({"queues": [{"name": "Shipment", "table": "Shipment", "strict": True,
                                                      "visibility_timeout_ms": 60000}]}))
        option = ("--priority-queue", str(definition))
        daemons = [self.member(name, *option) for name in "abc"]
        path = "/priority/Shipment/"

        def settle(daemon, record):
            return self.try_again(daemon, "POST", path + "remove", {"id": record["id"], "receipt": record["receipt"]})

        def peek(daemon):
            return self.try_again(daemon, "POST", path + "peek", {"max": 5})["records"]

        for number in range(6):
            daemon = daemons[number % 3]
            self.try_again(daemon, "POST", path + "put", {"id": f"r{number}", "status": "READY_TO_SHIP"})
            self.try_again(daemon, "POST", path + "enqueue", {"id": f"r{number}"})
            next_millisecond()
        owner = self.owner(daemons, "priority/Shipment")
        self.assertEqual([self.try_again(daemon, "GET", path + "stats")["ready"] for daemon in daemons], [6] * 3)
        first = peek(daemons[0])
        self.assertEqual([record["id"] for record in first], ["r0"], first)
        for daemon in daemons:
            self.assertIn("is strict, and ", peek(daemon)[0]["detail"])
        daemons.remove(owner)
        owner.kill()
        # Anybody may put a record meanwhile.
        self.assertTrue(daemons[0].call("POST", path + "put", {"id": "r6", "status": "READY_TO_SHIP"})["successful"])
        for daemon in daemons:
            self.assertIn("is strict, and ", peek(daemon)[0]["detail"])
        self.assertTrue(settle(daemons[1], first[0])["successful"])
        second = peek(daemons[0])
        self.assertEqual([record["id"] for record in second], ["r1"], second)
        owner = self.owner(daemons, "priority/Shipment")
        daemons.remove(owner)
        self.end(owner)
        self.assertTrue(settle(daemons[0], second[0])["successful"])
        order = []
        while (third := peek(daemons[0])) and third[0]["successful"]:
            order.append(third[0]["id"])
            settle(daemons[0], third[0])
        self.assertEqual(order, ["r2", "r3", "r4", "r5"])
        with self.assertRaises(Refused) as refused:
            daemons[0].call("GET", "/priority/Nothing/stats")
        self.assertEqual(refused.exception.status, 404)

    def test_a_redrive_is_that_of_the_owner(self):
        definition = self.place / "priority.json"
        definition.write_text(json.dumps({"queues": [{"name": "Shipment", "table": "Shipment"}]}))
        daemons = [self.member(name, "--priority-queue", str(definition)) for name in "ab"]
        path = "/priority/Shipment/"
        self.until_shares(daemons[0], [1, 1])  # From then on the queue stays where it is.
        for number in range(4):
            self.try_again(daemons[0], "POST", path + "put", {"id": f"r{number}", "status": "READY_TO_SHIP"})
            self.try_again(daemons[0], "POST", path + "enqueue", {"id": f"r{number}"})
            self.try_again(daemons[0], "POST", path + "dlq", {"id": f"r{number}"})
        started = self.try_again(daemons[0], "POST", path + "redrive", {"rate": 20})
        self.assertTrue(started["going_on"])
        while True:
            shown = [self.try_again(daemon, "GET", path + "stats")["redrive"] for daemon in daemons]
            if not any(one["going_on"] for one in shown):
                break
            time.sleep(0.02)
        self.assertEqual([one["moved"] for one in shown], [4, 4])

    def test_any_daemon_answers_for_a_filtered_queue(self):
        definition = self.place / "filtered.json"
        definition.write_text((ROOT / "config" / "filtered-queue.json").read_text())
        daemons = [self.member(name, "--filtered-queue", str(definition)) for name in "ab"]
        owner = self.owner(daemons, "filtered/CallCenter")
        path = "/filtered/CallCenter/"
        member = {"id": "a1", "attributes": {"AgentName": "Ann", "Languages": ["English"], "Gender": "F"}}
        daemons[0].call("POST", path + "put", member)
        waiting = daemons[1].call("POST", path + "assign", {"request": "call-1", "match": {"Languages": "English", "Gender": "F"}, "wait": True})
        self.assertEqual(waiting["outcome"], "waiting")
        daemons[0].call("POST", path + "enqueue", {"id": "a1"})
        self.assertEqual(daemons[1].call("GET", path + "requests/call-1")["member"], "a1")
        daemons.remove(owner)
        owner.kill()
        self.owner(daemons, "filtered/CallCenter")
        self.assertEqual(daemons[0].call("GET", path + "requests/call-1")["member"], "a1")

    def test_events_of_a_dead_daemon_run_on_another(self):
        with Function() as function:
            function.refuses = lambda event: event["n"] < 0
            function.fails.set()
            template = function.template(self.place)
            fleet = ("--fleet", "--fleet-lease-ms", str(LEASE_MS))
            daemons = [self.reader(template, *fleet, name=name).start() for name in "ab"]

            def invoke(daemon, number):
                daemon.call("POST", "/2015-03-31/functions/Seen/invocations", {"n": number, "Records": [{"n": number}]},
                            {"X-Amz-Invocation-Type": "Event"})

            for number in range(5):
                invoke(daemons[0], number)
            self.wait_for(daemons[0], lambda: function.failed >= 5)
            daemons[0].kill()
            function.fails.clear()
            self.wait_for(daemons[1], lambda: len(function.records) >= 5)
            self.assertEqual(sorted(record["n"] for record in function.records), list(range(5)))
            self.assertIn("EVENTS_TAKEN_OVER", daemons[1].log_path.read_text())
            # Back again, it has none of them, and runs new ones.
            again = self.reader(template, *fleet, name="a").start()
            self.until_fleet(again, 2)
            invoke(again, 5)
            self.wait_for(again, lambda: len(function.records) >= 6)
            self.assertEqual(sorted(record["n"] for record in function.records), list(range(6)))

    def asked(self, daemon, **form):
        """The answer to an SNS action, which must be well."""
        status, _, body = ask(daemon, **form)
        self.assertEqual(status, 200, body)
        return body

    def topics(self, daemon):
        return re.findall(r"<TopicArn>[^<]*:([^:<]*)</TopicArn>", self.asked(daemon, Action="ListTopics"))

    def until(self, done):
        """Waits: the others have within a second what one daemon defines."""
        end = time.monotonic() + 20 * SLOWER
        while not done():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def test_topics_of_clients_are_the_fleets(self):
        """Each daemon has what a client makes and removes at another one, also one that joins or was away."""
        with Subscriber() as function:
            template = topic_template(function, self.place)
            fleet = ("--fleet", "--fleet-lease-ms", str(LEASE_MS))
            daemons = {name: self.reader(template, *fleet, name=name).start() for name in "ab"}
            arn = "arn:aws:sns:us-east-1:000000000000:News"
            # A request at once at another daemon finds it.
            for n in range(5):
                self.asked(daemons["ab"[n % 2]], Action="CreateTopic", Name=f"Short{n}")
                self.asked(daemons["ba"[n % 2]], Action="Publish", TopicArn=f"{arn[:-4]}Short{n}", Message="to nobody")
                self.asked(daemons["b"], Action="DeleteTopic", TopicArn=f"{arn[:-4]}Short{n}")
            self.asked(daemons["a"], Action="CreateTopic", Name="News")
            # A change at once at another daemon sees it.
            subscription = re.search("<SubscriptionArn>(.*?)</", self.asked(
                daemons["b"], Action="Subscribe", TopicArn=arn, Protocol="lambda",
                Endpoint="arn:aws:lambda:us-east-1:000000000000:function:Seen")).group(1)
            daemons["c"] = self.reader(template, *fleet, name="c").start()  # It has all before it is ready.
            self.assertEqual(self.topics(daemons["c"]), ["News", "Orders.fifo"])
            self.until(lambda: subscription in self.asked(daemons["a"], Action="ListSubscriptions"))
            for name, daemon in daemons.items():
                self.asked(daemon, Action="Publish", TopicArn=arn, Message=name)
            self.wait_for(daemons["a"], lambda: len(function.records) >= 3)
            self.assertEqual(sorted(record["Sns"]["Message"] for record in function.records), ["a", "b", "c"])
            # The template's stays the template's.
            for action in ({"Action": "DeleteTopic"}, {"Action": "SetTopicAttributes", "AttributeName": "DisplayName", "AttributeValue": "x"}):
                status, _, body = ask(daemons["a"], **action)
                self.assertEqual(status, 400, body)
                self.assertIn("clients cannot change what the template defines", body)
            daemons["b"].kill()
            self.asked(daemons["c"], Action="Unsubscribe", SubscriptionArn=subscription)
            self.asked(daemons["a"], Action="CreateTopic", Name="Late")
            self.asked(daemons["c"], Action="DeleteTopic", TopicArn=arn)
            daemons["b"].start()
            self.assertEqual(self.topics(daemons["b"]), ["Late", "Orders.fifo"])
            self.until(lambda: self.topics(daemons["a"]) == ["Late", "Orders.fifo"])
            # A FIFO topic of a client is served by one of them, too.
            self.asked(daemons["a"], Action="CreateTopic", Name="Mine.fifo", **{"Attributes.entry.1.key": "FifoTopic",
                                                                                "Attributes.entry.1.value": "true"})
            self.until(lambda: all("Mine.fifo" in self.topics(daemon) for daemon in daemons.values()))
            self.owner(list(daemons.values()), "topic/Mine.fifo")

    def test_topics_of_one_daemon_go_into_a_fleet(self):
        with Subscriber() as function:
            template = topic_template(function, self.place)
            daemon = self.reader(template, name="a").start()
            self.asked(daemon, Action="CreateTopic", Name="News")
            self.end(daemon)
            fleet = ("--fleet", "--fleet-lease-ms", str(LEASE_MS))
            first = self.reader(template, *fleet, name="a").start()
            second = self.reader(template, *fleet, name="b").start()
            self.assertEqual(self.topics(second), ["News", "Orders.fifo"])
            self.end(first)
            self.asked(second, Action="CreateTopic", Name="Other")
            alone = self.reader(template, name="a").start()
            self.assertEqual(self.topics(alone), ["News", "Orders.fifo"], "it goes on with what it knows")

    def upload(self, daemon, method, path, value, **more):
        code = {"ZipFile": base64.b64encode(answering(value)).decode()}
        return daemon.call(method, FUNCTIONS + path, {**more, "Code": code} if method == "POST" else {**more, **code})

    def create(self, daemon, name, value):
        return self.upload(daemon, "POST", "", value, FunctionName=name, Role=ROLE, Runtime="python3.11", Handler="app.handler", Timeout=30)

    def answer(self, daemon, name):
        """The function's answer; None if the daemon does not have it."""
        try:
            return daemon.call("POST", f"{FUNCTIONS}/{name}/invocations", {"n": 2})
        except Refused as refused:
            if refused.status != 404:
                raise
            return None

    def refused(self, daemon, *request):
        with self.assertRaises(Refused) as refused:
            daemon.call(*request)
        return refused.exception.status, str(refused.exception)

    def test_functions_of_clients_run_on_all_daemons(self):
        """They have the code that a client has uploaded at one of them, and each change of it."""
        daemons = {name: self.member(name) for name in "ab"}
        a, b = daemons.values()
        self.create(a, "Twice", "one")
        self.assertEqual(self.answer(b, "Twice"), ["one", 4], "at once")
        self.assertEqual(self.answer(a, "Twice"), ["one", 4])
        self.assertEqual(self.refused(b, "POST", FUNCTIONS, {"FunctionName": "Twice", "Role": ROLE, "Runtime": "python3.11", "Handler": "x.y",
                                                             "Code": {"ZipFile": base64.b64encode(answering("x")).decode()}})[0], 409)
        # The second of two changes finds that the first was made, also at another daemon.
        seen = a.call("GET", FUNCTIONS + "/Twice/configuration")["RevisionId"]
        self.assertEqual(b.call("GET", FUNCTIONS + "/Twice/configuration")["RevisionId"], seen)
        a.call("PUT", FUNCTIONS + "/Twice/configuration", {"Description": "first", "RevisionId": seen})
        self.assertEqual(self.refused(b, "PUT", FUNCTIONS + "/Twice/configuration", {"Description": "second", "RevisionId": seen})[0], 412)
        # Versions and aliases.
        version = b.call("POST", FUNCTIONS + "/Twice/versions", {})["Version"]
        a.call("POST", FUNCTIONS + "/Twice/aliases", {"Name": "live", "FunctionVersion": version})
        self.upload(a, "PUT", "/Twice/code", "two")
        for daemon in (a, b):
            self.until(lambda daemon=daemon: self.answer(daemon, "Twice") == ["two", 4])
            self.assertEqual(self.answer(daemon, "Twice:live"), ["one", 4])
        # One that joins has all before it is ready; so has one that was away.
        daemons["c"] = c = self.member("c")
        self.assertEqual(self.answer(c, "Twice"), ["two", 4])
        self.assertEqual(self.answer(c, "Twice:live"), ["one", 4])
        b.kill()
        a.call("PUT", FUNCTIONS + "/Twice/aliases/live", {"FunctionVersion": "$LATEST"})
        self.upload(c, "PUT", "/Twice/code", "three")
        c.call("PUT", "/2017-10-31/functions/Twice/concurrency", {"ReservedConcurrentExecutions": 7})
        b.start()
        self.assertEqual(self.answer(b, "Twice"), ["three", 4])
        self.assertEqual(self.answer(b, "Twice:live"), ["three", 4])
        self.assertEqual(b.call("GET", "/2019-09-30/functions/Twice/concurrency"), {"ReservedConcurrentExecutions": 7})
        # The template's stay the template's.
        for request in (("PUT", FUNCTIONS + "/ProcessTasksFunction/configuration", {"Timeout": 3}), ("DELETE", FUNCTIONS + "/ProcessTasksFunction"),
                        ("POST", FUNCTIONS + "/ProcessTasksFunction/versions", {})):
            status, why = self.refused(a, *request)
            self.assertEqual(status, 400, why)
            self.assertIn("clients cannot change what the template defines", why)
        c.call("DELETE", FUNCTIONS + "/Twice")
        for daemon in (a, b, c):
            self.until(lambda daemon=daemon: self.answer(daemon, "Twice") is None)
            self.until(lambda daemon=daemon: not list((daemon.store / "code").iterdir()))

    def test_functions_of_one_daemon_go_into_a_fleet(self):
        """A daemon had them before it was in a fleet: their code comes along, too."""
        alone = self.daemon("a", "--create-tables").start()
        self.create(alone, "Twice", "one")
        self.end(alone)
        a, b = [self.member(name) for name in "ab"]
        self.assertEqual(self.answer(b, "Twice"), ["one", 4])
        self.upload(b, "PUT", "/Twice/code", "two")
        self.until(lambda: self.answer(a, "Twice") == ["two", 4])
        self.end(a)
        self.end(b)
        alone = self.daemon("a").start()
        self.assertEqual(self.answer(alone, "Twice"), ["two", 4], "alone, it goes on with what it knows")


load_tests = tests_of(FleetOfFunctions)

if __name__ == "__main__":
    main()
