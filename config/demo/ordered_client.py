#!/usr/bin/env python3
"""A client of ordered writes that hedges: a call that takes longer than 95 of 100 before it is made a second time, and
the first answer counts; what the daemon cannot take for now is tried again. A write gets its timestamp before its first
attempt, and every repetition carries that one, so none of them can overwrite what somebody else wrote meanwhile.

    from ordered_client import HedgedClient
    client = HedgedClient("http://127.0.0.1:7070", "Ratings")
    client.put({"PK": "User#1", "SK": "Movie#A", "Rating": 5})

or, to see it work, so many writes and reads by 8 threads at a time:

    ordered_client.py [--url http://127.0.0.1:7070] [--table Ratings] [--count 1000]
"""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

REFUSED_FOR_NOW = {429, 500, 503, 504}


def now_ms():
    return time.time_ns() // 10**6


class Latencies:
    """How long the last calls took, and how many of them were hedged."""

    def __init__(self, window, least):
        self.took, self.least, self.lock = collections.deque(maxlen=window), least, threading.Lock()
        self.calls = self.hedges = self.won = self.retries = 0

    def p95(self):
        """Seconds within which 95 of 100 calls were answered; None before there were enough."""
        with self.lock:
            if len(self.took) < self.least:
                return None
            return sorted(self.took)[(len(self.took) * 95 + 99) // 100 - 1]

    def count(self, name, n=1):
        with self.lock:
            setattr(self, name, getattr(self, name) + n)


class HedgedClient:
    """May be used by many threads. `stamp` gives the timestamp of a write that names none, in the definition's unit; None
    for tables whose records carry their own (`timestamp_path`)."""

    def __init__(self, url, table, stamp=now_ms, window=1000, least=20, least_delay=0.001, most_share=0.1, attempts=4,
                 backoff=0.02, timeout=30, threads=32):
        self.root = f"{url.rstrip('/')}/ordered/{urllib.parse.quote(table, safe='')}/"
        self.stamp, self.least_delay, self.most_share = stamp, least_delay, most_share
        self.attempts, self.backoff, self.timeout = attempts, backoff, timeout
        self.reads, self.writes = Latencies(window, least), Latencies(window, least)
        self.pool = concurrent.futures.ThreadPoolExecutor(threads)

    def put(self, item, timestamp=None):
        return self._write("put", {"item": item}, timestamp)

    def delete(self, key, timestamp=None):
        return self._write("delete", {"key": key}, timestamp)

    def update(self, key, set=None, remove=(), timestamp=None):
        return self._write("update", {"key": key, "set": set or {}, "remove": list(remove)}, timestamp)

    def get(self, key, **more):
        return self._call("get", {"key": key, **more}, self.reads)["item"]

    def batch_get(self, keys, **more):
        return self._call("batch-get", {"keys": keys, **more}, self.reads)["items"]

    def query(self, **members):
        return self._call("query", members, self.reads)

    def scan(self, **members):
        return self._call("scan", members, self.reads)

    def _write(self, path, body, timestamp):
        """The daemon's answer: `outcome` is APPLIED, OLDER, ... OLDER of a write that was repeated may also mean that its
        first attempt was carried out, and then overwritten by a newer one: its time is over either way."""
        if timestamp is None and self.stamp is not None:
            timestamp = self.stamp()
        return self._call(path, body if timestamp is None else {**body, "timestamp": timestamp}, self.writes)

    def _call(self, path, body, latencies):
        """Raises urllib.error.URLError when every attempt failed, ValueError for a call that is not valid."""
        data = json.dumps(body).encode()
        for attempt in range(1, self.attempts + 1):
            try:
                status, answer = self._hedged(path, data, latencies)
            except OSError:
                if attempt == self.attempts:
                    raise
            else:
                if status < 300 or "outcome" in answer and status not in REFUSED_FOR_NOW:
                    return answer
                if status not in REFUSED_FOR_NOW:
                    raise ValueError(f"{path}: {answer}")
                if attempt == self.attempts:
                    raise urllib.error.URLError(f"{path}: {answer}")
            latencies.count("retries")
            time.sleep(self.backoff * 2 ** (attempt - 1) * random.uniform(0.5, 1))

    def _hedged(self, path, data, latencies):
        begun = time.monotonic()
        latencies.count("calls")
        first = self.pool.submit(self._ask, path, data)
        p95 = latencies.p95()
        late = p95 is not None and not concurrent.futures.wait([first], max(p95, self.least_delay)).done
        asked = [first]
        # When everything is slow, more load does not help.
        if late and latencies.hedges < self.most_share * latencies.calls + 2:
            latencies.count("hedges")
            asked.append(self.pool.submit(self._ask, path, data))
        failure = None
        for answered in concurrent.futures.as_completed(asked):
            failure = answered.exception()
            if failure is not None:
                continue  # The other one may still be answered.
            latencies.count("won", answered is not first)
            with latencies.lock:
                latencies.took.append(time.monotonic() - begun)
            return answered.result()
        raise failure

    def _ask(self, path, data):
        try:
            with urllib.request.urlopen(urllib.request.Request(self.root + path, data), timeout=self.timeout) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"{}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default=os.environ.get("FRESHET_URL", "http://127.0.0.1:7070"))
    parser.add_argument("--table", default="Ratings")
    parser.add_argument("--count", type=int, default=1000)
    arguments = parser.parse_args()
    client = HedgedClient(arguments.url, arguments.table)

    def one(i):
        key = {"PK": f"User#{i % 100}", "SK": "Movie#A"}
        outcome = client.put({**key, "Rating": i % 5 + 1})["outcome"]
        client.get(key)
        return outcome

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        outcomes = collections.Counter(threads.map(one, range(arguments.count)))
    for name, seen in (("writes", client.writes), ("reads", client.reads)):
        p95 = seen.p95()
        print(json.dumps({name: seen.calls, "p95_ms": p95 and round(p95 * 1000, 2), "hedged": seen.hedges, "hedge_won": seen.won,
                          "retried": seen.retries}))
    print(json.dumps(dict(outcomes)))


if __name__ == "__main__":
    main()
