#!/usr/bin/env python3
"""Things that functions' programs, and other users of the machine, try to reach: the environment that the daemon was
started with, files under names that others have prepared, the ports of the Runtime API.

The tests as another user need root, and are left out without it.
"""
import http.client
import json
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import threading
import time

from daemon import Daemon, main

SECRET = "open-sesame-5b1f"
SPY = """import os, pathlib
def handler(event, context):
    seen = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        for name in ("environ", "mem"):
            try:
                if name == "environ":
                    seen[f"{entry.name}/{name}"] = (entry / name).read_bytes().decode(errors="replace")
                else:
                    with open(entry / name, "rb"):
                        seen[f"{entry.name}/{name}"] = ""
            except OSError as error:
                seen[f"{entry.name}/{name}"] = type(error).__name__
    return {"seen": {name: text for name, text in seen.items() if int(name.split("/")[0]) in event},
            "own": os.environ["GIVEN"]}
"""
TEMPLATE = """Parameters:
  Given: {Type: String, NoEcho: true}
Resources:
  Spy:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.11
      CodeUri: .
      Handler: spy.handler
      Timeout: 30
      MemorySize: 512
      Environment: {Variables: {GIVEN: !Ref Given}}
"""
NOBODY = 65534


def family(pid):
    """The process and all below it."""
    children = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found, open_ones = [], [pid]
    while open_ones:
        one = open_ones.pop()
        found.append(one)
        open_ones += children.get(one, [])
    return found


def invoke(port, name, payload):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", f"/2015-03-31/functions/{name}/invocations", json.dumps(payload))
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def spy(binary, folder, user=None):
    """The processes between a function and the daemon, as the function sees them."""
    (folder / "spy.py").write_text(SPY)
    (folder / "template.yaml").write_text(TEMPLATE)
    ready = folder / "ready"
    environment = {"PATH": os.environ["PATH"], "FRESHET_PARAMETER": f"Given={SECRET}", "AWS_SECRET_ACCESS_KEY": SECRET,
                   "TZ": "UTC", "SOME_OTHER": SECRET}
    process = subprocess.Popen([str(pathlib.Path(binary).resolve()), "run", str(folder / "template.yaml"), "--data", ":memory:", "--listen",
                                "127.0.0.1:0", "--ready-file", str(ready)], env=environment, user=user,
                               stderr=(folder / "log").open("wb"), cwd=folder)
    try:
        while not ready.exists():
            assert process.poll() is None, (folder / "log").read_text()
            time.sleep(0.01)
        port = int(ready.read_text().strip().rpartition(":")[2])
        warm = invoke(port, "Spy", [])  # Its processes are there from now on.
        assert warm.get("own") == SECRET, warm
        family_of_daemon = family(process.pid)
        assert len(family_of_daemon) > 3, family_of_daemon
        seen = invoke(port, "Spy", family_of_daemon)["seen"]
        assert f"{process.pid}/environ" in seen, seen
        return process.pid, seen
    finally:
        process.terminate()
        process.wait(60)


def environment_is_gone(binary, folder):
    """As whatever user: nothing that the daemon was started with stands in /proc, but what it still needs."""
    pid, seen = spy(binary, folder)
    functions_own = [name for name, text in seen.items() if SECRET in text and "AWS_LAMBDA_RUNTIME_API" in text]
    assert len(functions_own) == 1, seen  # The function was given it.
    leaks = {name: text for name, text in seen.items() if SECRET in text and name not in functions_own}
    assert not leaks, leaks
    if not seen[f"{pid}/environ"].endswith("Error"):  # Root may look.
        assert "PATH=" in seen[f"{pid}/environ"] and "TZ=UTC" in seen[f"{pid}/environ"], seen


def nobody_looks_into_the_daemon(binary, folder):
    """Its functions are processes of the same user: they may look into each other, not into it and its helpers."""
    if os.geteuid() != 0:
        return
    folder.chmod(0o755)
    with tempfile.TemporaryDirectory(prefix="freshet-nobody-") as there:
        there = pathlib.Path(there)
        os.chown(there, NOBODY, NOBODY)
        copy = there / "freshet"
        try:
            os.link(pathlib.Path(binary).resolve(), copy)
        except OSError:
            shutil.copy(binary, copy)
        pid, seen = spy(copy, there, NOBODY)
    refused = {name for name, text in seen.items() if text == "PermissionError"}
    assert {f"{pid}/environ", f"{pid}/mem"} <= refused, seen
    # The daemon, its spawner, a keeper for each program; only the programs are open to each other.
    assert len({name.split("/")[0] for name in refused}) >= 3, seen


