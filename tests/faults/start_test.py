#!/usr/bin/env python3
"""The reports of a daemon to its starter: the ready file, and the service manager's socket (sd_notify)."""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

from daemon import ROOT, Daemon, Refused, main


def stale_ready_file(binary, folder):
    """The file of an earlier run says nothing of this one: it goes before the store opens, which may take long or fail."""
    ready, store = folder / "ready", folder / "store"
    ready.write_text("http://127.0.0.1:1\n")
    store.write_text("a file where the directory of the store should be")
    run = subprocess.run([str(binary), "run", "--data", str(store), "--listen", "127.0.0.1:0", "--ready-file", str(ready)],
                         capture_output=True, text=True, timeout=60)
    assert run.returncode == 1, run
    assert not ready.exists(), "the ready file of the earlier run is still there"
    ready.mkdir()
    run = subprocess.run([str(binary), "run", "--data", ":memory:", "--listen", "127.0.0.1:0", "--ready-file", str(ready)],
                         capture_output=True, text=True, timeout=60)
    assert run.returncode == 1 and "--ready-file" in run.stderr, run


def refused(binary, folder, *options, status=1, listen="127.0.0.1:0"):
    """Checks the output of a daemon that does not start, and that it has opened nothing."""
    run = subprocess.run([str(binary), "run", "--listen", listen, "--data", str(folder / "untouched"), *map(str, options)],
                         capture_output=True, text=True, timeout=60)
    assert run.returncode == status, run
    assert not (folder / "untouched").exists(), f"{options}: the store was opened"
    return run.stderr


def one_owner_of_the_ready_file(binary, folder):
    daemon = Daemon(binary, folder / "first", template=None).start()
    try:
        said = refused(binary, folder, "--ready-file", daemon.ready)
        assert "another daemon" in said and str(daemon.ready) in said, said
        assert daemon.ready.exists(), "the second daemon took the ready file of the first"
        daemon.kill()
        before = daemon.ready.stat().st_ino
        again = subprocess.Popen([str(binary), "run", "--listen", "127.0.0.1:0", "--data", ":memory:", "--ready-file", str(daemon.ready)],
                                 stderr=subprocess.DEVNULL)
        daemon.process = again  # Nobody's any more: a third may have it.
        while not daemon.ready.exists() or daemon.ready.stat().st_ino == before:
            assert again.poll() is None
            time.sleep(0.005)
    finally:
        daemon.kill()
    assert sorted(p.name for p in (folder / "first").iterdir()) == ["daemon.log", "ready", "store"]
    assert "--ready-file" in refused(binary, folder, "--ready-file", folder / "nowhere" / "ready")


def a_reload_while_files_are_read(binary, folder):
    """A SIGHUP that comes so early ends nobody. The daemon waits for the definition that a pipe brings."""
    pipe = folder / "definition"
    os.mkfifo(pipe)
    daemon = Daemon(binary, folder / "data", "--priority-queue", pipe, template=None).launch()
    try:
        with open(pipe, "w") as definition:  # Waits until the daemon has opened it.
            daemon.process.send_signal(signal.SIGHUP)
            definition.write((ROOT / "config/priority-queue.json").read_text())
        while not daemon.ready.exists():
            assert daemon.process.poll() is None, (daemon.process.returncode, daemon.log_tail())
            time.sleep(0.005)
        assert daemon.stop() == 0
    finally:
        daemon.stop()


