#!/usr/bin/env python3
"""Takes shipments from a priority queue, works on each, and answers with its receipt; ends when the queue is empty.

    priority_consumer.py [--url http://127.0.0.1:7070] [--queue Shipment] [--work-ms 100] [--fail-every N]
"""
import argparse
import json
import time
import urllib.error
import urllib.request


def post(base, what, **members):
    request = urllib.request.Request(f"{base}/{what}", json.dumps(members).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        return json.load(error)  # A refusal is a result too: e.g. a receipt that came too late.


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:7070")
    parser.add_argument("--queue", default="Shipment")
    parser.add_argument("--work-ms", type=int, default=100)
    parser.add_argument("--fail-every", type=int, default=0)
    options = parser.parse_args()
    base = f"{options.url}/priority/{options.queue}"
    taken = 0
    while True:
        record = post(base, "peek")["records"][0]
        if not record["successful"]:
            print(record["errorMessage"])
            return
        taken += 1
        time.sleep(options.work_ms / 1000)
        answer = {"id": record["id"], "receipt": record["receipt"]}
        if options.fail_every and taken % options.fail_every == 0:
            result = post(base, "restore", **answer)
            print("failed", record["id"], result["return_value"], flush=True)
            continue
        post(base, "status", status="COMPLETED", **answer)
        result = post(base, "remove", **answer)
        print("done", record["id"], result["return_value"], flush=True)


if __name__ == "__main__":
    main()
