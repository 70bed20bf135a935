#!/usr/bin/env python3
"""Plants faults into a copy of the sources, one by one, and sees whether the simulation finds each.

    tests/sim/planted.py [--seconds 60] [--only NAME] FOLDER

FOLDER is a copy of the sources that was configured (cmake --preset release -DFRESHET_TESTS=ON); it is changed while this runs, and as
before afterwards. For each fault: the promise that broke, the seed and how long it took, or "not found". Ends with 1 if any was not found.
"""
import argparse
import pathlib
import subprocess
import sys
import time

# Name, file, the text that stands there, the text that takes its place.
FAULTS = [
    ("an answer leaves before it is durable", "wire/http/server.cc",
     "Async<Result<void>> durable = durable_();", "Async<Result<void>> durable{Result<void>()};"),
    ("a sync is left out", "tables/log/segment_log.cc",
     "  if (auto synced = file_->sync(); !synced) return fail_for_good(std::move(synced.error()));\n  durable_ =", "  durable_ ="),
    ("the page cache is taken for the disk", "tables/log/recovery.cc",
     "if (options_.distrust_page_cache) {", "if (options_.distrust_page_cache && out_.segments.empty()) {"),
    ("a torn tail is not cleared", "tables/log/recovery.cc",
     "return dirty_end_ > end_.offset ? clear_tail() : Result<void>{};", "return Result<void>{};"),
    ("damage below the durable mark is cut", "tables/log/recovery.cc",
     "if (out_.durable <= end_) return {};", "if (out_.durable <= end_ || true) return {};"),
    ("an attempt is not counted", "functions/queue/arrows.cc",
     "number(attempt_of(task) + 1))", "number(attempt_of(task)))"),
    ("a stale holder may settle", "functions/queue/arrows.cc",
     "input_.unchanged = {attribute::kStatus, attribute::kLease};\n  return *this;", "input_.unchanged = {attribute::kStatus};\n  return *this;"),
    ("a take gives the oldest", "functions/queue/queue_take.cc", "  input.forward = forward;", "  input.forward = !forward;"),
    ("a lease ends too early", "functions/queue/lease_book.cc",
     "entry.end = now + lease.duration;", "entry.end = now + lease.duration / 2;"),
    ("a token is forgotten", "tables/engine/transactions.cc",
     "  if (!item) return Seen::kNever;\n  const Item seen", "  if (item) return Seen::kNever;\n  if (!item) return Seen::kNever;\n  const Item seen"),
    ("what has expired is started", "functions/queue/queue_take.cc",
     "Plan plan{task, {}, expired(task, stale_at, definition_.ttl_in_milliseconds, kept)};", "Plan plan{task, {}, {}}; (void)kept, (void)stale_at;"),
    ("a restart forgets a pause", "functions/queue/queue.cc",
     "auto pauses = co_await queue->load_pauses();", "auto pauses = Result<void>();"),
    ("a failed disk is not the end", "tables/engine/committer.cc",
     "if (auto ok = log_->sync(now, waiting, wanted_); !ok) report(ok.error());", "if (auto ok = log_->sync(now, waiting, wanted_); !ok) return;"),
]


def run(command, folder):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def build(folder):
    done = run(["cmake", "--build", "--preset", "release", "--target", "freshet_simulation"], folder)
    if done.returncode != 0:
        sys.exit("it does not build:\n" + done.stdout[-3000:])


def simulate(folder, seconds):
    began = time.monotonic()
    done = run(["build/release/tests/sim/freshet_sim", "--seed", "1", "--seconds", str(seconds)], folder)
    passed = time.monotonic() - began
    lines = done.stdout.splitlines()
    broken = next((i for i, line in enumerate(lines) if line.startswith("BROKEN")), None)
    if broken is not None:
        return f"{lines[broken].split(': ', 1)[1]} ({lines[broken + 2].split('freshet_sim ')[1].split(' --trace')[0]}, {passed:.0f} s)"
    if done.returncode != 0:
        return f"the process ends with {done.returncode}: {done.stderr.strip()[-200:]} ({passed:.0f} s)"
    return None


def main():
    words = argparse.ArgumentParser()
    words.add_argument("folder")
    words.add_argument("--seconds", type=int, default=60)
    words.add_argument("--only")
    words = words.parse_args()
    missed = 0
    for name, file, before, after in FAULTS:
        if words.only and words.only not in name:
            continue
        path = pathlib.Path(words.folder) / file
        text = path.read_text()
        if text.count(before) != 1:
            sys.exit(f"{file} no longer has the place of '{name}'")
        try:
            path.write_text(text.replace(before, after))
            build(words.folder)
            found = simulate(words.folder, words.seconds)
        finally:
            path.write_text(text)
        missed += found is None
        print(f"{name}: {found or 'NOT FOUND'}", flush=True)
    print(f"{missed} not found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
