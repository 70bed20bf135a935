"""The server that the suite talks to: one that is already there (FRESHET_ENDPOINT), or a fresh daemon of its own.

The daemon is started on a free port with an empty store in memory and stopped (SIGTERM, then the exit status is
checked) when the suite ends. FRESHET_BINARY names the binary; build/release/freshet otherwise.
"""
import os
import pathlib
import signal
import subprocess
import tempfile
import time

import boto3
import botocore.config

ROOT = pathlib.Path(__file__).resolve().parents[2]
START_SECONDS = 30
STOP_SECONDS = 30


class Endpoint:
    def __init__(self, *options):
        """`options` are further ones of `freshet run`: such a server is always a daemon of its own."""
        self.url = None if options else os.environ.get("FRESHET_ENDPOINT")
        self.options = options
        self.process = None

    def __enter__(self):
        if self.url:
            return self
        binary = os.environ.get("FRESHET_BINARY", str(ROOT / "build" / "release" / "freshet"))
        self.directory = tempfile.TemporaryDirectory(prefix="freshet-conformance-")
        ready = pathlib.Path(self.directory.name) / "ready"
        command = [binary, "run", "--data", ":memory:", "--listen", "127.0.0.1:0", "--ready-file", str(ready),
                   *self.options]
        if os.environ.get("FRESHET_COMMAND") and not self.options:  # Another server with the same promise about its ready file.
            command = [part.replace("READY", str(ready)) for part in os.environ["FRESHET_COMMAND"].split()]
        self.log = open(pathlib.Path(self.directory.name) / "log", "wb+")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + START_SECONDS
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.log.seek(0)
                raise RuntimeError(f"{command} did not get ready:\n{self.log.read().decode(errors='replace')}")
            time.sleep(0.02)
        self.url = ready.read_text().strip()
        return self

    def __exit__(self, *unused):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(STOP_SECONDS)
        self.log.seek(0)
        log = self.log.read().decode(errors="replace")
        self.log.close()
        self.directory.cleanup()
        if status != 0:
            raise RuntimeError(f"the daemon ended with status {status}:\n{log}")


def environment(url):
    """For child processes that use an SDK or the CLI."""
    child = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    child.update(
        AWS_ENDPOINT_URL=url,
        AWS_ACCESS_KEY_ID="conformance",
        AWS_SECRET_ACCESS_KEY="conformance",
        AWS_DEFAULT_REGION="us-east-1",
        AWS_REGION="us-east-1",
        AWS_PAGER="",
        AWS_EC2_METADATA_DISABLED="true",
    )
    return child


def _settings(url):
    # The legacy retry mode is the one that checks x-amz-crc32.
    config = botocore.config.Config(retries={"mode": "legacy", "max_attempts": 2}, parameter_validation=False)
    return dict(
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="conformance",
        aws_secret_access_key="conformance",
        config=config,
    )


def client(url, service="dynamodb"):
    return boto3.session.Session().client(service, **_settings(url))


def resource(url):
    return boto3.session.Session().resource("dynamodb", **_settings(url))
