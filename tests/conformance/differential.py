#!/usr/bin/env python3
"""The same random requests to Freshet and to AWS's own DynamoDB Local, and what they answer differently.

  tests/conformance/differential.py                      # 100,000 requests with a seed of the day's: ends with 1 at a difference
  tests/conformance/differential.py --requests 3000 --seed 7
  tests/conformance/differential.py --survey             # counts the kinds of differences, each with an example

An episode makes tables and sends some dozens of requests to them; then both sides must hold the same items. A difference that
a reason explains (differential_reasons.py) is counted; any other is made small and printed with both answers. FRESHET_BINARY
names the binary.
"""
import argparse
import collections
import json
import multiprocessing
import os
import pathlib
import queue
import random
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import differential_reasons  # noqa: E402
import differential_shrink  # noqa: E402
from differential_requests import Requests  # noqa: E402
from differential_sides import WRITES, Side, Sides, only_removing, spelt, without_action  # noqa: E402

WORKERS = 2
SHRUNK = 20  # Differences that one process makes small.


class Difference:
    """A request that was answered differently, and the requests before it that it needs."""

    def __init__(self, before, operation, body, ours, theirs, at_end=False):
        self.at_end = at_end  # Seen when the items were compared, not in a request of the episode.
        self.before, self.operation, self.body, self.ours, self.theirs = before, operation, body, ours, theirs

    def requests(self):
        """All that it needs, in order."""
        return self.before + ([] if self.at_end else [(self.operation, self.body)])

    def kind(self):
        """The kind of the difference, without names and values: two of one kind are one fault."""
        return f"{self.operation} | {skeleton(self.ours, self.theirs)} | {skeleton(self.theirs, self.ours)}"

    def __str__(self):
        lines = [f"{operation} {json.dumps(body, ensure_ascii=False)}" for operation, body in self.before]
        lines += [f"{self.operation} {json.dumps(self.body, ensure_ascii=False)}", f"  Freshet:        {self.ours}",
                  f"  DynamoDB Local: {self.theirs}"]
        return "\n".join(lines)


def skeleton(answer, other):
    if answer.status == 200:
        return "200" if other.status != 200 else "200 with another document"
    return re.sub(r"\d+", "0", re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"|\{[^}]*\}|\[[^\]]*\]|(?<=: )\S+$|#\w+|:\w+", "~",
                                      f"{answer.kind}: {answer.message}"))


class Episode:
    """Tables on both sides, for some requests. Differences that have a reason are counted in `explained`."""

    def __init__(self, sides, survey=False):
        """With `survey` it goes on behind a difference, and `found` has all of them."""
        self.sides, self.survey, self.found = sides, survey, []
        self.explained = collections.Counter()
        self.asked = 0
        self.done = []
        self.names = []

    def run(self, requests):
        """Runs them; the first difference without a reason, or None."""
        try:
            for operation, body in requests:
                found, goes_on = self.step(operation, body)
                if found:
                    self.found.append(found)
                if not goes_on:
                    return found
            last = self.compare_items()
            if last and self.survey:
                self.found.append(last)
            return last
        finally:
            for name in self.names:
                for side in self.sides.both:
                    side.once("DeleteTable", {"TableName": name})

    def step(self, operation, body):
        """(the difference without a reason, whether the episode goes on)."""
        ours, theirs = self.sides.ask(operation, body)
        self.asked += 1
        if operation == "CreateTable" and 200 in (ours.status, theirs.status):
            self.names.append(body["TableName"])
        self.remove_empty(operation, body)
        before = list(self.done)
        self.done.append((operation, body))
        if ours.same(theirs):
            if not without_action(body) or self.compare_items() is None:
                return None, True
            self.explained["removing from nothing"] += 1
            return None, False
        reasons = differential_reasons.settle(operation, body, ours, theirs)
        if reasons is None and not self.survey:
            return Difference(before, operation, body, ours, theirs), False
        self.explained.update(reasons or [])
        # Beyond a write that one side did and the other did not, nothing can be compared.
        goes_on = operation not in WRITES or self.compare_items() is None
        return (Difference([], operation, body, ours, theirs) if reasons is None else None), goes_on

    def remove_empty(self, operation, body):
        """In an update that only removes, DynamoDB Local makes an empty item if there was none; the service makes none.
        Deletes it again."""
        for table, key in only_removing(operation, body):
            ask = {"TableName": table, "Key": key}
            ours, theirs = self.sides.ask("GetItem", ask)
            if ours.document == {} and theirs.status == 200 and spelt(theirs.document) == {"Item": spelt(key)}:
                self.sides.both[1].once("DeleteItem", ask)
                self.explained["removing from nothing"] += 1

    def compare_items(self):
        for name in dict.fromkeys(self.names):
            body = {"TableName": name}
            ours, theirs = self.sides.ask("Scan", body)
            if ours.same(theirs):
                continue
            reasons = differential_reasons.settle("Scan", body, ours, theirs)
            self.explained.update(reasons or [])
            if reasons is None:
                return Difference(list(self.done), "Scan", body, ours, theirs, at_end=True)
        return None


