#!/usr/bin/env python3
"""The figures that Freshet is held to, measured in one run on this machine, ours and the other's in turn; medians and
ratios. A shared machine is noisy: believe the ratios, not the absolutes.

    bench/table.py [--runs 5] [--only store|memory|turns|pickup|functions|items|priority|filtered|ordered|policies|limits|overload|slowdown|flat|rivals]
                   [--flat-seconds 240] [--floor DIR] [--json FILE] [--beside FILE] [--markdown FILE]

  store    a task's whole life through the embedded store, beside the floor (a hash map, B-trees and a plain log with
           nothing around them) and LMDB with a log; the newest-first take at 1,000 and 2,000,000 pending; a drain
  memory   opening 2,000,000 pending tasks, and the memory of one
  turns    the longest turn of the loop from empty to 2,000,000 tasks, growth and compaction included
  pickup   from the create request to the start of its handler, beside fdatasync
  functions a native function: an invocation, and from a put to its start beside fdatasync; a warm Node.js one beside a bare
           HTTP round trip to the same Node.js, its rate, and what memory it leaves
  items    the item store over the wire: beside a bare Beast server of the same build, fdatasync and dynalite; a scan and
           a new index of 1,000,000 items
  priority a peek at 1,000,000 records with 100,000 in flight, beside one at 1,000 with none
  filtered assigns a second of 16 callers in 9 queues, in process, every answer synced
  ordered  an ordered put beside an unconditional one
  policies what overload policies are held to, in simulated time: beside the clairvoyant, FIFO and FIFO with CoDel, after a
           step and a stall, a quiet group beside a flood (docs/overload-experiments.md has more seeds)
  limits   a flood before a limit that changes unannounced, in simulated time: 18 kinds of limiters and headers beside an
           oracle; then, for real, how near freshet simulate comes to the run that was recorded (docs/overload-experiments.md)
  overload the overload lab in real time: refusals and goodput at 10 x capacity, and how near freshet simulate comes to a run
           that was recorded; then what 1,000,000 tasks cost that expire, within 60 s and within one (bench/expire.py, once)
  slowdown adaptive concurrency of the daemon before a downstream that slows down four times (bench/slowdown.py, three runs)
  flat     the daemon's memory at 10 x capacity, in real time: --flat-seconds 600 for the ten minutes that are wanted
  rivals   bench/rivals/run.sh: beside Redis, beanstalkd, BullMQ and dynalite

The floor is a measuring stick that is not part of this repository: --floor names the folder with its sources (main.cc,
memory_log.cc, lmdb.cc; Debian's libabsl-dev and liblmdb-dev build it). Without it ours is measured alone.

--beside compares with what --json wrote before: a figure counts as worse only if its median is worse by more than twice
the spread (largest less smallest) of the runs before, of which there must be five. Then the exit status is 1.

--markdown writes the tables of the measured sections into a page that has the two marks of results_table.py, as
bench/RESULTS.md has: the median and the spread of each figure, with the machine, date, commit and command.
"""
import argparse
import json
import pathlib
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

import expire
import items
import results_table
import slowdown

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/release"
PENDING = 2_000_000
SECTIONS = ("store", "memory", "turns", "pickup", "functions", "items", "priority", "filtered", "ordered", "policies", "limits",
            "overload", "slowdown", "flat", "rivals")
rows = []
section = ""  # The one that is being measured.


def row(what, reached, wanted, good, samples=()):
    """`samples`: the figure of each run, for --beside."""
    rows.append({"section": section, "what": what, "reached": reached, "wanted": wanted, "good": good, "samples": list(samples)})
    print(f"  {'ok  ' if good else 'MISS'} {what:66s} {reached:>22s}   wanted {wanted}", flush=True)


