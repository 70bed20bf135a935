#!/usr/bin/env python3
"""A downstream that cannot keep up: takes one task per POST, needs 25 ms for each, and serves 4 at a time.

It stands for the legacy system, the rate-limited API or the GPU. Freshet's `http` task runner posts each task as one JSON
object; a 2xx answer is SUCCESS, 429 and 503 put the task back, anything else is a failure that is tried again.

    python3 config/demo/handler.py [PORT]       # 0 or nothing: a free port; serves until killed

It says on a terminal what it is and where; to a program that reads its output it prints the port alone.

GET /report says what it has done: how many tasks, and how old each was when it was finished.
"""
import http.server
import json
import shutil
import sys
import threading
import time

SERVICE_SECONDS = 0.025
SLOTS = threading.BoundedSemaphore(4)
SHOWN = 20 if sys.stderr.isatty() else 0  # Tasks that a person sees go by.
ages_ms = []  # One entry per finished task; list.append is atomic.


def show(line):
    """One line of the terminal. In one write, so that threads do not mix their lines."""
    width = shutil.get_terminal_size().columns
    sys.stderr.write((line if len(line) <= width else line[:width - 3] + "...") + "\n")
    sys.stderr.flush()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        task = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with SLOTS:
            time.sleep(SERVICE_SECONDS)
        ages_ms.append(time.time() * 1000 - float(task["taskCreated"]))
        payload = task.get("payload")
        event = payload.get("event") if isinstance(payload, dict) else payload
        if len(ages_ms) <= SHOWN:
            show(f"{task['taskId']}: {json.dumps(payload)}")
        self.answer({"event": event, "accepted": True})

    def do_GET(self):
        self.answer({"agesMs": ages_ms})

    def answer(self, document):
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # The daemon was killed while we worked: it will send the task again.


def greeting(port):
    return (f"A handler of tasks at http://127.0.0.1:{port}/: 4 at a time, 25 ms each.\n"
            f"It shows the first {SHOWN}; http://127.0.0.1:{port}/report has all. Ctrl-C ends it.")


def main():
    port = sys.argv[1] if len(sys.argv) > 1 else "0"
    try:
        server = Server(("127.0.0.1", int(port)), Handler)
    except (OSError, OverflowError, ValueError) as error:
        sys.exit(f"handler.py: cannot listen on 127.0.0.1:{port}: {error}")
    print(greeting(server.server_address[1]) if sys.stdout.isatty() else server.server_address[1], flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