def links_are_not_followed(binary, folder):
    victim = folder / "victim"

    def run(*options):
        victim.write_text("precious")
        os.chmod(victim, 0o600)
        return subprocess.run([str(binary), "run", "--data", ":memory:", "--listen", "127.0.0.1:0", *map(str, options)],
                              capture_output=True, text=True, timeout=60)

    for option in ("--trace-file", "--chrome-trace"):
        trace = folder / f"trace{option}"
        trace.symlink_to(victim)
        refused = run(option, trace, "--xray-port", "0")
        assert refused.returncode == 1 and "symbolic link" in refused.stderr, refused
        assert victim.read_text() == "precious"
        trace.unlink()
        os.link(victim, trace)  # Where the system lets others do so.
        refused = run(option, trace, "--xray-port", "0")
        assert refused.returncode == 1 and "other names" in refused.stderr, refused
        assert victim.read_text() == "precious"
        trace.unlink()
        os.mkfifo(trace)
        assert run(option, trace, "--xray-port", "0").returncode == 1
        trace.unlink()
    if os.geteuid() == 0:
        trace.write_text("")
        os.chown(trace, NOBODY, NOBODY)
        assert "another user" in run("--trace-file", trace, "--xray-port", "0").stderr
        trace.unlink()
    # The ready file takes the place of a link.
    victim.write_text("precious")
    daemon = Daemon(binary, folder / "ready", "--trace-file", folder / "spans", "--chrome-trace", folder / "chrome",
                    "--xray-port", "0", template=None)
    daemon.data.mkdir()
    for name in ("ready", "ready.new"):
        (daemon.data / name).symlink_to(victim)
    os.umask(0o022)
    try:
        daemon.start()
        assert victim.read_text() == "precious"
        for path in (daemon.data / "ready", folder / "spans", folder / "chrome"):
            about = path.lstat()
            assert stat.S_ISREG(about.st_mode) and stat.S_IMODE(about.st_mode) == 0o640, (path, oct(about.st_mode))
        assert not (daemon.data / "ready.new").exists()
    finally:
        daemon.stop()
    # One that a killed daemon left behind is replaced; one that somebody holds is not.
    (daemon.data / "ready.new").write_text("left behind")
    left = open(daemon.data / "ready.new")
    try:
        daemon.start()
        assert left.read() == "left behind", "it was written to"
        assert not os.path.samestat(os.fstat(left.fileno()), (daemon.data / "ready").stat())
    finally:
        left.close()
        daemon.stop()


def ports_of_functions(binary, folder):
    """Another user of the machine gets no event and answers for nobody."""
    if os.geteuid() != 0:
        return
    (folder / "wait.py").write_text("import os, time\n"
                                    "def handler(event, context):\n"
                                    "    open(event, 'w').write(os.environ['AWS_LAMBDA_RUNTIME_API'])\n"
                                    "    while os.path.exists(event):\n        time.sleep(0.01)\n"
                                    "    return context.aws_request_id\n")
    template = folder / "template.yaml"
    template.write_text("Resources:\n  Wait:\n    Type: AWS::Serverless::Function\n    Properties: {Runtime: python3.11, "
                        "CodeUri: ., Handler: wait.handler, Timeout: 60}\n")
    daemon = Daemon(binary, folder / "daemon", template=None)
    daemon.options = (str(template),)
    daemon.start()
    told = folder / "told"
    answers = []
    caller = threading.Thread(target=lambda: answers.append(invoke(daemon.port, "Wait", str(told))))
    caller.start()
    try:
        while not told.exists() or not told.read_text():
            assert daemon.process.poll() is None
            time.sleep(0.01)
        url = f"http://{told.read_text()}/2018-06-01/runtime/invocation/"
        thief = ("import sys, urllib.request\n"
                 "for path, data in (('next', None), ('any/response', b'1')):\n"
                 "    try:\n        print(urllib.request.urlopen(sys.argv[1] + path, data, timeout=30).status)\n"
                 "    except urllib.error.HTTPError as error:\n        print(error.code)\n"
                 "    except OSError:\n        print('cut')\n")
        ran = subprocess.run(["/usr/bin/python3", "-c", thief, url], user=NOBODY, capture_output=True, text=True, timeout=60)
        assert set(ran.stdout.split()) <= {"403", "cut"} and len(ran.stdout.split()) == 2, ran
    finally:
        told.unlink(missing_ok=True)
        caller.join()
        daemon.stop()
    assert isinstance(answers[0], str) and len(answers[0]) == 36, answers


if __name__ == "__main__":
    main(__doc__, "nothing to be seen", environment_is_gone, nobody_looks_into_the_daemon, links_are_not_followed,
         ports_of_functions)
