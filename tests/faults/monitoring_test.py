#!/usr/bin/env python3
"""A daemon under load tells of itself: the page of /metrics fits its table in docs/metrics.md; every query of the dashboard
and the alerts finds data; KEDA gets its number. With Prometheus from Debian (./test.sh fetches it) the
queries run there, too."""
import collections
import http.server
import itertools
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import yaml

from daemon import QUEUE, ROOT, SLOWER, Daemon, Refused, main

DASHBOARD = ROOT / "config/grafana/freshet.json"
ALERTS = ROOT / "config/alerts.yaml"
PAGE = ROOT / "docs/monitoring.md"
SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(,|$)')
PATIENCE = 120 * SLOWER  # Seconds. An event that has not come by then will not come.


# The page.

Family = collections.namedtuple("Family", "kind help samples")  # samples: [(name, labels, value)]


def parse(text):
    """Families by name. Stricter than Prometheus: every family has HELP and TYPE, once, before its samples, which stand together."""
    families, current, seen = {}, None, set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            _, _, current, help_text = line.split(" ", 3)
            assert current not in families, f"two families {current}"
            assert help_text.strip(), f"{current} has no help"
            families[current] = Family(None, help_text, [])
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == current and families[name].kind is None, line
            families[name] = families[name]._replace(kind=kind)
            continue
        match = SAMPLE.match(line)
        assert match, f"not a sample: {line!r}"
        name, labels, value = match.groups()
        labels = parse_labels(labels or "")
        family = families[current]
        base = re.sub(r"_(bucket|sum|count)$", "", name) if family.kind == "histogram" else name
        assert base == current and family.kind, f"{line!r} stands below {current}"
        key = (name, tuple(sorted(labels.items())))
        assert key not in seen, f"twice: {line!r}"
        seen.add(key)
        family.samples.append((name, labels, float(value)))
    return families


def parse_labels(text):
    labels, at = {}, 0
    while at < len(text):
        match = LABEL.match(text, at)
        assert match, f"labels {text!r}"
        assert match[1] not in labels, f"labels {text!r}"
        labels[match[1]] = match[2]
        at = match.end()
    return labels


