#!/usr/bin/env python3
"""Puts shipments into a priority queue and queues them.

    priority_producer.py [--url http://127.0.0.1:7070] [--queue Shipment] [--count 10] [--prefix order-]
"""
import argparse
import json
import urllib.request


def post(base, what, **members):
    request = urllib.request.Request(f"{base}/{what}", json.dumps(members).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:7070")
    parser.add_argument("--queue", default="Shipment")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--prefix", default="order-")
    options = parser.parse_args()
    base = f"{options.url}/priority/{options.queue}"
    for number in range(1, options.count + 1):
        record = f"{options.prefix}{number}"
        post(base, "put", id=record, status="READY_TO_SHIP", data={"id": record, "items": [{"SKU": "Item-1", "is_packed": True}]})
        post(base, "enqueue", id=record)
        print("queued", record, flush=True)


if __name__ == "__main__":
    main()