def compare(before, after):
    """Says which figures are worse than before, each by more than twice the spread that it had; how many they are."""
    def name(one):
        return re.sub(r" \([^)]*\)", "", one["what"])  # Without the figures of this run.
    then, worse = {name(one): one for one in before}, 0
    for one in after:
        old = then.get(name(one), {}).get("samples", [])
        if len(old) < 5 or not one["samples"]:
            continue
        was, now, spread = statistics.median(old), statistics.median(one["samples"]), max(old) - min(old)
        loss = was - now if one["wanted"].startswith(">") else now - was
        worse += loss > 2 * spread
        print(f"  {'WORSE' if loss > 2 * spread else 'same '} {name(one):66s} {was:10.3f} -> {now:10.3f}   spread before {spread:.3f}")
    return worse


def call(*argv):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, argv))}\nended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def number(pattern, text):
    found = re.search(pattern, text)
    if not found:
        sys.exit(f"no '{pattern}' in:\n{text}")
    return float(found.group(1))


def in_turn(runs, programs):
    """Calls each program `runs` times, alternating; the lists of their answers."""
    answers = {name: [] for name in programs}
    for _ in range(runs):
        for name, program in programs.items():
            answers[name].append(program())
    return answers


def build_floor(sources):
    target = ROOT / "build/floor"
    target.mkdir(parents=True, exist_ok=True)
    absl = [f"-labsl_{name}" for name in ("raw_hash_set", "hash", "city", "low_level_hash", "throw_delegate",
                                          "raw_logging_internal", "strings")]
    flags = ["-O2", "-std=c++20", "-msse4.2", "-w"]
    for name, files, libraries in (("floor", ["main.cc", "memory_log.cc"], []),
                                   ("floor_lmdb", ["main.cc", "lmdb.cc"], ["-llmdb"])):
        if not (target / name).exists():
            call("g++", *flags, *[sources / f for f in files], "-o", target / name, *libraries, *absl)
    return target


