#!/usr/bin/env python3
"""Clients that mean harm, many at once, through the real binary: slow senders, bodies of 16 MB on 32 connections, bombs,
scans whose answers nobody takes, garbage behind good requests, connections that are only reset.

A healthy client goes on meanwhile and gets every answer, memory stays within a bound, and all of it is given back.
"""
import gzip
import json
import random
import socket
import struct
import threading
import zlib

from daemon import LARGER, Daemon, main
from malformed_test import PATIENCE, TABLE, HealthyClient, head, memory, post, settled

BIG = "Big"
ITEMS, ITEM_BYTES = 64, 300_000
LIMIT = 16 << 20  # The limit of a body.
# Bytes above what the daemon has at rest: bodies that arrive together are 32 of 16 MB, answers that nobody takes up to
# 256 MB, and what is read out of one body comes on top.
MAX_PEAK = LARGER * (1_000 << 20)
MAX_GROWTH = LARGER * (64 << 20)  # When all is over.
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing resets the connection.

GET = post(json.dumps({"TableName": TABLE, "Key": {"id": {"S": "good"}}}), "GetItem")[0]
SCAN = post(json.dumps({"TableName": BIG}), "Scan")[0]


class Attack:
    def __init__(self, daemon, healthy):
        self.daemon, self.healthy = daemon, healthy

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.daemon.port), timeout=2 * PATIENCE)

    def healthy_rounds(self, count):
        """Until the healthy client has done so many more."""
        wanted = self.healthy.rounds + count
        while self.healthy.rounds < wanted:
            assert self.healthy.fault is None, self.healthy.fault
            assert self.daemon.process.poll() is None, self.daemon.log_tail()
            self.healthy.stopping.wait(0.01)

    def status(self, request, got):
        with self.connect() as sock:
            try:
                sock.sendall(request)
            except OSError:
                pass  # Refused by its head: the answer is there all the same.
            try:
                got.append(sock.recv(1 << 16).partition(b"\r\n")[0])
            except ConnectionError:
                got.append(b"")

    def at_once(self, request, count, allowed):
        got = []
        threads = [threading.Thread(target=self.status, args=(request, got)) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(got) == count and all(line[9:12] in allowed for line in got), got
        self.healthy_rounds(1)

    def slow_senders(self):
        request = head("PutItem", length=LIMIT)
        senders = [self.connect() for _ in range(500)]
        for i, sock in enumerate(senders):
            sock.sendall(request if i % 2 else request[:20])  # Half of them are in the body, half in the head.
        for at in range(20, 25):
            for i, sock in enumerate(senders):
                sock.sendall(b" " if i % 2 else request[at:at + 1])
            self.healthy_rounds(3)
        for sock in senders:
            sock.close()

    def large_bodies(self):
        fields = '{"TableName":"%s","Item":{"id":{"S":"big"},"x":{%s}}}'
        space = LIMIT - len(fields) - 100
        self.at_once(post(fields % (TABLE, '"S":"' + "x" * space + '"'))[0], 32, (b"400", b"503"))
        number = '{"N":"1"}'
        self.at_once(post(fields % (TABLE, '"L":[' + ",".join([number] * (space // (len(number) + 1))) + "]"))[0], 4,
                     (b"400", b"503"))
        self.at_once(post("[" * LIMIT)[0], 32, (b"400", b"503"))

    def bombs(self):
        squeezer = zlib.compressobj(9, zlib.DEFLATED, 31)
        bomb = b"".join(squeezer.compress(b" " * (1 << 20)) for _ in range(64)) + squeezer.flush()
        self.at_once(post(bomb, more=("Content-Encoding: gzip",))[0], 32, (b"413", b"503"))
        within = gzip.compress(b"[" + b" " * (LIMIT - 1))
        self.at_once(post(within, more=("Content-Encoding: gzip",))[0], 32, (b"400", b"503"))

    def hang_ups(self):
        """In the middle of a big answer, and of those behind it."""
        for i in range(100):
            with self.connect() as sock:
                sock.sendall(SCAN * 8)
                if i % 3 == 0:
                    sock.recv(100)
                if i % 2 == 0:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.healthy_rounds(3)

    def takes_nothing(self):
        takers = [self.connect() for _ in range(32)]
        for sock in takers:
            sock.setblocking(False)
            try:
                sock.send(SCAN * 128)
            except OSError:
                pass  # Cut already.
        self.healthy_rounds(20)
        for sock in takers:
            sock.close()

    def garbage_behind_good_requests(self):
        rng = random.Random(20261122)
        for _ in range(60):
            count = rng.randint(0, 200)
            with self.connect() as sock:
                try:
                    sock.sendall(GET * count + b"\x16" + rng.randbytes(rng.randint(1, 3000)) + b"\r\n\r\n")
                    sock.shutdown(socket.SHUT_WR)
                except OSError:
                    pass  # Refused already.
                found = b""
                try:
                    while part := sock.recv(1 << 16):
                        found += part
                except ConnectionError:
                    continue  # The end of it may be lost with what the server did not read.
                assert found.count(b"HTTP/1.1 200") == count, (count, found[-300:])
                assert found.count(b"HTTP/1.1 400") == 1, found[-300:]
        self.healthy_rounds(1)

    def resets(self):
        for _ in range(2_000):
            with self.connect() as sock:
                sock.send(b"P")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.healthy_rounds(1)

    def tiny_chunks(self):
        with self.connect() as sock:
            sock.sendall(head(more=("Transfer-Encoding: chunked",)) + b"1\r\n \r\n" * 200_000 + b"0\r\n\r\n")
            assert sock.recv(1 << 16).startswith(b"HTTP/1.1 400")


def attacks(binary, folder):
    daemon = Daemon(binary, folder, "--durability", "none", template=None).start()
    try:
        for table in (TABLE, BIG):
            daemon.dynamodb("CreateTable", TableName=table, BillingMode="PAY_PER_REQUEST",
                            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}])
        for i in range(ITEMS):
            daemon.dynamodb("PutItem", TableName=BIG, Item={"id": {"S": str(i)}, "x": {"S": "x" * ITEM_BYTES}})
        healthy = HealthyClient(daemon)
        attack = Attack(daemon, healthy)
        rest = memory(daemon, "VmRSS")
        try:
            for what in (attack.slow_senders, attack.large_bodies, attack.bombs, attack.hang_ups, attack.takes_nothing,
                         attack.garbage_behind_good_requests, attack.resets, attack.tiny_chunks):
                what()
                peak = memory(daemon, "VmHWM") - rest
                print(f"{what.__name__}: {peak >> 20} MiB more at most; {healthy.rounds} rounds of the healthy client, the "
                      f"slowest in {healthy.slowest * 1000:.0f} ms", flush=True)
                assert peak <= MAX_PEAK, f"{what.__name__}: memory was {peak} bytes more than at rest"
            last = settled(daemon, rest + MAX_GROWTH)
        except AssertionError:
            healthy.stopping.set()
            raise
        healthy.stop()
        print(f"memory {rest >> 20} -> {last >> 20} MiB")
        assert last <= rest + MAX_GROWTH, f"memory grew from {rest} to {last} bytes"
        assert daemon.stop() == 0, daemon.log_tail()
    finally:
        daemon.kill()


if __name__ == "__main__":
    main(__doc__, "nobody else noticed", attacks)
