#!/usr/bin/env python3
"""Today's daemon serves the data folders that released versions wrote (tests/data), twice in a row."""
import gzip
import json
import pathlib
import sys

from daemon import QUEUE, ROOT, Daemon, check_books, main

DATA = ROOT / "tests/data"
sys.path.insert(0, str(DATA))
from write import TEMPLATE  # noqa: E402


def unpack(version, folder):
    """A copy of the data folder where the daemon expects it; what the version said of it."""
    for file in (version / "store").rglob("*.gz"):
        to = folder / "store" / file.relative_to(version / "store").with_suffix("")
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(gzip.decompress(file.read_bytes()))
    return json.loads(gzip.decompress((version / "expected.json.gz").read_bytes()))


def scan(daemon, table):
    items, start = [], {}
    while True:
        page = daemon.dynamodb("Scan", TableName=table, ConsistentRead=True, **start)
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return in_order(items)
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def in_order(items):
    return sorted(json.dumps(item, sort_keys=True) for item in items)


def served(binary, folder):
    versions = sorted(path.parent for path in DATA.glob("*/expected.json.gz"))
    assert versions, f"no data in {DATA}"
    for version in versions:
        place = folder / version.name
        expected = unpack(version, place)
        template = place / "template.yaml"
        template.write_text(TEMPLATE)
        for life in ("first", "second"):
            daemon = Daemon(binary, place, "--segment-bytes", 1 << 20, template=template).start()
            try:
                tables = {name: items for name, items in expected["tables"].items() if name != "QueueTable"}
                for name, items in tables.items():
                    assert scan(daemon, name) == in_order(items), f"{version.name}, {life} start: items of {name}"
                stats = daemon.stats()
                check_books(stats)
                there = {item["taskId"]["S"] for item in expected["tables"]["QueueTable"]}
                found = {task["taskId"] for state in stats["depth"] for task in daemon.tasks(state)}
                assert found == there, f"{version.name}, {life} start: tasks {sorted(found ^ there)}"
                if life == "second":
                    taken = daemon.call("POST", QUEUE + "/take", {"max": 1000})["tasks"]
                    assert taken, "nothing can be taken"
                    settled = daemon.call("POST", QUEUE + "/settle", {"settle": [
                        {"taskId": task["taskId"], "lease": task["lease"], "outcome": "complete"} for task in taken]})["settled"]
                    assert all(one.get("taskStatus") == "SUCCESS" for one in settled), settled
            finally:
                code = daemon.stop()
            assert code == 0, f"{version.name}: ended with {code}\n{daemon.log_tail()}"


if __name__ == "__main__":
    main(__doc__, "data folders of all releases are served", served)