class Store:
    def __init__(self, work, floor):
        self.work, self.floor, self.count = work, floor, 0
        self.ours = BUILD / "bench/store_bench"

    def fresh(self):
        self.count += 1
        return self.work / f"d{self.count}"

    def steady(self, program, group, *variant, tasks):
        def run():
            folder = self.fresh()
            out = call(program, "steady", folder, 1, group, tasks, *variant)
            shutil.rmtree(folder, ignore_errors=True)
            return number(r": (\d+) tasks/s", out)
        return run

    def measure(self, runs):
        for group, tasks in ((256, 400_000), (16, 120_000)):
            programs = {"ours": self.steady(self.ours, group, tasks=tasks)}
            if self.floor:
                programs["floor"] = self.steady(self.floor / "floor", group, tasks=tasks)
                if group == 256:
                    programs["lmdb"] = self.steady(self.floor / "floor_lmdb", group, "wal", tasks=tasks)
            answers = in_turn(runs, programs)
            rates = {name: statistics.median(values) for name, values in answers.items()}
            print(f"  steady, sync, {group} a commit: " + ", ".join(f"{n} {v:.0f}/s" for n, v in rates.items()))
            for other, wanted in (("floor", 0.5), ("lmdb", 1.3)):
                if other in rates:
                    ratio = rates["ours"] / rates[other]
                    row(f"whole life, sync, {group} a commit, beside {other}", f"{ratio:.2f} x", f">= {wanted} x",
                        ratio >= wanted, [a / b for a, b in zip(answers["ours"], answers[other])])
        self.take(runs)
        self.drain(runs)

    def take(self, runs):
        """The same short work on a store with few and one with many pending tasks."""
        folders = {}
        for pending in (1_000, PENDING):
            folders[pending] = self.fresh()
            call(self.ours, "preload", folders[pending], 0, 1024, pending)

        def deep(pending):
            def run():
                out = call(self.ours, "deep", folders[pending], 0, 16, 20_000)
                heads = re.search(r"head10 n=\d+ p50=([\d.]+) p99=([\d.]+)", out)
                return float(heads.group(1)), float(heads.group(2))
            return run
        answers = in_turn(runs, {pending: deep(pending) for pending in folders})
        for place, name in ((0, "p50"), (1, "p99")):
            few, many = (statistics.median(a[place] for a in answers[p]) for p in (1_000, PENDING))
            row(f"take of the 10 newest at 2,000,000 beside 1,000, {name} ({many:.1f} and {few:.1f} us)",
                f"{many / few:.2f} x", "<= 1.5 x", many <= 1.5 * few,
                [b[place] / a[place] for a, b in zip(answers[1_000], answers[PENDING])])
        for folder in folders.values():
            shutil.rmtree(folder)

    def drain(self, runs):
        worst = []
        for _ in range(runs):
            folder = self.fresh()
            call(self.ours, "preload", folder, 0, 1024, 500_000)
            out = call(self.ours, "drain", folder, 0, 256, 500_000)
            # By the thread's own time: the file system's and other programs' work is not the queue's.
            rates = [float(r) for r in re.findall(r"@\d+ .*?(\d+) per CPU second", out)]
            worst.append(rates[0] / min(rates))
            shutil.rmtree(folder)
        ratio = statistics.median(worst)
        row("drain of 500,000: the slowest tenth beside the first", f"{ratio:.2f} x as slow", "<= 1.5 x", ratio <= 1.5, worst)

    def memory(self, runs):
        ours, theirs = self.fresh(), self.fresh()
        call(self.ours, "preload", ours, 0, 1024, PENDING)
        programs = {"ours": lambda: call(self.ours, "open", ours, 1, 1, 0)}
        if self.floor:
            call(self.floor / "floor", "preload", theirs, 0, 1024, PENDING)
            programs["floor"] = lambda: call(self.floor / "floor", "open", theirs, 1, 1, 0)
        answers = in_turn(runs, programs)
        time = {name: statistics.median(number(r"open=([\d.]+)ms", out) for out in outs)
                for name, outs in answers.items()}
        if self.floor:
            ratio = time["ours"] / time["floor"]
            row(f"opening 2,000,000 pending ({time['ours']:.0f} and {time['floor']:.0f} ms) beside the floor",
                f"{ratio:.2f} x", "<= 2 x", ratio <= 2)
        sizes = [number(r"anon=(\d+)MB", out) * 2**20 / PENDING for out in answers["ours"]]
        each = statistics.median(sizes)
        row("memory of a pending task with a 200-byte item", f"{each:.0f} bytes", "<= 450 bytes", each <= 450, sizes)
        for folder in (ours, theirs):
            shutil.rmtree(folder, ignore_errors=True)

    def turns(self, runs):
        """The same work several times: what is slow in itself is so in every run, what the machine does in one."""
        each, nearly, pauses = [], [], []
        for _ in range(runs):
            folder, file = self.fresh(), self.work / "turns"
            out = call(self.ours, "grow", folder, 1, 256, PENDING, file)
            shutil.rmtree(folder)
            each.append([float(us) / 1000 for us in file.read_text().split()])
            nearly.append(number(r"beyond waiting for a processor .*p99.9=([\d.]+) ", out) / 1000)
            pauses.append(number(r"longest=(\d+) us", call(self.ours, "pauses", 20)) / 1000)
        for turns in each:
            worst = max(range(len(turns)), key=turns.__getitem__)
            others = ", ".join(f"{one[worst]:.1f}" for one in each if one is not turns)
            print(f"  longest of a run: turn {worst}, {turns[worst]:.1f} ms; the same in the others: {others}")
        print(f"  99.9 % within {max(nearly):.1f} ms; a thread that only looks at the clock was kept from it for up to "
              f"{max(pauses):.1f} ms (20 s after each run)")
        longest = max(statistics.median(same) for same in zip(*each))
        row(f"the longest turn to 2,000,000, beyond sync and waiting for a processor, each the median of {runs}",
            f"{longest:.1f} ms", "<= 10 ms", longest <= 10)


