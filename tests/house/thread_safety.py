#!/usr/bin/env python3
"""Members that threads share are used under their mutex only: clang's thread-safety analysis over every source with a
mutex.

The daemon's folders take their mutexes from base/mutex.h, so that clang knows which member belongs to which. A second
run on a sample without its lock shows that the check can fail. Sources that use what compilers add to the language are
looked at, too: the fuzz targets are built with clang. Without clang the test is skipped, and says so.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["base", "tables", "streams", "runtime", "functions", "wire", "app/daemon", "app/spawner"]
FLAGS = ["-std=c++20", f"-I{ROOT}", "-fsyntax-only", "-Wthread-safety", "-Werror=thread-safety-analysis",
         "-Werror=thread-safety-attributes", "-DBOOST_ALL_NO_LIB", "-DFMT_SHARED", "-DSPDLOG_COMPILED_LIB",
         "-DSPDLOG_FMT_EXTERNAL"]
SKIPPED = 77
SAMPLE = """#include "base/mutex.h"
struct Sample {
  int get() { return count_; }
  freshet::Mutex mutex_;
  int count_ FRESHET_GUARDED_BY(mutex_) = 0;
};
"""


def sources():
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".h", ".cc")]


def without_a_check(paths):
    plain = re.compile(r"std::(mutex|condition_variable|shared_mutex|recursive_mutex)\b")
    found = []
    for path in paths:
        if path == ROOT / "base/mutex.h":
            continue
        code = re.sub(r"//.*", "", path.read_text())
        found += [f"{path.relative_to(ROOT)}: {match[0]}: take it from base/mutex.h" for match in plain.finditer(code)]
    return found


def check(clang, path):
    done = subprocess.run([clang, *FLAGS, str(path)], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr


def main():
    paths = sources()
    complaints = without_a_check(paths)
    clang = shutil.which("clang++") or shutil.which("clang++-14")
    if complaints:
        sys.exit("\n".join(complaints))
    if clang is None:
        print("SKIPPED: house.thread_safety: clang++ is not there")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        sample = pathlib.Path(folder) / "sample.cc"
        sample.write_text(SAMPLE)
        if "requires holding mutex" not in check(clang, sample):
            sys.exit("clang has nothing against a sample that touches a member without its mutex")
    locking = [path for path in paths if path.suffix == ".cc" and any(
        side.exists() and "base/mutex.h" in side.read_text() for side in (path, path.with_suffix(".h")))]
    if len(locking) < 10:
        sys.exit(f"only {len(locking)} sources with a mutex were found")
    extended = [path for path in paths if path.suffix == ".cc" and path not in locking and
                re.search(r"\b__attribute__\b|\b__builtin_", path.read_text())]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = [text for text in pool.map(lambda path: check(clang, path), locking + extended) if text]
    if errors:
        sys.exit("\n".join(errors))
    print(f"{len(locking)} sources with a mutex keep to it; {len(extended)} with an extension of the language pass clang")


if __name__ == "__main__":
    main()
