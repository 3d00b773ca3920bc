"""HTTP/1.1 over a Unix socket or TCP, one request a connection: what the standard library has for asyncio is streams."""

import asyncio
import os
import pathlib
import socket
import ssl
import urllib.parse
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

_CONNECT_S = 30.0
# A machine that is gone without a word is noticed after a minute and a half, however long the answer may take.
_KEEP_ALIVE = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)] + [
    (socket.IPPROTO_TCP, getattr(socket, name), value) for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 6)) if hasattr(socket, name)]
_MOST_HEADERS = 100
_MOST_BODY = 256 << 20  # bytes


class Lost(Exception):
    """There is no whole answer: no connection, or it ended before the answer did."""


class Garbled(Exception):
    """What answered does not speak HTTP."""


@dataclass(frozen=True)
class Address:
    """Where a service listens. `socket` is the path of a Unix socket, empty for TCP."""

    socket: str
    host: str = "localhost"
    port: int = 80
    tls: bool = False
    prefix: str = ""

    def __str__(self) -> str:
        return f"unix://{self.socket}" if self.socket else f"http{'s' if self.tls else ''}://{self.host}:{self.port}{self.prefix}"


def address_of(url: str | None, path: str | os.PathLike[str] | None) -> Address:
    """Of what is given; else KERNELBENCH_URL; else the socket beside the store, as the commands find it."""
    if url and path:
        raise ValueError("give url or socket, not both")
    if path:
        return Address(os.fspath(path))
    url = url or os.environ.get("KERNELBENCH_URL") or f"unix://{_socket_of_store()}"
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "unix" and parts.path:
        return Address(parts.netloc + parts.path)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError(f"{url!r} is no address of a service: give http://HOST:PORT, https://HOST or unix:///PATH")
    tls = parts.scheme == "https"
    return Address("", parts.hostname, parts.port or (443 if tls else 80), tls, parts.path.rstrip("/"))


def _socket_of_store() -> pathlib.Path:
    store = os.environ.get("KERNELBENCH_STORE")
    data = os.environ.get("XDG_DATA_HOME") or pathlib.Path(os.environ.get("HOME") or ".") / ".local" / "share"
    path = pathlib.Path(store) if store else pathlib.Path(data) / "kernelbench" / "evaluations.sqlite"
    return path.absolute().with_suffix(".sock")


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    _reader: asyncio.StreamReader

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, as it comes."""
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            while size := await self._chunk_size():
                yield await self._reader.readexactly(size)
                await self._reader.readexactly(2)
        elif "content-length" in self.headers:
            left = _number(self.headers["content-length"], 10)
            while left:
                part = await self._reader.read(min(left, 1 << 16))
                if not part:
                    raise Lost("the connection ended before the answer did")
                left -= len(part)
                yield part
        else:
            while part := await self._reader.read(1 << 16):
                yield part

    async def _chunk_size(self) -> int:
        line = await self._reader.readuntil(b"\n")
        return _number(line.split(b";")[0].decode("ascii", "replace").strip(), 16)

    async def body(self) -> bytes:
        parts, size = [], 0
        async for part in self.chunks():
            parts.append(part)
            size += len(part)
            if size > _MOST_BODY:
                raise Garbled(f"the answer has more than {_MOST_BODY >> 20} MiB")
        return b"".join(parts)


def _number(text: str, base: int) -> int:
    try:
        number = int(text, base)
    except ValueError:
        number = -1
    if not 0 <= number <= _MOST_BODY:
        raise Garbled(f"{text[:40]!r} is no length of a body")
    return number


async def _read_head(reader: asyncio.StreamReader) -> Answer:
    first = (await reader.readuntil(b"\n")).decode("latin-1").split(" ", 2)
    if not first[0].startswith("HTTP/1.") or len(first) < 2 or not first[1].isdigit():
        raise Garbled("it does not speak HTTP/1.1")
    headers: dict[str, str] = {}
    for _ in range(_MOST_HEADERS):
        line = (await reader.readuntil(b"\n")).decode("latin-1").strip()
        if not line:
            return Answer(int(first[1]), headers, reader)
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    raise Garbled("it sends too many headers")


class Exchange:
    """`async with Exchange(...) as answer`: the head of the answer has come, its body is read from it. Leaving closes the connection."""

    def __init__(self, address: Address, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> None:
        self._address, self._body = address, body
        self._writer: asyncio.StreamWriter | None = None
        host = f"[{address.host}]" if ":" in address.host else address.host
        default = address.socket or address.port == (443 if address.tls else 80)
        lines = [f"{method} {address.prefix}{target} HTTP/1.1", f"Host: {host}" if default else f"Host: {host}:{address.port}", "Connection: close",
                 *(f"{name}: {value}" for name, value in headers.items())]
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        self._head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    async def __aenter__(self) -> Answer:
        try:
            return await self._ask()
        except BaseException:
            await self.__aexit__()
            raise

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        address = self._address
        if address.socket:
            return await asyncio.open_unix_connection(address.socket)
        reader, writer = await asyncio.open_connection(address.host, address.port, ssl=ssl.create_default_context() if address.tls else None)
        connection = writer.get_extra_info("socket")
        for level, option, value in _KEEP_ALIVE:
            connection.setsockopt(level, option, value)
        return reader, writer

    async def _ask(self) -> Answer:
        try:
            reader, writer = await asyncio.wait_for(self._connect(), _CONNECT_S)
            self._writer = writer
        except asyncio.TimeoutError:
            raise Lost(f"no connection in {_CONNECT_S:.0f} s") from None
        except ssl.SSLCertVerificationError as error:
            raise Garbled(f"its certificate is not trusted: {error.verify_message}") from None
        except OSError as error:
            raise Lost(error.strerror or str(error)) from None
        try:
            writer.write(self._head)
            if self._body:
                writer.write(self._body)
            await writer.drain()
        except OSError:
            pass  # it may have refused the request before it had read it whole
        try:
            return await _read_head(reader)
        except (OSError, asyncio.IncompleteReadError):
            raise Lost("the connection ended before the answer came") from None
        except asyncio.LimitOverrunError:
            raise Garbled("a header is too long") from None

    async def __aexit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.transport.abort()