def pickup(work, runs):
    answers = []
    for i in range(runs):
        out = call(BUILD / "bench/pickup_bench", BUILD / "freshet", ROOT / "config/lifo.yaml", work / f"pickup{i}", 1000)
        answers.append((number(r"fdatasync of 4 KB +p50 +(\d+)", out), number(r"handler start +p50 +(\d+)", out)))
    # Each run against its own bound, as the disk's speed changes.
    shares = [start / (4 * sync + 200) for sync, start in answers]
    share = statistics.median(shares)
    sync, start = (statistics.median(a[i] for a in answers) for i in (0, 1))
    row(f"create -> handler start, p50 ({start:.0f} us, a sync is {sync:.0f} us)", f"{share:.2f} of the bound",
        "<= 4 syncs + 200 us", share <= 1, shares)


def functions(work, runs):
    invokes, streams, warm = [], [], []
    for i in range(runs):
        out = json.loads(call(BUILD / "bench/runtime_bench", "--benchmark_filter=native_invoke", "--benchmark_format=json"))
        invokes += [one["real_time"] / 1000 for one in out["benchmarks"] if one.get("aggregate_name") == "median"]
        out = call(BUILD / "bench/stream_bench", work / f"stream{i}")
        streams.append((number(r"fdatasync of 4 KB +p50 +(\d+)", out), number(r"put -> start of the function +p50 +(\d+)", out)))
        call(sys.executable, ROOT / "bench/invoke.py", "--json", work / "invoke.json")
        warm.append(json.loads((work / "invoke.json").read_text()))
    row("native invocation, median", f"{statistics.median(invokes):.2f} us", "< 5 us", statistics.median(invokes) < 5, invokes)
    # Each run against its own sync, as the disk's speed changes.
    beyond = statistics.median(start - sync for sync, start in streams)
    sync, start = (statistics.median(one[i] for one in streams) for i in (0, 1))
    row(f"put -> start of a function, p50 ({start:.0f} us, a sync is {sync:.0f} us)", f"{beyond:.0f} us beyond a sync",
        "<= 300 us beyond a sync", beyond <= 300, [start - sync for sync, start in streams])
    ratio, rate = (statistics.median(one[name] for one in warm) for name in ("ratio", "callsPerSecond"))
    row("warm call of a Node.js function beside a bare round trip", f"{ratio:.2f} x", "<= 3 x", ratio <= 3,
        [one["ratio"] for one in warm])
    row("warm calls of one process, one at a time", f"{rate:.0f}/s", ">= 1,000/s", rate >= 1000)
    grown = max(grown for one in warm for grown in one["growthMb"].values())
    row(f"memory after {warm[0]['calls']:,} of them, daemon or process, the worst", f"{grown:+.1f} MB", "<= 16 MB", grown <= 16)


def priority(runs):
    answers = [json.loads(call(BUILD / "bench/priority_bench")) for _ in range(runs)]
    ours, few = (statistics.median(a[name] for a in answers) for name in ("peek_ns_p50", "peek_ns_p50_of_1000_with_none"))
    ratio = statistics.median(a["ratio"] for a in answers)
    row(f"peek at 1,000,000, 100,000 in flight ({ours / 1000:.1f} us; {few / 1000:.1f} us of 1,000)", f"{ratio:.2f} x", "<= 1.5 x",
        ratio <= 1.5, [a["ratio"] for a in answers])


def filtered(work, runs):
    answers = [json.loads(call(BUILD / "bench/filtered_bench", work / "filtered")) for _ in range(runs)]
    assigns, cycles = (statistics.median(a[name] for a in answers) for name in ("assigns_per_s", "cycles_per_s"))
    row(f"filtered assigns, 9 queues, 16 callers, synced ({cycles:,.0f}/s with release and queueing)", f"{assigns:,.0f}/s",
        ">= 10,000/s", assigns >= 10_000, [a["assigns_per_s"] for a in answers])


