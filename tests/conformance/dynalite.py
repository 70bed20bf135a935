"""dynalite, a store that speaks DynamoDB's protocol without transactions and streams, for the time of a `with`: in memory, on
loopback.

npm has it (config/clients.txt, folder `dynalite`); ./test.sh installs it into build/node/dynalite.
"""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import pins  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("FRESHET_NODE_MODULES", ROOT / "build" / "node"), "dynalite", "node_modules", "dynalite", "cli.js")


def need():
    if not PROGRAM.exists() or not shutil.which("node"):
        print("SKIPPED: not installed: npm dynalite (./test.sh installs what can be had)", file=sys.stderr)
        sys.exit(pins.SKIPPED)


class Dynalite:
    """`url` is where it serves. Any key will do."""

    def __enter__(self):
        command = ["node", str(PROGRAM), "--host", "127.0.0.1", "--port", "0"]
        command += [word for what in ("create", "delete", "update") for word in (f"--{what}TableMs", "0")]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        said = self.process.stdout.readline()
        if "http://127.0.0.1:" not in said:
            raise RuntimeError(f"dynalite did not start: {said}")
        self.url = said.split()[-1].rstrip("/")
        return self

    def __exit__(self, *unused):
        pins.stop(self.process)
        self.process.stdout.close()