def page(daemon):
    with urllib.request.urlopen(f"http://127.0.0.1:{daemon.port}/metrics", timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"), answer.headers
        return answer.read().decode()


def follows_conventions(families):
    for name, family in families.items():
        assert re.fullmatch(r"(freshet|process)(_[a-z0-9]+)+", name), name
        assert family.kind in ("counter", "gauge", "histogram"), (name, family.kind)
        assert (family.kind == "counter") == name.endswith("_total"), (name, family.kind)
        assert not re.search(r"_(ms|milliseconds|micros|minutes|kb|mb|percent)(_|$)", name), f"{name}: base units are seconds, bytes and ratios"
        for sample, labels, value in family.samples:
            old = name == "freshet_queue_moves_total"
            assert old or not any("->" in text for text in labels.values()), (sample, labels)
            assert family.kind == "gauge" or value >= 0, (sample, labels, value)
        if family.kind == "histogram":
            histogram_is_whole(name, family)


def histogram_is_whole(name, family):
    rows = collections.defaultdict(lambda: {"buckets": []})
    for sample, labels, value in family.samples:
        rest = tuple(sorted((label, text) for label, text in labels.items() if label != "le"))
        if sample.endswith("_bucket"):
            rows[rest]["buckets"].append((float(labels["le"]), value))
        else:
            rows[rest][sample[len(name):]] = value
    for rest, row in rows.items():
        bounds, counts = zip(*row["buckets"])
        assert list(bounds) == sorted(set(bounds)) and math.isinf(bounds[-1]), (name, rest, bounds)
        assert list(counts) == sorted(counts) and counts[-1] == row["_count"], (name, rest, counts, row)
        assert row["_sum"] >= 0, (name, rest, row)


# The table.

def table_of_page():
    """The table in docs/metrics.md: name -> (labels with the values that are listed, kind)."""
    section = (ROOT / "docs/metrics.md").read_text()
    out = {}
    for line in section.splitlines():
        match = re.match(r"\| `([a-z0-9_]+)` \| (.*?) ?\| (counter|gauge|histogram) \| .+ \|$", line)
        if match:
            assert match[1] not in out, f"{match[1]} has two rows"
            labels = {}
            for label, values in re.findall(r"`(\w+)`(?: \(([^)]*)\))?", match[2]):
                labels[label] = set(re.findall(r"`([^`]+)`", values))
            out[match[1]] = (labels, match[3])
        else:
            assert not line.startswith("| `"), f"a row of another form: {line}"
    return out


# Only with functions, or options, that this test's daemon has not; their names are looked for in the sources.
ELSEWHERE = re.compile(r"freshet_(capture|engine|fleet|trace|metrics_export|xray|function_(process|bad_answers|log))")


def table_and_page_agree(families):
    table = table_of_page()
    for name, family in families.items():
        assert name in table, f"docs/metrics.md does not have {name}"
        labels, kind = table[name]
        assert kind == family.kind, f"{name} is a {family.kind}; docs/metrics.md says {kind}"
        for sample, there, _ in family.samples:
            assert set(there) - {"le"} == set(labels), f"{sample} has the labels {set(there)}; docs/metrics.md says {set(labels)}"
            for label, value in there.items():
                listed = labels.get(label)
                assert not listed or value in listed or name == "freshet_queue_moves_total", f"{sample}: {label}={value} is not in docs/metrics.md"
    sources = "".join(path.read_text() for folder in ("app", "functions") for path in sorted((ROOT / folder).rglob("*.cc")))
    for name in set(table) - set(families):
        assert ELSEWHERE.match(name) and f'"{name}"' in sources, f"docs/metrics.md has {name}, and no daemon does"


# The load: ends of every kind, sheds, refusals of both sides, waiting tasks.

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    counter = itertools.count()

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        number = next(self.counter)
        status = {3: 500, 5: 429, 11: 503}.get(number % 13, 200)
        if number % 13 == 7:
            time.sleep(0.05)  # Longer than the deadline of some.
        self.send_response(status)
        self.send_header("Content-Length", "2")
        if status in (429, 503):
            self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


class HandlerServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # The daemon is killed in the end, with calls under way.


class Load:
    """A daemon whose queue always has something going on, until the end of the `with`."""

    def __init__(self, binary, folder):
        self.handler = HandlerServer(("127.0.0.1", 0), Handler)
        settings = {"RATE_LIMIT": "100", "RATE_BURST": "1", "MAX_WAITING": "60", "MAX_ATTEMPTS": "2", "BACKOFF_BASE_MS": "10",
                    "DEADLINE_MARGIN": "off", "KEY_CONCURRENCY": "50"}
        options = [word for name, value in settings.items() for word in ("--set", f"ProcessTasksFunction.{name}={value}")]
        self.daemon = Daemon(binary, folder, *options, runner=f"http://127.0.0.1:{self.handler.server_address[1]}/")
        self.over = threading.Event()
        self.failed = None

    def __enter__(self):
        threading.Thread(target=self.handler.serve_forever, daemon=True).start()
        self.daemon.start()
        self.thread = threading.Thread(target=self.send, daemon=True)
        self.thread.start()
        return self.daemon

    def send(self):
        try:
            while not self.over.wait(0.05):
                tasks = [{"payload": {"n": n}} for n in range(4)]
                tasks += [{"deadline": int(time.time() * 1000) + patience} for patience in (25, 200, 60_000)]
                tasks += [{"delayMs": 100, "priority": 1}]
                self.daemon.call("POST", QUEUE + "/tasks", {"tasks": tasks})
        except (OSError, Refused) as error:
            self.failed = error

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.handler.shutdown()
        self.handler.server_close()
        self.daemon.kill()
        assert self.failed is None, self.failed


def value_of(families, sample, **labels):
    family = next((family for name, family in families.items() if sample.startswith(name)), None)
    return sum(value for name, there, value in (family.samples if family else [])
               if name == sample and all(there.get(label) == text for label, text in labels.items()))


# Each must be above 0 before anything is compared: then the load has caused it.
HAPPENED = [("freshet_queue_ended_total", {"outcome": outcome}) for outcome in ("in-time", "no-deadline", "failed", "shed")] + [
    ("freshet_queue_wasted_calls_total", {"reason": reason}) for reason in ("failed", "bounced")] + [
    ("freshet_queue_downstream_refusals_total", {"reason": reason}) for reason in ("429", "503")] + [
    ("freshet_queue_refused_total", {"reason": "max-waiting"}), ("freshet_queue_handler_seconds_count", {}),
    ("freshet_queue_completion_seconds_count", {}), ("freshet_queue_pickup_seconds_count", {}),
    ("freshet_queue_transitions_total", {"from": "TAKEN", "to": "SUCCESS"}), ("freshet_queue_in_time_ratio", {}),
    ("freshet_queue_rate_limit", {}), ("process_cpu_seconds_total", {}), ("process_open_fds", {}),
    ("freshet_function_invocations_total", {})]


def under_load(daemon):
    until = time.monotonic() + PATIENCE
    while True:
        families = parse(page(daemon))
        missing = [(sample, labels) for sample, labels in HAPPENED if not value_of(families, sample, **labels)]
        if not missing:
            return families
        assert time.monotonic() < until, f"has not happened: {missing}"
        time.sleep(0.05)


# The queries.

def dashboard_queries():
    """(where, query) of each panel and variable, with the variables of Grafana filled in as Grafana does."""
    board = json.loads(DASHBOARD.read_text())
    names = {variable["name"] for variable in board["templating"]["list"]}
    assert names == {"datasource", "queue"}, names
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["definition"]).groups()
            yield f"variable {variable['name']}", f"count by ({label}) ({metric})"
    for panel in board["panels"]:
        for target in panel["targets"]:
            used = set(re.findall(r"\$\{?(\w+)", target["expr"]))
            assert used <= {"queue", "__rate_interval"}, (panel["title"], used)
            yield panel["title"], target["expr"].replace("$queue", ".+").replace("$__rate_interval", "1m")