def ordered(work, runs):
    answers = [json.loads(call(BUILD / "bench/ordered_bench", work / f"ordered{i}")) for i in range(runs)]
    for place, what in (("log", "synced, 64 a commit"), ("memory", "in memory, no log")):
        plain, ours = (statistics.median(a[place][name] for a in answers) for name in ("put_ns", "ordered_put_ns"))
        ratio = statistics.median(a[place]["ratio"] for a in answers)
        row(f"ordered put, {what} ({ours / 1000:.1f} us; {plain / 1000:.1f} us unconditional)", f"{ratio:.2f} x", "<= 1.2 x",
            ratio <= 1.2, [a[place]["ratio"] for a in answers])


def policies(runs):
    """Means over ten seeds, or two a run if that is more (goodput: two a run), of both scales; the worst of several scenarios."""
    def lab(*options, seeds=max(10, 2 * runs)):
        out = call(BUILD / "freshet", "bench", "overload", "--json", "--first-seed", 3001, "--seeds", seeds, *options)
        return [(cell["scenario"]["name"], cell["policy"], {name: one["mean"] for name, one in cell["figures"].items()})
                for cell in json.loads(out)["cells"]]

    def pairs(cells, policy, other):
        theirs = {scenario: figures for scenario, name, figures in cells if name == other}
        return [(figures, theirs[scenario]) for scenario, name, figures in cells if name == policy]
    loads = lab("--load", "0.5,0.8,1,1.2,2,3,10", "--policy", "clairvoyant,freshet,freshet-adaptive,freshet-deadline",
                seeds=2 * runs)
    for policy in ("freshet", "freshet-adaptive", "freshet-deadline"):
        mine = [(scenario, figures) for scenario, name, figures in loads if name == policy]
        share, where = min((figures["ofClairvoyant"], scenario) for scenario, figures in mine)
        where = where.split(", deadline")[0].replace("poisson ", "").replace("exponential of ", "")
        row(f"{policy}: goodput of the clairvoyant's, worst at {where}", f"{share:.3f}", ">= 0.95", share >= 0.95)
        past = sum(figures["startsPastDeadline"] for _, figures in mine)
        row(f"{policy}: starts past the deadline", f"{past:.0f}", "0", past == 0)
    calm = lab("--load", "0.8", "--policy", "fifo,freshet-adaptive")
    ratio = max(mine["ageP99Ms"] / fifo["ageP99Ms"] for mine, fifo in pairs(calm, "freshet-adaptive", "fifo"))
    row("freshet-adaptive: p99 wait at 0.8 x beside FIFO's", f"{ratio:.2f} x", "<= 1.2 x", ratio <= 1.2)
    double = lab("--load", "2", "--policy", "fifo-codel,freshet")
    ratio = max(mine["ageP99Ms"] / codel["ageP99Ms"] for mine, codel in pairs(double, "freshet", "fifo-codel"))
    row("freshet: age p99 at 2 x beside FIFO + CoDel's", f"{ratio:.2f} x", "<= 0.25 x", ratio <= 0.25)
    after = lab("--shape", "step", "--load", "3", "--policy", "freshet") + lab("--shape", "stall", "--load", "0.8", "--policy", "freshet")
    slowest = max(figures["recoveryMs"] for _, _, figures in after)
    row("freshet: goodput back at 90 % after a step to 3 x, and a stall", f"{slowest / 1000:.1f} s", "<= 2 s", slowest <= 2000)
    groups = [figures for _, _, figures in lab("--load", "3", "--groups", "--policy", "freshet")]
    fair = min(figures["jain"] for figures in groups)
    row("freshet: fairness of two groups, 1000:1 (Jain)", f"{fair:.3f}", ">= 0.95", fair >= 0.95)
    ratio = max(figures["quietDoneP99Ms"] / figures["quietAloneDoneP99Ms"] for figures in groups)
    row("freshet: the quiet group's p99 from creation to end beside alone", f"{ratio:.2f} x", "<= 2 x", ratio <= 2)


