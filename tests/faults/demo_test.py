#!/usr/bin/env python3
"""freshet demo limits: the books add up after the kill, the page and the JSON hold the same run, nothing is left behind, and wrong
options say what would be right."""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

OPTIONS = None

# A rival: does each task when it comes, and writes down how it was started.
RIVAL = """
import json, os, sys, time, urllib.request
print("ready", flush=True)
epoch = int(sys.stdin.readline().split()[1])
with open(sys.argv[1], "a") as starts:
    starts.write(json.dumps([epoch, os.environ["LAB_DATA"], os.listdir(os.environ["LAB_DATA"])]) + "\\n")
open(os.environ["LAB_DATA"] + "/kept", "w").close()
for number, line in enumerate(open(os.environ["LAB_ARRIVALS"])):
    due = epoch / 1000 + float(line.split()[0]) / 1000
    if due < time.time() - 0.1:
        continue
    time.sleep(max(0, due - time.time()))
    try:
        urllib.request.urlopen(os.environ["LAB_HANDLER"], json.dumps({"taskId": str(number)}).encode()).read()
    except OSError:
        pass
sys.stdin.read()
"""


def demo(*words, **more):
    return subprocess.run([OPTIONS.binary, "demo", "limits", *map(str, words)], capture_output=True, text=True, timeout=120, **more)


class DemoTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="freshet-demo-test-")
        self.addCleanup(self.folder.cleanup)
        self.at = pathlib.Path(self.folder.name)
        # Files that the demo leaves behind are in this folder.
        self.environment = {**os.environ, "TMPDIR": str(self.at)}

    def left(self):
        return [one for one in os.listdir(self.at) if one.startswith("freshet-")]

    def test_a_short_run(self):
        page = self.at / "page.html"
        rival, starts = self.at / "rival.py", self.at / "starts"
        rival.write_text(RIVAL)
        done = demo("--seconds", 15, "--json", "--html", page, "--rival", f"other={sys.executable} {rival} {starts}", env=self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        run, other = json.loads(done.stdout)["runs"]
        # It was killed as Freshet was, and went on in its folder.
        first, second = map(json.loads, starts.read_text().splitlines())
        self.assertEqual((first[:2], first[2], second[2]), (second[:2], [], ["kept"]))
        self.assertEqual(other["name"], "other")
        self.assertGreater(other["inTime"], 0)
        self.assertIn("; other does ", page.read_text())
        self.assertTrue(run["booksBalance"], run)
        self.assertEqual(sum(run["states"].values()), run["created"])
        self.assertGreater(run["created"], 1000)
        self.assertGreater(run["inTime"], 0)
        self.assertLessEqual(run["inTime"], run["possible"])
        self.assertGreater(run["shed"]["deadline"], 0)
        self.assertIn(f"did {run['inTime']} tasks in time, of the {run['possible']}", page.read_text())
        self.assertEqual(self.left(), [])

    def test_a_signal_ends_it_at_once_and_its_daemon(self):
        process = subprocess.Popen([OPTIONS.binary, "demo", "limits"], stdout=subprocess.PIPE, text=True, env=self.environment)
        for line in process.stdout:
            if "done in time" in line:
                break
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        self.assertEqual(process.wait(20), 1)
        process.stdout.close()
        self.assertEqual(self.left(), [])

    # A killed npm leaves a folder that looks like a package, and is not one.
    def test_modules_of_an_installation_that_was_cut_off_are_installed_again(self):
        cache, calls = self.at / "cache", self.at / "calls"
        programs = self.at / "programs"
        programs.mkdir()
        npm = programs / "npm"
        script = f'set -euo pipefail; node_dir="{cache}"; source bench/rivals/setup.sh; install_modules part@2 @of/other@3'
        environment = {**self.environment, "CALLS": str(calls), "CACHE": str(cache), "PATH": f"{programs}:{os.environ['PATH']}"}
        made = '#!/bin/sh\ncase "$*" in *install*) mkdir -p "$CACHE/node_modules/part" "$CACHE/node_modules/@of/other";'

        def run():
            return subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, timeout=60)

        npm.write_text(f"{made} kill -9 $$;; esac\n")
        npm.chmod(0o755)
        self.assertNotEqual(run().returncode, 0)
        npm.write_text(f'{made} echo "$*" >> "$CALLS";; esac\n')
        for _ in range(2):  # The second time there is nothing to do.
            done = run()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(calls.is_file(), "nothing is installed: the half installation is taken for a whole one")
            self.assertRegex(calls.read_text(), r"^[^\n]*install --no-audit --no-fund part@2 @of/other@3\n$")

    def test_a_rival_that_is_killed_while_it_installs_leaves_nothing_in_the_temporary_folder(self):
        scripts = self.at / "bench/rivals"
        scripts.mkdir(parents=True)
        for name in ("limits_rival.sh", "setup.sh"):
            (scripts / name).write_text(pathlib.Path("bench/rivals", name).read_text())
        for folder in ("tmp", "data", "programs"):
            (self.at / folder).mkdir()
        npm = self.at / "programs/npm"
        npm.write_text("#!/bin/sh\nkill -9 $PPID\n")
        npm.chmod(0o755)
        environment = {**os.environ, "TMPDIR": str(self.at / "tmp"), "LAB_DATA": str(self.at / "data"), "XDG_CACHE_HOME": str(self.at),
                       "PATH": f"{self.at / 'programs'}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", scripts / "limits_rival.sh", "sqs-pattern"], capture_output=True, text=True, env=environment, timeout=60)
        self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
        self.assertEqual(os.listdir(self.at / "tmp"), [])

    def test_wrong_options_say_what_would_be_right(self):
        for words, said in ((("--against", "celery"), "there are bullmq, postgres, sqs-pattern and lifo-sample"),
                            (("--rival", "x"), "must be NAME=COMMAND"), (("--html", "/no/such/folder/page"), "--html"),
                            (("--durability", "soon"), "interval"), (("--set", "RATE_LIMT=3"), "RATE_LIMT")):
            with self.subTest(words=words):
                done = demo("--seconds", 15, *words, env=self.environment)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(said, done.stderr)
        self.assertEqual(self.left(), [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    OPTIONS, rest = parser.parse_known_args()
    OPTIONS.binary = os.path.abspath(OPTIONS.binary)
    unittest.main(argv=[sys.argv[0], *rest], warnings="ignore")
