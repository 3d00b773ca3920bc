import contextlib
import socket

from program import HOST, body_of, check, check_model, connect, request, statuses, submit, told

GIB = 1 << 30
PIECE = b" " * (1 << 20)


def pour(head, frame=lambda piece: piece):
    """How many bytes of 1 GiB were taken, and the status."""
    taken = 0
    with connect() as connection:
        with contextlib.suppress(OSError):
            connection.sendall(head)
            while taken < GIB:
                connection.sendall(frame(PIECE))
                taken += len(PIECE)
        return taken, (statuses(told(connection)) or [0])[0]


HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
taken, status = pour(HEAD + b"Content-Length: 1073741824\r\n\r\n")
check(status in (0, 413), f"a body of 1 GiB gave {status}")
taken, status = pour(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", lambda piece: b"100000\r\n" + piece + b"\r\n")
check(status in (0, 413), f"chunks of 1 GiB gave {status}")
check(taken < GIB or status == 413, "1 GiB was taken")
check_model()

# Bodies that never end, and heads byte by byte: those of others are read meanwhile.
slow = [connect() for _ in range(60)]
for number, connection in enumerate(slow):
    with contextlib.suppress(OSError):
        connection.sendall(HEAD + b"Content-Length: 1000000\r\n\r\n{" if number % 2 else b"P")
for _ in range(20):
    for connection in slow:
        with contextlib.suppress(OSError):
            connection.sendall(b"O")
    check_model()
for connection in slow:
    connection.close()

# More connections than there are places: those that have one stay, and there are places again afterwards.
many = []
with contextlib.suppress(OSError):
    for _ in range(1000):
        connection = socket.socket()
        connection.settimeout(1)
        many.append(connection)
        connection.connect((HOST.hostname, HOST.port))
check(len(many) > 100, "there are too few connections to be a flood")
for connection in many:
    connection.close()
check_model()

# Answers that nobody reads.
unread = []
for _ in range(100):
    connection = connect()
    with contextlib.suppress(OSError):
        connection.sendall(request(body_of(stream=True), keep=True) * 20)
    unread.append(connection)
for connection in unread:
    connection.close()
check_model()
submit()