def connect(urls, worker):
    return Sides(*(Side(url, f"WORKER{worker}") for url in urls))


def work(urls, seed, worker, wanted, survey, out):
    """One of the processes: episodes until its share of the requests is done."""
    sides = connect(urls, worker)
    asked = episodes = 0
    explained = collections.Counter()
    seen = set()
    while asked < wanted:
        chance = random.Random(f"{seed}-{worker}-{episodes}")
        episodes += 1
        creates, requests = Requests(chance, f"d{worker}-{episodes}").episode()
        episode = Episode(sides, survey)
        last = episode.run(creates + requests)
        asked += episode.asked
        explained += episode.explained
        for found in episode.found if survey else [last] if last else []:
            kind = found.kind()
            if not survey and kind not in seen and len(seen) < SHRUNK:
                found = differential_shrink.shrink(found, lambda some: Episode(sides).run(some))
            seen.add(kind)
            out.put(("found", worker, kind, str(found)))
    out.put(("done", worker, asked, explained))


def run(urls, seed, requests, survey=False, workers=WORKERS):
    """(requests sent, count of each reason, example and count of each kind of difference without one)."""
    context = multiprocessing.get_context("fork")
    out = context.Queue()
    running = [context.Process(target=work, args=(urls, seed, i, -(-requests // workers), survey, out)) for i in range(workers)]
    for one in running:
        one.start()
    try:
        return collect(running, out, survey)
    finally:  # If one has ended by itself, nobody waits for the others.
        for one in running:
            one.terminate()
            one.join()


def collect(running, out, survey):
    asked, explained, found, ended = 0, collections.Counter(), {}, 0
    while ended < len(running):
        try:
            word, _, *said = out.get(timeout=5)
        except queue.Empty:
            if any(one.exitcode for one in running):
                raise RuntimeError("a process of the fuzzer ended by itself") from None
            continue
        if word == "done":
            ended += 1
            asked += said[0]
            explained += said[1]
        else:
            kind, text = said
            count, first = found.get(kind, (0, text))
            found[kind] = (count + 1, first if len(first) <= len(text) else text)
            if count == 0 and not survey:
                print(f"DIFFERENCE without a reason:\n{text}\n", flush=True)
    return asked, explained, found


def report(asked, explained, found, seed, seconds, survey):
    for kind, (count, text) in sorted(found.items(), key=lambda one: -one[1][0]) if survey else ():
        print(f"{count:5} {kind}\n" + "\n".join("      " + line[:1500] for line in text.splitlines()[-3:]))
    for one in differential_reasons.REASONS:
        print(f"  {explained[one.name]:6} {one.name}: {one.why}")
    print(f"seed {seed}: {asked} requests in {seconds:.0f} s, {explained.total()} differences with a reason, "
          f"{sum(count for count, _ in found.values())} without")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=int(time.time()) // 86_400)
    parser.add_argument("--survey", action="store_true")
    words = parser.parse_args()
    import dynamodb_local
    import endpoint
    dynamodb_local.need()
    os.environ.pop("FRESHET_ENDPOINT", None)
    print(f"seed {words.seed}", flush=True)
    start = time.monotonic()
    with endpoint.Endpoint() as ours, dynamodb_local.DynamoDBLocal() as theirs:
        asked, explained, found = run((ours.url, theirs.url), words.seed, words.requests, words.survey)
    report(asked, explained, found, words.seed, time.monotonic() - start, words.survey)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
