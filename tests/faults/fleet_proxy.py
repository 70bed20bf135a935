"""A proxy between one daemon and its engine, which harms requests as networks and busy engines do.

It passes HTTP/1.1 on byte for byte, so that signatures stay valid. Each request meets at most one fault, which a seeded
generator draws by the rates that are set. The proxy counts each kind. The engine's answer is always read to its end, so the
engine never sees a client that has gone.

  delay         the request waits before it is passed on
  drop-before   the connection is closed, and the engine gets nothing
  drop-after    the engine gets the request, its answer is thrown away, and the connection is closed
  cut           half of the answer's body comes, and then the connection is closed
  500-before    an InternalServerError, and the engine gets nothing
  500-after     an InternalServerError in place of the engine's answer
  throttle      a ProvisionedThroughputExceededException, and the engine gets nothing
  late          the client's connection is closed at once or after its timeout, and the engine gets the request some time later

A partition is for all requests, until it is healed:

  refused       connections are reset
  silent        requests are read, the engine gets nothing, and nothing is answered
  answers-lost  one way only: the engine gets all requests, and nothing is answered
"""
import collections
import json
import random
import socket
import struct
import threading
import time
import urllib.parse

KINDS = ("delay", "drop-before", "drop-after", "cut", "500-before", "500-after", "throttle", "late")
PARTITIONS = ("refused", "silent", "answers-lost")
DELAYS_S = (0.02, 0.2, 1.0, 4.0)  # The longest one is more than a daemon waits for an answer.
LATEST_S = 6.0
ENGINE_S = 60  # An engine that is silent for longer is broken.

PREFIX = "com.amazonaws.dynamodb.v20120810#"
FAILED = {"__type": PREFIX + "InternalServerError", "message": "The request could not be completed. (A fault of the proxy.)"}
THROTTLED = {"__type": PREFIX + "ProvisionedThroughputExceededException",
             "message": "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning "
                        "level with the UpdateTable API."}


class Broken(Exception):
    """A side of the connection has ended, or says what this proxy does not read."""


def read_message(stream):
    """(head, body) of a request or an answer, as bytes; None if the other side has closed the connection."""
    head, length = bytearray(), 0
    while True:
        line = stream.readline(65_536)
        if not line:
            if head:
                raise Broken("a head in part")
            return None
        head += line
        if line == b"\r\n":
            break
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
        elif name.lower() == b"transfer-encoding":
            raise Broken("a body in chunks")
    body = stream.read(length) if length else b""
    if len(body) != length:
        raise Broken("a body in part")
    return bytes(head), body


