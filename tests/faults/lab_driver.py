#!/usr/bin/env python3
"""A rival's driver for the lab in real time (app/lab/real/contender.h), as small as one can be: a stack in memory."""
import http.client
import os
import threading
import time
import urllib.parse

arrivals = [tuple(map(float, line.split())) for line in open(os.environ["LAB_ARRIVALS"])]
handler = urllib.parse.urlparse(os.environ["LAB_HANDLER"])
waiting, there = [], threading.Condition()


def work():
    connection = http.client.HTTPConnection(handler.hostname, handler.port)
    while True:
        with there:
            while not waiting:
                there.wait()
            task = waiting.pop()
        connection.request("POST", handler.path, '{"taskId": "%d"}' % task)
        connection.getresponse().read()


for _ in range(int(os.environ["LAB_SLOTS"])):
    threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
origin = int(input().split()[1]) / 1000
for number, (at, _) in enumerate(arrivals):
    time.sleep(max(0, origin + at / 1000 - time.time()))
    with there:
        waiting.append(number)
        there.notify()
while True:
    time.sleep(60)
