#!/usr/bin/env python3
"""Output of functions, in the log and in `freshet logs`."""
import http.client
import json
import shutil
import subprocess
import time

from daemon import Daemon, main

TALK = """exports.handler = async (event) => {
  console.log({ event: "PARCEL_MOVED", taskId: event.id, route: "x".repeat(80), stops: [1, { by: "y".repeat(60) }] });
  console.log(JSON.stringify({ event: "PARCEL_PRICED", taskId: event.id }, null, 2));
  console.error(new Error("no stamp"));
  console.table([{ city: "Basel" }]);
  console.log("done");
};
"""
TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Talk:
    Type: AWS::Serverless::Function
    Properties: {Runtime: nodejs20.x, CodeUri: ., Handler: talk.handler,
                 Environment: {Variables: {PATH: '/usr/local/bin:/usr/bin:/bin'}}}
"""


def invoke(daemon, event):
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
    connection.request("POST", "/2015-03-31/functions/Talk/invocations", json.dumps(event))
    answer = connection.getresponse()
    assert answer.status == 200 and answer.headers.get("X-Amz-Function-Error") is None, answer.read()
    connection.close()


def lines(daemon):
    """The log's events of the function. The last line of an answered call may still be on its way."""
    deadline = time.monotonic() + 60
    while True:
        events = [json.loads(line) for line in daemon.log_path.read_text().splitlines() if '"FUNCTION_LOG"' in line]
        errors = [event for event in events if event["stream"] == "stderr"]  # Its order beside the other is not fixed.
        output = [event for event in events if event["stream"] == "stdout"]
        if errors and output and output[-1]["line"] == "done":
            return output, errors
        assert time.monotonic() < deadline, events
        time.sleep(0.01)


def test_one_call_of_console_is_one_event(binary, folder):
    if not shutil.which("node"):
        print("SKIPPED: node is not installed")
        return
    (folder / "talk.js").write_text(TALK)
    (folder / "template.yaml").write_text(TEMPLATE)
    daemon = Daemon(binary, folder / "data", str(folder / "template.yaml"), template=None).start()
    try:
        invoke(daemon, {"id": "FR-1"})
        said, errors = lines(daemon)
        assert len(said) == 4 and len(errors) == 1, (said, errors)
        assert said[0]["line"].startswith("{\n  event: 'PARCEL_MOVED',\n  taskId: 'FR-1'"), said[0]
        assert json.loads(said[1]["line"]) == {"event": "PARCEL_PRICED", "taskId": "FR-1"}
        assert "no stamp\n    at " in errors[0]["line"], errors
        for event in ("PARCEL_MOVED", "PARCEL_PRICED"):
            found = subprocess.run([binary, "logs", "--json", "--url", f"http://127.0.0.1:{daemon.port}", "--where", f"event={event}",
                                    "--where", "taskId=FR-1"], capture_output=True, text=True)
            assert found.returncode == 0 and len(found.stdout.splitlines()) == 1 and event in found.stdout, found
        assert daemon.stop() == 0
    finally:
        daemon.stop()


if __name__ == "__main__":
    main(__doc__, "each call of console is one event", test_one_call_of_console_is_one_event)
