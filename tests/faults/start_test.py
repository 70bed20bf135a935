#!/usr/bin/env python3
"""What a daemon tells those who start it: the ready file, and the service manager's socket (sd_notify)."""
import os
import pathlib
import re
import signal
import socket
import subprocess

from daemon import ROOT, Daemon, main


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
    """The options file that ships is read, with everything in it that is commented out."""
    text = (ROOT / "config/freshet.conf").read_text()
    text = re.sub(r"(?m)^#(?!queue)(?=[a-z-]+ = )", "", text)
    options = folder / "freshet.conf"
    options.write_text(text.replace("/etc/freshet/template.yaml", str(ROOT / "config/lifo.yaml")))
    daemon = Daemon(binary, folder / "conf", "--config", options, template=None).start()
    try:
        daemon.stats()
        assert daemon.stop() == 0, daemon.log_tail()
    finally:
        daemon.kill()
    helped = subprocess.run([str(binary), "run", "--help"], capture_output=True, text=True, timeout=60).stdout
    there = set(re.findall(r"(?m)^#?([a-z-]+) = ", (ROOT / "config/freshet.conf").read_text()))
    assert there == set(re.findall(r"(?m)^  --([a-z-]+) ", helped)) - {"config", "json"} | {"template"}, there


if __name__ == "__main__":
    main(__doc__, "told in order; nothing stale", stale_ready_file,
         lambda binary, folder: service_manager(binary, folder, str(folder / "socket")),
         lambda binary, folder: service_manager(binary, folder, f"\0freshet-{os.getpid()}"), shipped_options)
