#!/usr/bin/env python3
"""10,000 asynchronous events for a function that runs one at a time, across kill -9: none is lost, they run in the order in
which they came, and waiting costs little memory."""
import concurrent.futures
import http.client
import json
import os
import pathlib
import time

from daemon import LARGER, Daemon, main

EVENTS = int(os.environ.get("FRESHET_EVENTS", "10000"))
KILLS = 3
SENDERS = 16  # At a time: they share the syncs.
MOST_BYTES_AN_EVENT = LARGER * 4096  # The daemon's memory for an event, including its item in the store.

TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Slow:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.11
      Handler: app.handler
      CodeUri: code/
      Timeout: 60
      ReservedConcurrentExecutions: LIMIT
      EventInvokeConfig: {MaximumEventAgeInSeconds: 21600}
      Environment: {Variables: {SEEN: FOLDER/seen}}
"""
HANDLER = '''
import os
seen = os.open(os.environ["SEEN"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

def handler(event, context):
    os.write(seen, b"%d\\n" % event["n"])
'''


def memory(daemon):
    for line in pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no VmRSS")


def seen(folder):
    file = folder / "seen"
    return [int(line) for line in file.read_text().split("\n")[:-1]] if file.exists() else []


def write_template(folder, limit):
    (folder / "template.yaml").write_text(TEMPLATE.replace("FOLDER", str(folder)).replace("LIMIT", str(limit)))


def send(port, sender):
    """Its share of the events, one after the other."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for number in range(sender, EVENTS, SENDERS):
        connection.request("POST", "/2015-03-31/functions/Slow/invocations", json.dumps({"n": number}),
                           {"X-Amz-Invocation-Type": "Event"})
        answer = connection.getresponse()
        assert answer.status == 202, (answer.status, answer.read())
        answer.read()
    connection.close()


def none_is_lost(binary, folder):
    (folder / "code").mkdir()
    (folder / "code/app.py").write_text(HANDLER)
    write_template(folder, 0)  # All wait first, so that the order is known.
    daemon = Daemon(binary, folder, "--log-level", "warn", template=None)
    daemon.options = (str(folder / "template.yaml"), "--log-level", "warn")
    daemon.start()
    try:
        before = memory(daemon)
        with concurrent.futures.ThreadPoolExecutor(SENDERS) as pool:
            for sent in [pool.submit(send, daemon.port, sender) for sender in range(SENDERS)]:
                sent.result()
        grown = memory(daemon) - before
        assert grown < EVENTS * MOST_BYTES_AN_EVENT + LARGER * (32 << 20), f"{grown} bytes for {EVENTS} events"
        assert seen(folder) == []
        write_template(folder, 1)
        ran = []
        for step in range(1, KILLS + 1):
            daemon.kill()
            ran.append(len(seen(folder)))
            daemon.start()
            wait_for(folder, daemon, EVENTS * step // (KILLS + 1))
        wait_for(folder, daemon, EVENTS)
        numbers = seen(folder)
        first = list(dict.fromkeys(numbers))
        assert sorted(first) == list(range(EVENTS)), f"lost: {sorted(set(range(EVENTS)) - set(first))[:10]}"
        for sender in range(SENDERS):
            came = [number for number in first if number % SENDERS == sender]
            assert came == sorted(came), f"not in the order in which sender {sender} sent them"
        again = len(numbers) - EVENTS
        # At least once: what ran when it was killed, and what was not deleted yet.
        print(f"{EVENTS} events, {KILLS} kills after {ran}, {again} ran again, {grown / EVENTS:.0f} bytes each while waiting")
        assert again <= KILLS * 100, again
    finally:
        daemon.stop()


def wait_for(folder, daemon, count):
    deadline = time.monotonic() + 300
    while len(set(seen(folder))) < count:
        assert time.monotonic() < deadline and daemon.process.poll() is None, (len(set(seen(folder))), daemon.log_tail())
        time.sleep(0.05)


if __name__ == "__main__":
    main(__doc__, "no event is lost", none_is_lost)