def alerts():
    for group in yaml.safe_load(ALERTS.read_text())["groups"]:
        yield from group["rules"]


def selectors(query):
    """(metric, {label: (operator, value)}, text) of each vector selector in it."""
    for match in re.finditer(r"\b((?:freshet|process)_[a-z0-9_]+)\b(\{[^}]*\})?", query):
        labels = {label: (operator, value)
                  for label, operator, value in re.findall(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"', match[2] or "")}
        yield match[1], labels, match[1] + (match[2] or "")


def fits(operator, wanted, value):
    found = re.fullmatch(wanted, value) is not None if "~" in operator else wanted == value
    return found != operator.startswith("!")


def every_query_names_what_is_there(families):
    by_sample = collections.defaultdict(list)
    for family in families.values():
        for sample, labels, _ in family.samples:
            by_sample[sample].append(labels)
    queries = list(dashboard_queries()) + [(rule["alert"], rule["expr"]) for rule in alerts()]
    for where, query in queries:
        found = list(selectors(query))
        assert found, f"{where}: {query} names no metric"
        for metric, labels, text in found:
            assert metric in by_sample, f"{where}: no daemon has {metric}"
            there = [sample for sample in by_sample[metric]
                     if all(label in sample and fits(operator, value, sample[label]) for label, (operator, value) in labels.items())]
            assert there, f"{where}: nothing is like {text}; there is {by_sample[metric][:5]}"
        grouped = {label.strip() for group in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", query) for label in group.split(",")}
        known = {label for metric, _, _ in found for sample in by_sample[metric] for label in sample} | {"instance", "job"}
        assert grouped <= known, f"{where}: {query} groups by {grouped - known}"
    return queries


def dashboard_is_whole():
    board = json.loads(DASHBOARD.read_text())
    assert board["id"] is None and board["uid"] and board["title"], "Grafana gives the id at the import"
    numbers = [panel["id"] for panel in board["panels"]]
    assert len(set(numbers)) == len(numbers), numbers
    cells = set()
    for panel in board["panels"]:
        assert panel["title"] and panel["description"], panel["id"]
        assert "calcs" in panel["options"].get("legend", {"calcs": []}), "Grafana's schema wants it"
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, (panel["title"], place)
        own = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert not own & cells, f"{panel['title']} lies upon another panel"
        cells |= own
        for source in [panel["datasource"]] + [target["datasource"] for target in panel["targets"]]:
            assert source == {"type": "prometheus", "uid": "${datasource}"}, (panel["title"], source)
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references), panel["title"]


def alerts_say_what_to_do():
    listed = dict(re.findall(r"^\| `(Freshet\w+)` \| (\w+) \|", PAGE.read_text(), re.MULTILINE))
    there = {rule["alert"]: rule["labels"]["severity"] for rule in alerts()}
    assert listed == there, f"docs/monitoring.md lists {listed}; config/alerts.yaml has {there}"
    for rule in alerts():
        assert rule["labels"]["severity"] in ("critical", "warning", "info"), rule["alert"]
        assert rule.get("for") or "increase(" in rule["expr"], f"{rule['alert']} has no `for`"
        for note in ("summary", "description"):
            assert len(rule["annotations"][note]) > 10, rule["alert"]


# KEDA.

def keda_gets_its_number(daemon):
    scaler = next(block for block in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL) if "ScaledObject" in block)
    metadata = yaml.safe_load(scaler)["spec"]["triggers"][0]["metadata"]
    answer = daemon.call("GET", urllib.parse.urlparse(metadata["url"]).path)
    value = answer[metadata["valueLocation"]]
    assert isinstance(value, int) and value == answer["waiting"] + answer["inWork"], answer
    assert float(metadata["targetValue"]) > 0, metadata


def stats_say_the_same(daemon, families):
    stats = daemon.stats()
    for member in ("lastMinute", "sinceStart"):
        counts = stats[member]
        assert counts["ended"] == counts["inTime"] + counts["late"] + counts["failed"] + counts["shed"], counts
        assert counts["inTimeShare"] == float(f"{counts['inTime'] / counts['ended']:.6g}"), counts
    for outcomes, member in ((("in-time", "no-deadline"), "inTime"), (("failed",), "failed"), (("shed",), "shed")):
        counted = sum(value_of(families, "freshet_queue_ended_total", outcome=outcome) for outcome in outcomes)
        assert 0 < counted <= stats["sinceStart"][member], (member, counted, stats)


# Prometheus.

def program(name):
    there = shutil.which(name) or ROOT / "build/prometheus/usr/bin" / name
    if pathlib.Path(there).exists():
        return str(there)
    print(f"SKIPPED: faults.monitoring: the part that needs {name}, which is not there (./test.sh fetches it)", file=sys.stderr)
    return None


def promtool_likes_it(daemon):
    promtool = program("promtool")
    if not promtool:
        return
    for words, text in ((["check", "metrics"], page(daemon)), (["check", "rules", ALERTS], None),
                        (["test", "rules", ROOT / "tests/monitoring/alerts_test.yaml"], None)):
        run = subprocess.run([promtool, *map(str, words)], input=text, capture_output=True, text=True, timeout=60)
        assert run.returncode == 0 and not (text and run.stderr), (words, run.stdout, run.stderr)


def free_port():
    with http.server.HTTPServer(("127.0.0.1", 0), None) as server:
        return server.server_address[1]


class Prometheus:
    def __init__(self, binary, folder, daemon):
        self.port = free_port()
        config = {"global": {"scrape_interval": "200ms", "scrape_timeout": "200ms", "evaluation_interval": "1s"}, "rule_files": [str(ALERTS)],
                  "scrape_configs": [{"job_name": "freshet", "static_configs": [{"targets": [f"127.0.0.1:{daemon.port}"]}]}]}
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        self.log = folder / "prometheus.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [binary, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
                 f"--web.listen-address=127.0.0.1:{self.port}"], stdout=log, stderr=log)

    def get(self, path, **parameters):
        url = f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)["data"]

    def query(self, query):
        """The values that are numbers."""
        try:
            found = self.get("/api/v1/query", query=query)["result"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                raise  # It still starts.
            raise AssertionError(f"{query}: {error.read().decode()}") from error
        return [float(sample["value"][1]) for sample in found if sample["value"][1] != "NaN"]

    def wait(self, query):
        until = time.monotonic() + PATIENCE
        while True:
            assert self.process.poll() is None, self.log.read_text()[-2000:]
            try:
                found = self.query(query)
                if found:
                    return found
            except OSError:
                pass  # It does not listen yet, or still starts.
            assert time.monotonic() < until, f"{query} finds nothing\n{self.log.read_text()[-2000:]}"
            time.sleep(0.1)

    def end(self):
        self.process.terminate()
        self.process.wait(30)


def left_of_comparison(query):
    """The part of a rule that is compared with its bound."""
    query = query.split("unless")[0]
    return re.sub(r"(==|!=|>=|<=|>|<)\s*[0-9.]+", "", query)


def prometheus_finds_data(daemon, queries, folder):
    binary = program("prometheus")
    if not binary:
        return
    prometheus = Prometheus(binary, folder, daemon)
    try:
        rules = {rule["alert"] for rule in alerts()}
        for where, query in queries:
            for _, _, selector in selectors(query):
                prometheus.wait(selector)
            wanted = left_of_comparison(query) if where in rules else query
            if "absent(" in query:
                assert not prometheus.query(query), f"{where} fires although the daemon is there"
            else:
                prometheus.wait(wanted)
        groups = prometheus.get("/api/v1/rules")["groups"]
        states = {rule["name"]: (rule["health"], rule.get("lastError")) for group in groups for rule in group["rules"]}
        assert set(states) == rules and all(health != "err" for health, _ in states.values()), states
    finally:
        prometheus.end()


def tells_of_itself(binary, folder):
    dashboard_is_whole()
    alerts_say_what_to_do()
    with Load(binary, folder) as daemon:
        families = under_load(daemon)
        follows_conventions(families)
        table_and_page_agree(families)
        queries = every_query_names_what_is_there(families)
        keda_gets_its_number(daemon)
        stats_say_the_same(daemon, families)
        promtool_likes_it(daemon)
        prometheus_finds_data(daemon, queries, folder)


if __name__ == "__main__":
    main(__doc__, "dashboard, alerts, table and page fit together", tells_of_itself)
