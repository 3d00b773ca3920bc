"""What hostile programs have in common. They run in a box, with the model at a port and the judge at a socket."""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import urllib.parse

HOST = urllib.parse.urlparse(os.environ["OPENAI_BASE_URL"])
JUDGE = "/kb/judge.sock"
CANDIDATE = r"""@CANDIDATE@"""


def check(holds, what):
    """Its exit code, 7, and its last line tell that the program gained something, or broke what others need."""
    if not holds:
        print(f"GAINED: {what}")
        sys.exit(7)


def body_of(text="hello", **members):
    return json.dumps({"model": "any", "messages": [{"role": "user", "content": text}], **members}).encode()


def request(body, path="/v1/chat/completions", headers=(), method="POST", host="model", keep=False):
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body)}", *([] if keep else ["Connection: close"]), *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def connect(timeout=60):
    return socket.create_connection((HOST.hostname, HOST.port), timeout)


def told(connection, most=1 << 20):
    """What comes until the end; as much as there is if the connection is reset."""
    got = b""
    try:
        while len(got) < most and (piece := connection.recv(1 << 16)):
            got += piece
    except OSError:
        pass
    return got


def send(raw, timeout=60):
    """What is answered to these bytes within that time, or until the connection ends."""
    with connect(timeout) as connection:
        try:
            connection.sendall(raw)
        except OSError:
            pass
        return told(connection)


def statuses(answer):
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+)", answer)]


def ask(body, **how):
    """Status and body."""
    answer = send(request(body, **how))
    return (statuses(answer) or [0])[0], answer.partition(b"\r\n\r\n")[2]


def check_model():
    status, said = ask(body_of())
    check(status == 200, f"the model answers no more: {status} {said[:200]}")


def judge(line):
    """What the judge says to a line."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(120)
        try:
            connection.connect(JUDGE)
            connection.sendall(line if isinstance(line, bytes) else line.encode() + b"\n")
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return told(connection).decode(errors="replace")


def submit():
    pathlib.Path("/task/kernel.cpp").write_text(CANDIDATE)
    subprocess.run(["judge", "submit", "kernel.cpp"], check=True)
