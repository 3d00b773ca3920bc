"""The real `kernelbench serve`, and a proxy before it that has the faults of a network."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import socketserver
import subprocess
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("KERNELBENCH_BINARY", ROOT / "build" / "dev" / "bin" / "kernelbench")).resolve()
RIGHT = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x.clamp(min=0)\n"
WRONG = RIGHT.replace("x.clamp(min=0)", "x.abs()")
# A verdict without a speedup; who did the work is found out on a busy machine, too.
QUICK = {"size": "small", "protocol": "quick", "keys": {"measure": False, "profile_ms": 300}}


class Service:
    """On a store and a port of its own; another one may be started on them when it has ended."""

    def __init__(self, *flags):
        self.flags = flags
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="kernelbench-clients."))
        self.environment = {**os.environ, "KERNELBENCH_STORE": str(self.root / "store.db"), "NO_COLOR": "1"}
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        self.url, self.socket, self.process = f"http://127.0.0.1:{self.port}", self.root / "store.sock", None
        self.token = self.new_token("tester", "judge,admin", 10_000)
        self.start()

    def new_token(self, name, rights="judge", queued=10_000):
        arguments = [BINARY, "token", "add", name, "--rights", rights, "--queued", str(queued)]
        return subprocess.run(arguments, env=self.environment, capture_output=True, text=True, check=True).stdout.strip()

    def start(self):
        arguments = [BINARY, "serve", "--listen", f"127.0.0.1:{self.port}", *self.flags]
        self.process = subprocess.Popen(arguments, env=self.environment, stderr=subprocess.PIPE, text=True, start_new_session=True)
        said = self.process.stderr.readline()
        if not re.search(r"http://\S+", said):
            raise RuntimeError(f"the service did not start: {said}{self.process.stderr.read()}")
        threading.Thread(target=self.drain, args=(self.process.stderr,), daemon=True).start()

    @staticmethod
    def drain(stream):
        with stream:
            stream.read()

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(120)

    def close(self):
        if self.process.poll() is None:
            self.end()
        shutil.rmtree(self.root, ignore_errors=True)

    def ask(self, path, body=None):
        """Without the client."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, json.dumps(body).encode() if body is not None else None, headers)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=300) as answer:
            return answer.read().decode()

    def judged(self):
        """How many evaluations have ended since it was started."""
        return sum(float(line.split()[-1]) for line in self.ask("/metrics").splitlines() if line.startswith("kernelbench_evaluations_total"))


def read_message(source):
    """A request or an answer with Content-Length: its first line, its headers, its body."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = source.readline()
        if not byte:
            return None
        head += byte
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return head, source.read(int(length[1])) if length else b""


class Proxy(socketserver.ThreadingTCPServer):
    """Hands requests on to the service, unless the next of `faults` says otherwise: a function that is given (proxy, client's socket, request) and answers, or does not.
    None of the faults: the request is handed on."""

    allow_reuse_address = daemon_threads = True
    request_queue_size = 128

    def __init__(self, service):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.service, self.faults, self.requests, self.lock = service, [], [], threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def forward(self, request):
        """A connection to the service, to which the request was sent."""
        head, body = request
        upstream = socket.create_connection(("127.0.0.1", self.service.port))
        upstream.sendall(re.sub(rb"(?i)\r\nhost: [^\r]*", b"\r\nHost: 127.0.0.1:%d" % self.service.port, head) + body)
        return upstream

    def answer(self, request):
        with self.forward(request) as upstream, upstream.makefile("rb") as source:
            return read_message(source)

    # ---- Faults ----

    @staticmethod
    def says(status, body, headers=""):
        def fault(_proxy, client, _request):
            text = body if isinstance(body, bytes) else json.dumps(body).encode()
            client.sendall(f"HTTP/1.1 {status} Said\r\n{headers}Content-Length: {len(text)}\r\n\r\n".encode() + text)

        return fault

    @staticmethod
    def refuses_for_now(status=503, seconds=1):
        return Proxy.says(status, {"detail": "stopping", "fault": "engine", "retryable": True, "status": status, "title": "", "type": "about:blank"}, f"Retry-After: {seconds}\r\n")

    @staticmethod
    def cuts(_proxy, _client, _request):
        """Before the request reaches the service."""

    @staticmethod
    def cuts_answer(proxy, client, request):
        """In the middle of it: the service has judged."""
        head, body = proxy.answer(request)
        client.sendall(head + body[: len(body) // 2])

    @staticmethod
    def cuts_events(count):
        """After so many of them."""

        def fault(proxy, client, request):
            with proxy.forward(request) as upstream:
                seen = b""
                while seen.count(b"\nevent:") < count and (part := upstream.recv(1 << 16)):
                    seen += part
                    client.sendall(part)

        return fault

    @staticmethod
    def changes(change):
        """The JSON of the answer."""

        def fault(proxy, client, request):
            head, body = proxy.answer(request)
            changed = change(json.loads(body))
            text = changed if isinstance(changed, bytes) else json.dumps(changed).encode()
            client.sendall(re.sub(rb"(?i)content-length: *\d+", b"Content-Length: %d" % len(text), head) + text)

        return fault


class _Handler(socketserver.BaseRequestHandler):
    def handle(self):
        proxy = self.server
        with self.request.makefile("rb") as source:
            request = read_message(source)
        if request is None:
            return
        with proxy.lock:
            proxy.requests.append(request)
            fault = proxy.faults.pop(0) if proxy.faults else None
        try:
            if fault is not None:
                fault(proxy, self.request, request)
                return
            with proxy.forward(request) as upstream:
                while part := upstream.recv(1 << 16):
                    self.request.sendall(part)
        except OSError:
            pass  # the service is gone: so is the connection


def until(holds, seconds=300):
    """Waits for what will hold in so many seconds."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise AssertionError("it does not come")
        time.sleep(0.02)
