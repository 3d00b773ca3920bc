"""How a process in Python talks with the engine."""

import json
import socket
import struct

from . import ops


class Channel:
    """A socket to the engine: length-prefixed JSON and descriptors (src/wire/channel.h)."""

    def __init__(self, fd):
        self._socket = socket.socket(fileno=fd)

    def receive(self):
        """The next message and its descriptors, or None when the engine is gone."""
        fds, head = [], b""
        while len(head) < 4:
            part, more, _, _ = socket.recv_fds(self._socket, 4 - len(head), 32)
            if not part:
                return None
            head, fds = head + part, fds + list(more)
        size, = struct.unpack("<I", head)
        body = bytearray()
        while len(body) < size:
            part = self._socket.recv(size - len(body))
            if not part:
                return None
            body += part
        return json.loads(body), fds

    def close(self):
        self._socket.close()

    def send(self, body, fds=()):
        """`body`: JSON, with objects of dataclasses in it."""
        data = ops.encoded(body)
        data = struct.pack("<I", len(data)) + data
        sent = socket.send_fds(self._socket, [data], list(fds)) if fds else self._socket.send(data)
        self._socket.sendall(data[sent:])