def before_anything_is_opened(binary, folder):
    """A wrong address or queue is reported at once, and nothing has changed."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        assert f"cannot listen on {address}: Address already in use" in refused(binary, folder, listen=address)
    daemon = Daemon(binary, folder / "queues", template=None).start()
    daemon.dynamodb("CreateTable", TableName="Plain", BillingMode="PAY_PER_REQUEST",
                    AttributeDefinitions=[{"AttributeName": "taskId", "AttributeType": "S"}],
                    KeySchema=[{"AttributeName": "taskId", "KeyType": "HASH"}])
    try:
        try:
            daemon.stats()
            raise AssertionError("a queue without a template")
        except Refused as no_queue:
            assert no_queue.status == 404 and "freshet serve NAME starts one" in str(no_queue), no_queue
        assert daemon.stop() == 0
        # Only the store knows: but before the template has changed anything in it.
        for table in ("Missing", "no such name!"):
            run = subprocess.run([str(binary), "run", str(ROOT / "config/lifo.yaml"), "--listen", "127.0.0.1:0", "--data",
                                  str(folder / "queues/store"), "--queue", table], capture_output=True, text=True, timeout=60)
            assert run.returncode == 1 and f"--queue {table}: " in run.stderr, run
        daemon.options = ("--queue", "Plain")
        daemon.start()
        assert daemon.dynamodb("ListTables")["TableNames"] == ["Plain"]
        try:
            daemon.stats()
            raise AssertionError("a queue of another name")
        except Refused as other_queue:
            assert other_queue.status == 404 and "this daemon has Plain" in str(other_queue), other_queue
        assert daemon.stop() == 0
    finally:
        daemon.kill()


def service_manager(binary, folder, name):
    """READY once requests are served, WATCHDOG again and again, STOPPING when it drains; in this order."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name)
        manager.settimeout(60)
        shown = "@" + name[1:] if name.startswith("\0") else name
        os.environ.update(NOTIFY_SOCKET=shown, WATCHDOG_USEC="20000")
        daemon = Daemon(binary, folder, template=None)
        try:
            daemon.launch()
            assert manager.recv(100) == b"READY=1"
            assert daemon.ready.exists(), "READY before the ready file"
            for _ in range(3):
                assert manager.recv(100) == b"WATCHDOG=1"
            daemon.process.send_signal(signal.SIGTERM)
            last = manager.recv(100)
            while last == b"WATCHDOG=1":
                last = manager.recv(100)
            assert last == b"STOPPING=1", last
            assert daemon.process.wait(60) == 0, daemon.log_tail()
        finally:
            del os.environ["NOTIFY_SOCKET"], os.environ["WATCHDOG_USEC"]
            daemon.kill()


def shipped_options(binary, folder):
    """The options file that ships is read, with what is commented out but what names things that are not there."""
    text = (ROOT / "config/freshet.conf").read_text()
    text = re.sub(r"(?m)^#(?!queue|credentials|member-credentials|tls|ca-|endpoint|advertise|fleet-name)(?=[a-z-]+ = )", "", text)
    options = folder / "freshet.conf"
    for installed, shipped in (("template.yaml", "lifo.yaml"), ("priority-queue.json", "priority-queue.json"),
                               ("filtered-queue.json", "filtered-queue.json"),
                               ("ordered-writes.json", "ordered-writes.json")):
        text = text.replace(f"/etc/freshet/{installed}", str(ROOT / "config" / shipped))
    text = text.replace("/var/log/freshet", str(folder)).replace("xray-port = 2000", "xray-port = 0")
    options.write_text(text)
    daemon = Daemon(binary, folder / "conf", "--config", options, template=None).start()
    try:
        daemon.stats()
        assert daemon.stop() == 0, daemon.log_tail()
    finally:
        daemon.kill()
    helped = subprocess.run([str(binary), "run", "--help"], capture_output=True, text=True, timeout=60).stdout
    there = set(re.findall(r"(?m)^#?([a-z-]+) = ", (ROOT / "config/freshet.conf").read_text()))
    assert there == set(re.findall(r"(?m)^ {6}--([a-z-]+)\b", helped)) - {"config", "json"} | {"template"}, there


def shipped_unit(binary, folder):
    """The sandbox of the unit that ships, by the measure of systemd-analyze; and what programs of functions cannot do without."""
    unit = ROOT / "config/freshet.service"
    settings = dict(line.split("=", 1) for line in unit.read_text().splitlines() if "=" in line and not line.startswith("#"))
    assert "MemoryDenyWriteExecute" not in settings, "Node.js makes machine code as it goes"
    assert "ProtectClock" not in settings, "the daemon asks whether the clock is synchronised"
    assert "AF_NETLINK" in settings["RestrictAddressFamilies"], "the daemon asks whose a connection is"
    assert settings["LoadCredential"].partition(":")[2] == "/etc/freshet/freshet.conf"
    if shutil.which("systemd-analyze") is None:
        return
    measured = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=30", "--no-pager", str(unit)],
                              capture_output=True, text=True, timeout=60)
    if "unrecognized option" not in measured.stderr:  # Before systemd 250.
        assert measured.returncode == 0, measured.stdout[-200:] + measured.stderr


if __name__ == "__main__":
    main(__doc__, "told in order; nothing stale", stale_ready_file, a_reload_while_files_are_read,
         one_owner_of_the_ready_file, before_anything_is_opened,
         lambda binary, folder: service_manager(binary, folder, str(folder / "socket")),
         lambda binary, folder: service_manager(binary, folder, f"\0freshet-{os.getpid()}"), shipped_options,
         shipped_unit)
