import contextlib
import json
import os
import pathlib
import socket
import threading

from program import JUDGE, check, check_model, judge, submit

check_model()
SOCKETS = sorted(str(path) for path in pathlib.Path("/kb").rglob("*") if path.is_socket())
check(SOCKETS == ["/kb/judge.sock", "/kb/model.sock"], f"there are more sockets: {SOCKETS}")
for path in ("@SOCKET@", "@STORE@", "/kb/../kb/other.sock", "\0kernelbench", "/run/docker.sock", f"/proc/{os.getppid()}/root/tmp/judge.sock"):
    with socket.socket(socket.AF_UNIX) as other, contextlib.suppress(OSError, ValueError):
        other.connect(path)
        check(False, f"{path!r} can be called")


def call(name, arguments, number=1):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}})


def works():
    said = judge("best")
    check(said.startswith(("ok", "error")), f"the judge answers no more: {said[:200]!r}")


BROKEN = [
    b'{"jsonrpc":"2.0"', b"{", b"{}\n" * 1000, b"[" * 1_000_000 + b"\n", b'{"a":' * 100_000 + b"\n", b"\xff\xfe\x00\n", b"\n" * 100_000, b"x" * (3 << 20), b"{" + b"x" * (3 << 20) + b"\n",
    b'{"jsonrpc":"2.0","id":' + b"9" * 100_000 + b',"method":"tools/list"}\n', b'{"jsonrpc":"2.0","id":1e999,"method":"tools/list"}\n', b'{"jsonrpc":"2.0","id":"' + b"i" * 900_000 + b'","method":"tools/list"}\n',
    b'{"jsonrpc":"2.0","id":{"a":[]},"method":"tools/list"}\n', b'{"jsonrpc":"2.0","id":-9223372036854775809,"method":"tools/list"}\n', b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}\n',
    b'[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]\n', b'{"jsonrpc":"2.0","id":1,"method":7}\n', b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":{},"arguments":3}}\n', b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}\n',
]
for number, raw in enumerate(BROKEN):
    said = judge(raw)
    check("root:" not in said, f"broken call {number} read a file")
    works()
for name in ("evaluate", "submit", "compile", "bash", "write_file", "../submit", "", "x" * 10_000):
    for path in ("/etc/passwd", "../../etc/passwd", "/proc/self/environ", "/kb/judge.sock", "@SECRET@", "a" * 100_000, "/dev/zero", "missing.py", "."):
        for arguments in ({"path": path}, {"solution_path": path}, {"path": path, "problem": "1/1", "device": "cuda:7", "protocol": "/etc/passwd"}):
            said = judge(call(name, arguments) + "\n")
            check("root:" not in said and "hidden-" not in said, f"{name} of {path[:40]} shows what lies outside")
        check(not judge(f"{name} {path}").startswith("ok"), f"{name} {path[:40]} was made")
works()

# Connections that say nothing: those that speak are told that there are too many, and later are not.
silent = []
with contextlib.suppress(OSError):
    for _ in range(200):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(1)
        silent.append(connection)
        connection.connect(JUDGE)
for connection in silent:
    connection.close()
for _ in range(100):
    if judge("best").startswith("error\nthe") or "nothing" in judge("best"):
        break
works()

# What counts is what was submitted first.
submit()
pathlib.Path("/task/wrong.cpp").write_text('#include <kernelbench/kernel.h>\nint kb_forward(const kb_call*) { return 0; }\n')
pathlib.Path("/task/kernel.cpp").write_text('#include <kernelbench/kernel.h>\nint kb_forward(const kb_call*) { return 0; }\n')


def again(count):
    for number in range(count):
        judge("submit wrong.cpp" if number % 2 else call("submit", {"solution_path": "wrong.cpp"}, number) + "\n")


threads = [threading.Thread(target=again, args=(125,), daemon=True) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(20)
