"""Socket Mode's end of a websocket, and who sends envelopes: shared between connections, and again until acked."""

from __future__ import annotations

import base64
import hashlib
import heapq
import itertools
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO

Json = dict[str, Any]

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
ATTEMPTS = 4
"""Slack delivers an event once and repeats it three times."""


def accept_key(key: str) -> str:
    """What the server answers to a client's key (RFC 6455)."""
    return base64.b64encode(hashlib.sha1(f"{key}{GUID}".encode()).digest()).decode()


@dataclass(eq=False)
class Connection:
    """One open websocket, seen from the server."""

    socket: socket.socket
    stream: BinaryIO
    number: int
    open: bool = True
    lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, message: Mapping[str, Any]) -> bool:
        """Send JSON; False where the connection is gone."""
        return self._send(TEXT, json.dumps(message).encode())

    def _send(self, opcode: int, data: bytes) -> bool:
        size = len(data)
        head = bytes([0x80 | opcode])
        if size < 126:
            head += bytes([size])
        elif size < 65_536:
            head += b"\x7e" + struct.pack(">H", size)
        else:
            head += b"\x7f" + struct.pack(">Q", size)
        try:
            with self.lock:
                self.socket.sendall(head + data)
        except OSError:
            self.open = False
        return self.open

    def receive(self) -> Json | None:
        """The next message of the client; None once the connection is closed. Answers pings."""
        while True:
            try:
                opcode, data = self._frame()
            except (OSError, struct.error, ValueError):
                return None
            if opcode == TEXT:
                found: Json = json.loads(data)
                return found
            if opcode == PING:
                self._send(PONG, data)
            if opcode == CLOSE:
                self._send(CLOSE, data)
                return None

    def _frame(self) -> tuple[int, bytes]:
        first, second = self.stream.read(2)
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack(">H", self.stream.read(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", self.stream.read(8))
        mask = self.stream.read(4) if second & 0x80 else b"\0\0\0\0"
        data = self.stream.read(size)
        return first & 0x0F, bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))

    def cut(self) -> None:
        """End it without a word, as a lost network does."""
        self.open = False
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)


@dataclass(eq=False)
class Envelope:
    """One delivery of Slack's: of an event, an interaction or a command."""

    id: str
    type: str
    payload: Json
    accepts_response: bool = False
    attempt: int = 0
    """How often it was sent before; -1: not yet."""
    reason: str = ""
    acked: bool = False
    response: Any = None
    """What the ack carried."""
    due: float = 0.0
    connection: Connection | None = None

    @property
    def failed(self) -> bool:
        """Whether it was given up."""
        return not self.acked and self.attempt >= ATTEMPTS

    def as_json(self) -> Json:
        """What goes over the wire."""
        repeated = {"retry_attempt": self.attempt, "retry_reason": self.reason} if self.type == "events_api" else {}
        return {
            "envelope_id": self.id,
            "type": self.type,
            "payload": self.payload,
            "accepts_response_payload": self.accepts_response,
            **repeated,
        }


class SocketHub:
    """Who is connected, and what was sent and not yet acked. An envelope goes to one connection at a time.

    One that is not acked within `ack_seconds`, or whose connection ended, is sent again, `ATTEMPTS` times in all.
    """

    def __init__(self, ack_seconds: float) -> None:
        self.ack_seconds = ack_seconds
        self.envelopes: dict[str, Envelope] = {}
        self.connections: list[Connection] = []
        self.connected = 0
        self.unknown_acks: list[str] = []
        self._turn = itertools.count()
        self._waiting: dict[str, Envelope] = {}
        self._due: list[tuple[float, int, Envelope]] = []
        self._changed = threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(target=self._deliver, daemon=True)

    def start(self) -> None:
        """Begin to deliver."""
        self._thread.start()

    def stop(self) -> None:
        """Deliver nothing more, and end all connections."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        for each in list(self.connections):
            each.cut()
        self._thread.join(timeout=5)

    def send(self, envelope: Envelope) -> Envelope:
        """Take an envelope to deliver, at once if somebody is connected."""
        with self._changed:
            envelope.attempt = -1
            self.envelopes[envelope.id] = self._waiting[envelope.id] = envelope
            self._plan(envelope, 0.0)
            self._changed.notify_all()
        return envelope

    def serve(self, sock: socket.socket, stream: BinaryIO, app: str) -> None:
        """Speak with one client until it leaves."""
        self.connected += 1
        connection = Connection(sock, stream, self.connected)
        with self._changed:
            count = len(self.connections) + 1
            connection.send(
                {
                    "type": "hello",
                    "num_connections": count,
                    "debug_info": {"host": "applink-1", "build_number": 1, "approximate_connection_time": 18_060},
                    "connection_info": {"app_id": app},
                }
            )
            self.connections.append(connection)
            self._changed.notify_all()
        while (message := connection.receive()) is not None:
            self._take_ack(message)
        connection.cut()
        with self._changed:
            self.connections.remove(connection)
            for envelope in self._waiting.values():
                if envelope.connection is connection:
                    envelope.reason = "connection_closed"
                    self._plan(envelope, 0.0)
            self._changed.notify_all()

    def disconnect(self, reason: str = "refresh_requested", *, close: bool = True) -> None:
        """Ask every client to connect anew; with `close` the old connections end, as they soon do."""
        for each in list(self.connections):
            each.send({"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-1"}})
            if close:
                each._send(CLOSE, struct.pack(">H", 1000))

    def settle(self, seconds: float = 10.0) -> bool:
        """Wait until everything was acked or given up; False where that does not happen in time."""
        return self.wait(lambda: not self._waiting, seconds)

    def wait_connected(self, count: int = 1, seconds: float = 10.0) -> bool:
        """Wait until so many clients connected, those that left counted; False where they do not in time."""
        return self.wait(lambda: self.connected >= count and bool(self.connections), seconds)

    def wait(self, condition: Callable[[], bool], seconds: float = 10.0) -> bool:
        """Wait until something is so, looked at after each delivery, ack and connection; False if it is not in time."""
        with self._changed:
            return self._changed.wait_for(condition, seconds)

    def _plan(self, envelope: Envelope, due: float) -> None:
        envelope.due = due
        heapq.heappush(self._due, (due, next(self._turn), envelope))

    def _take_ack(self, message: Json) -> None:
        with self._changed:
            envelope = self.envelopes.get(message.get("envelope_id", ""))
            if envelope is None:
                self.unknown_acks.append(str(message))
                return
            envelope.acked, envelope.response = True, message.get("payload", envelope.response)
            self._waiting.pop(envelope.id, None)
            self._changed.notify_all()

    def _deliver(self) -> None:
        while not self._stopped:
            with self._changed:
                envelope = self._next()
                if envelope is None:
                    continue
                connection = self.connections[next(self._turn) % len(self.connections)]
                envelope.connection = connection
                message = envelope.as_json()
            connection.send(message)

    def _next(self) -> Envelope | None:
        """What is to be sent now; None after a wait in which something may have changed."""
        now = time.monotonic()
        if not self.connections or not self._due or self._due[0][0] > now:
            waits = self._due[0][0] - now if self.connections and self._due else 60.0
            self._changed.wait(waits)
            return None
        due, _, envelope = heapq.heappop(self._due)
        if envelope.acked or due != envelope.due:  # planned anew meanwhile
            return None
        envelope.attempt += 1
        if envelope.failed:
            del self._waiting[envelope.id]
            self._changed.notify_all()
            return None
        if envelope.attempt and not envelope.reason:
            envelope.reason = "timeout"
        self._plan(envelope, now + self.ack_seconds)
        self._changed.notify_all()
        return envelope
