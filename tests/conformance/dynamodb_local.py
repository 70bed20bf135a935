#!/usr/bin/env python3
"""AWS's own DynamoDB Local as the other side of the suites. By itself, it serves until it is interrupted:

  tests/conformance/dynamodb_local.py             # prints its URL
  tests/conformance/dynamodb_local.py --against   # runs against.py there
"""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import pins  # noqa: E402


def need():
    pins.need(("maven", "local"), tools=("java", "javac"))


class DynamoDBLocal:
    """Runs it for the time of a `with`; `url` is where it serves."""

    def __enter__(self):
        library = pins.folder("maven", "local") / "lib"
        command = pins.java_command("local", "LoopbackServer", "-Xmx2g", f"-Djava.library.path={library}")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError(f"{command} did not start: status {self.process.wait(pins.STOP_SECONDS)}")
        return self

    def __exit__(self, *unused):
        pins.stop(self.process)
        self.process.stdout.close()


def main():
    need()
    with DynamoDBLocal() as local:
        if "--against" in sys.argv[1:]:
            others = [word for word in sys.argv[1:] if word != "--against"]
            script = pathlib.Path(__file__).parent / "against.py"
            sys.exit(subprocess.run([sys.executable, script, local.url, *others]).returncode)
        print(local.url, flush=True)
        try:
            local.process.wait()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