def limits(runs):
    """RATE_LIMIT=adaptive in each cell, over ten seeds, or two a run if that is more."""
    def lab(*options):
        return json.loads(call(BUILD / "freshet", "bench", "overload", "--scenarios", "limits", "--json", "--policy",
                               "adaptive,bucket-lifo", *options))["cells"]
    cells = [cell for cell in lab("--seeds", max(10, 2 * runs)) if cell["policy"] == "adaptive"]
    for cell in cells:
        missed = cell["barsMissed"]
        row(f"{cell['limiter']}, headers {cell['headers']}: of the oracle (refused {100 * cell['refusedShare']:.2f} %)",
            f"{100 * cell['ofOracle']:.1f} %", f"all bars (missed: {missed})", missed == "none")
    ahead = sum(cell["ofOracle"] >= cell["ofOracleBestOther"] + 0.1 for cell in cells)
    row("cells in which it is 10 points ahead of a token bucket that knows the first limit", f"{ahead} of {len(cells)}", "half of them",
        2 * ahead >= len(cells))
    [real] = [cell for cell in lab("--real", "--limiter", "token-bucket", "--headers", "retry-after", "--check-simulate")
              if cell["policy"] == "adaptive"]
    off = 100 * abs(real["simulatedInTimeOverReal"] - 1)
    row("freshet simulate beside a real run before a limiter, in time", f"{off:.1f} % off", "<= 5 %", off <= 5)


def overload(work, runs):
    """Runs of 8 s, each of other seeds; a million tasks that expire."""
    def lab(seed, *options):
        out = call(BUILD / "freshet", "bench", "overload", "--real", "--json", "--first-seed", seed, *options)
        return {cell["policy"]: {name: one["mean"] for name, one in cell["figures"].items()} for cell in json.loads(out)["cells"]}
    full, recorded = [], []
    for seed in range(3001, 3001 + runs):
        full.append(lab(seed, "--load", 10, "--policy", "clairvoyant,freshet,freshet-bounded"))
        for load in (0.8, 2):
            recorded.append(lab(seed, "--load", load, "--policy", "freshet,fifo", "--check-simulate"))
    refusals = {p: statistics.median(one["freshet-bounded"][f"rejectP{p}Ms"] for one in full) for p in (50, 99)}
    row(f"a refusal at 10 x capacity, p99 (p50 {refusals[50]:.2f} ms)", f"{refusals[99]:.2f} ms", "< 5 ms", refusals[99] < 5)
    share = statistics.median(one["freshet"]["ofClairvoyant"] for one in full)
    row("done in time at 10 x capacity beside the clairvoyant", f"{share:.3f}", ">= 0.95", share >= 0.95)
    worst = max(abs(one[policy]["simulatedInTimeOverReal"] - 1) for one in recorded for policy in one)
    row("freshet simulate beside the run that was recorded, in time, the worst", f"{100 * worst:.1f} % off", "<= 5 %", worst <= 0.05)
    shed = expire.measure(work)
    slow, fast = shed["spread"], shed["burst"]
    row(f"1,000,000 tasks expire within 60 s: lag, p99 (p50 {slow['lagP50Ms']:.0f} ms; as a client sees it, p99 "
        f"{slow['lagSeenP99Ms']:.0f})", f"{slow['lagP99Ms']:.0f} ms", "<= 50 ms", slow["lagP99Ms"] <= 50)
    low, high = slow["liveLossBounds"]
    row(f"live traffic meanwhile ({slow['liveWith']:.0f}/s; {slow['liveWithout']:.0f}/s without; median of {slow['pairs']} pairs, "
        f"{-100 * high:+.1f} to {-100 * low:+.1f})", f"{-100 * slow['liveLoss']:+.1f} %",
        ">= -10 %", slow["liveLoss"] <= 0.1)
    row(f"1,000,000 expire within one second: all gone (live {-100 * fast['liveLoss']:+.1f} % meanwhile)", f"{fast['goneS']:.1f} s",
        "<= 30 s", fast["goneS"] <= 30)