def message(status, reason, document):
    body = json.dumps(document).encode()
    return (f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: {len(body)}\r\n\r\n").encode(), body


def status_of(head):
    return int(head.split(b" ", 2)[1])


class Engine:
    """A connection to the engine, opened when it is first needed."""

    def __init__(self, address):
        self.address, self.socket, self.stream = address, None, None

    def exchange(self, request):
        if not self.socket:
            self.socket = socket.create_connection(self.address, timeout=ENGINE_S)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.stream = self.socket.makefile("rb")
        self.socket.sendall(b"".join(request))
        answer = read_message(self.stream)
        if answer is None:
            raise Broken("the engine closed its connection")
        return answer

    def close(self):
        if self.socket:
            self.stream.close()
            self.socket.close()


class Proxy:
    """For the time of a `with`. `url` is where the daemon finds its engine."""

    def __init__(self, engine, seed):
        parts = urllib.parse.urlsplit(engine)
        self.address, self.rng, self.lock = (parts.hostname, parts.port), random.Random(seed), threading.Lock()
        self.rates, self.partition = {}, None  # Kind: its share of all requests.
        self.healed, self.over = threading.Event(), False
        self.count, self.late, self.connections = collections.Counter(), 0, set()
        self.problems = []  # Requests that the proxy itself could not pass on.
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *unused):
        self.over = True
        self.heal()
        self.listener.close()
        self._reset_all()

    def harm(self, rates):
        assert set(rates) <= set(KINDS), rates
        self.rates = dict(rates)

    def calm(self):
        self.heal()
        self.rates = {}

    def cut_off(self, kind):
        """A partition from now on."""
        assert kind in PARTITIONS, kind
        with self.lock:
            self.healed.clear()
            self.partition = kind
            self.count[kind] += 1
        if kind == "refused":
            self._reset_all()

    def heal(self):
        with self.lock:
            self.partition = None
            self.healed.set()

    def has_late(self):
        """True while a request is still to be delivered."""
        with self.lock:
            return self.late > 0

    def draw(self):
        """The fault of the next request."""
        with self.lock:
            if self.partition:
                return self.partition
            self.count["requests"] += 1
            at = self.rng.random()
            for kind, share in self.rates.items():
                at -= share
                if at < 0:
                    self.count[kind] += 1
                    return kind
            return None

    def any(self, choose):
        with self.lock:
            return choose(self.rng)

    def deliver_later(self, request, seconds):
        """Passes a request on although nobody waits for its answer."""
        def deliver():
            engine = Engine(self.address)
            time.sleep(seconds)
            try:
                engine.exchange(request)
            except (OSError, Broken) as error:
                self.note(f"late: {error!r}")
            finally:
                engine.close()
                with self.lock:
                    self.late -= 1

        with self.lock:
            self.late += 1
        threading.Thread(target=deliver, daemon=True).start()

    def note(self, text):
        if not self.over:
            self.problems.append(text)

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                refused = self.partition == "refused" or self.over
                if not refused:
                    self.connections.add(client)
            if refused:
                reset(client)
            else:
                threading.Thread(target=Connection(self, client).run, daemon=True).start()

    def _reset_all(self):
        with self.lock:
            for client in self.connections:
                try:
                    client.shutdown(socket.SHUT_RDWR)  # Its thread closes it.
                except OSError:
                    pass


def reset(client):
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


class Connection:
    """One connection of the daemon, and its own to the engine."""

    def __init__(self, proxy, client):
        self.proxy, self.client, self.engine = proxy, client, Engine(proxy.address)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = client.makefile("rb")

    def run(self):
        try:
            while True:
                request = read_message(self.stream)
                if request is None or not self.serve(self.proxy.draw(), request):
                    return
        except OSError:
            pass  # The daemon has gone.
        except Broken as error:
            if "in part" not in str(error):  # A daemon that was killed leaves such.
                self.proxy.note(str(error))
        finally:
            self.close()

    def close(self):
        with self.proxy.lock:
            self.proxy.connections.discard(self.client)
        self.stream.close()
        self.client.close()
        self.engine.close()

    def serve(self, kind, request):
        """False: the connection ends here."""
        if kind in ("refused", "drop-before"):
            return False
        if kind == "500-before":
            return self.send(message(500, "Internal Server Error", FAILED))
        if kind == "throttle":
            return self.send(message(400, "Bad Request", THROTTLED))
        if kind == "late":
            return self.late(request)
        if kind == "silent":
            self.proxy.healed.wait()
            return False
        if kind == "delay":
            time.sleep(self.proxy.any(lambda rng: rng.uniform(0.2, 1) * rng.choice(DELAYS_S)))
        return self.answer(kind, self.exchange(request))

    def late(self, request):
        seconds, hangs = self.proxy.any(lambda rng: (rng.uniform(0.05, 1) * rng.choice((0.3, LATEST_S)), rng.random() < 0.5))
        self.proxy.deliver_later(request, seconds)
        if hangs:  # The daemon's own timeout passes, or it is not told anything until the request is on its way.
            time.sleep(seconds)
        return False

    def exchange(self, request):
        answer = self.engine.exchange(request)
        if status_of(answer[0]) >= 500:
            with self.proxy.lock:
                self.proxy.count["5xx of the engine"] += 1
        return answer

    def answer(self, kind, answer):
        if self.proxy.partition in ("silent", "answers-lost"):  # It may have begun in the meantime.
            self.proxy.healed.wait()
            return False
        if kind in ("drop-after", "answers-lost"):
            return False
        if kind == "500-after":
            return self.send(message(500, "Internal Server Error", FAILED))
        if kind == "cut":
            head, body = answer
            self.client.sendall(head + body[:len(body) // 2])
            return False
        return self.send(answer)

    def send(self, answer):
        self.client.sendall(b"".join(answer))
        return True
