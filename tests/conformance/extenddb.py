"""ExtendDB, a DynamoDB-compatible engine, for the time of a `with`: in memory, over plain HTTP on loopback.

npm has it (config/clients.txt, folder `engines`); ./test.sh installs it into build/node/engines.
"""
import base64
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import pins  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("FRESHET_NODE_MODULES", ROOT / "build" / "node"), "engines", "node_modules", "@extenddb",
                       "linux-x64", "extenddb")
START_SECONDS = 60
# Signatures are checked, against the example key of AWS's documentation, which its log names.
KEY = "AKIAIOSFODNN7EXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


def need():
    if not PROGRAM.exists():
        print("SKIPPED: not installed: npm engines (./test.sh installs what can be had)", file=sys.stderr)
        sys.exit(pins.SKIPPED)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ExtendDB:
    """`url` is where it serves; `environment` has the access key for the AWS tools."""

    environment = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="freshet-extenddb-")
        place = pathlib.Path(self.folder.name)
        (place / "extenddb.toml").write_text('[storage.sqlite]\npath = ":memory:"\n')
        self.log = place / "log"
        port = free_port()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([PROGRAM, "serve", "--port", str(port), "--foreground"], cwd=place, stdout=log, stderr=log)
        self.url = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"ExtendDB did not start:\n{self.log.read_text()}")
            time.sleep(0.02)
        return self

    def _answers(self):
        try:
            urllib.request.urlopen(self.url, timeout=5).close()
        except urllib.error.HTTPError as refused:
            refused.close()  # A request without a signature is refused.
        except OSError:
            return False
        return True

    def password(self):
        """The password of the user `admin` of its management API."""
        return re.search(r"Password: (\S+)", self.log.read_text()).group(1)

    def set_index_lag(self, milliseconds):
        """From now on, indexes show a write so much later."""
        key = base64.b64encode(f"admin:{self.password()}".encode()).decode()
        request = urllib.request.Request(self.url + "/management/settings/index_propagation_delay_ms",
                                         json.dumps({"value": str(milliseconds)}).encode(),
                                         {"Authorization": "Basic " + key, "Content-Type": "application/json"}, method="PUT")
        urllib.request.urlopen(request).close()

    def __exit__(self, *unused):
        pins.stop(self.process)
        self.folder.cleanup()