def slowed():
    for name, ratios in slowdown.measure(3).items():
        middle = statistics.median(ratios)
        row(f"concurrency in 10 s after {name}, beside the best", f"{middle:.2f} x", "0.8 to 1.2 x", 0.8 <= middle <= 1.2)


def flat(seconds):
    out = call(BUILD / "freshet", "bench", "overload", "--real", "--json", "--first-seed", 3001, "--load", 10, "--policy", "freshet",
               "--seconds", seconds)
    figures = json.loads(out)["cells"][0]["figures"]
    first, second = (figures[f"rss{half}HalfMiB"]["mean"] for half in ("First", "Second"))
    # In a shorter run the first half has not filled every buffer yet: after 20 s it is 12 MiB more, after 240 s none.
    row(f"memory at 10 x for {seconds} s: most in the second half ({second:.1f} MiB; {first:.1f} in the first)",
        f"{second - first:+.1f} MiB", "<= 4 MiB more", second <= first + 4)


def rivals(runs):
    out = call(ROOT / "bench/rivals/run.sh", runs)
    print(out[out.index("\nwhole life"):])
    for ratio, name, wanted in re.findall(r"^ +([\d.]+) x (.+) \(wanted: ([\d.]+) x\)$", out, re.M):
        row(f"whole life over HTTP beside {name}", f"{ratio} x", f">= {wanted} x", float(ratio) >= float(wanted))


def main():
    global section
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", action="append", choices=SECTIONS)
    parser.add_argument("--flat-seconds", type=int, default=240)
    parser.add_argument("--floor", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--beside", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path)
    options = parser.parse_args()
    if options.markdown:
        results_table.replaced(options.markdown.read_text(), {}, SECTIONS)  # Fails now rather than after an hour.
    wanted = options.only or SECTIONS
    call("cmake", "--preset", "release", "-DFRESHET_BENCH=ON")
    call("cmake", "--build", "--preset", "release", "--target", "freshet", "store_bench", "pickup_bench", "stream_bench", "runtime_bench",
         "item_bench", "priority_bench", "filtered_bench", "ordered_bench", "rivals_whole_life")
    floor = build_floor(options.floor.resolve()) if options.floor else None
    with tempfile.TemporaryDirectory(prefix="bench-", dir=ROOT / "build") as folder:
        work = pathlib.Path(folder)
        store = Store(work, floor)
        for name, measure in (("store", store.measure), ("memory", store.memory), ("turns", store.turns),
                              ("pickup", lambda runs: pickup(work, runs)),
                              ("functions", lambda runs: functions(work, runs)),
                              ("items", lambda runs: items.measure(row, work, runs)), ("priority", priority),
                              ("filtered", lambda runs: filtered(work, runs)),
                              ("ordered", lambda runs: ordered(work, runs)), ("policies", policies), ("limits", limits),
                              ("overload", lambda runs: overload(work, runs)), ("slowdown", lambda runs: slowed()),
                              ("flat", lambda runs: flat(options.flat_seconds)), ("rivals", rivals)):
            if name in wanted:
                print(f"{name}:", flush=True)
                section = name
                measure(options.runs)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if options.markdown:
        facts = results_table.facts_of(ROOT, shlex.join(["bench/table.py", *sys.argv[1:]]))
        tables = {name: results_table.table_of(name, [one for one in rows if one["section"] == name], facts)
                  for name in dict.fromkeys(one["section"] for one in rows)}
        options.markdown.write_text(results_table.replaced(options.markdown.read_text(), tables, SECTIONS))
    print(f"{sum(r['good'] for r in rows)} of {len(rows)} reached")
    if options.beside and compare(json.loads(options.beside.read_text()), rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
