#!/usr/bin/env python3
"""A model with tools that plays a script, behind the wires of chat completions, messages, responses and Gemini.

    scripted_model.py SCRIPT [--port 0] [--report FILE] [--whole]     prints its address

SCRIPT is JSON or TOML: `turns`, a list, or `episodes`, a list of {match, turns}, of which the first whose expression is found in what the model is told plays. A turn:

    text, reasoning                   what it says
    calls = [{name, arguments}]       tools that it calls; of a list of names the first that is offered. `raw` is a text in place of `arguments`. Anywhere in
                                      arguments {"$file" = PATH} is that file's text and {"$bytes" = N} a text of that length
    finish                            "stop" (default), "length", "context", "refused", "paused"
    usage                             {input, cached, output, reasoning}; else bytes / 4, where what was sent before is cached
    delay, pause                      seconds before the answer, and in its middle
    fault = {status = 429, retry_after = 1, times = 2}     so many requests for this turn are refused; or `cut`, `garbage`, `silent` (seconds) in place of `status`
    times                             so many turns in a row are this one

After its end the last turn is repeated. SCRIPT may also be Python: a file with a function turn(task, number) that returns one of these, for scripts that are long.

Which turn is next is read from the conversation: ids of calls are call_TURN_PLACE, and a summary of a conversation says [after turn N]. So episodes run side by side
and go on after a kill. A request without tools, or whose last message matches `condense`, is asked for a summary.

GET /report, and FILE at the end, say what was asked: how many requests and bytes, how many held the same as an earlier one (`repeated`), how many went on after an answer
(`continued`) and of these began with the whole of the request that was answered (`prefix_kept`), and `violations`: results that are missing or not in the shape of the
wire, tools that changed, an answer that came back as another one.
"""

import argparse
import collections
import contextlib
import hashlib
import http.server
import importlib.util
import json
import pathlib
import re
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from wires import Answer, Call, unmarked, wire_of  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
CALL_ID = re.compile(r"call_(\d+)_\d+")
SUMMARY = re.compile(r"\[after turn (\d+)\]")
CONDENSE = r"(?i)\bsummar(y|i[sz]e)\b|\bhistory is nearly\b"
DONE = {"text": "There is nothing more to do."}


# ---- Scripts --------------------------------------------------------------------------------------------------------


def filled(value):
    """With files and long texts in place of what names them."""
    if isinstance(value, list):
        return [filled(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "$file" in value:
        return (ROOT / value["$file"]).read_text()
    if "$bytes" in value:
        return "x" * value["$bytes"]
    return {key: filled(each) for key, each in value.items()}


def unrolled(turns):
    return [turn for turn in turns for _ in range(turn.get("times", 1))] or [DONE]


def player(script):
    """A function of task and number of a turn, counted from 0."""
    episodes = [(re.compile(each["match"]), unrolled(each["turns"])) for each in script.get("episodes", [])]
    default = unrolled(script.get("turns", []))

    def turn(task, number):
        turns = next((turns for match, turns in episodes if match.search(task)), default)
        return turns[min(number, len(turns) - 1)]

    return turn


def read_script(path):
    """The function that plays it, and the script where it is data."""
    path = pathlib.Path(path)
    if path.suffix == ".py":
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.turn, {}
    script = parse_toml(path.read_text()) if path.suffix == ".toml" else json.loads(path.read_text())
    return player(script), script


def parse_toml(text):
    import tomllib  # which Python 3.10 lacks

    return tomllib.loads(text)


def next_turn(entries):
    """How many turns the conversation has had."""
    count = 0
    for entry in entries:
        if entry.kind == "answer":
            numbers = [int(found[1]) for call in entry.calls if (found := CALL_ID.fullmatch(call.id or ""))]
            count = max(numbers, default=count) + 1
        elif entry.kind == "user":
            count = max([count, *(int(number) for number in SUMMARY.findall(entry.text))])
    return count


# ---- What was sent --------------------------------------------------------------------------------------------------


def plain_bytes(value):
    """The same with marks for the cache and without."""
    text = json.dumps(value)
    return (json.dumps(unmarked(value)) if '"cache_control"' in text else text).encode()


def digest(*parts):
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part)
    return whole.digest()


class Ledger:
    """All that was asked and answered. Its owner's lock is held."""

    def __init__(self):
        self.counts = collections.Counter()
        self.violations, self.seen = [], set()  # conversations, by the digest of all that they hold
        self.tools, self.task_of = {}, {}
        self.given = {}  # (task, id): the call
        self.results = {}  # (task, id): what the caller said that it gave
        self.asked = collections.Counter()  # (task, turn)
        self.times = {}  # (task, turn): when it was asked for, and when its answer was sent

    def violation(self, text):
        if text not in self.violations:
            self.violations.append(text)

    def read(self, wire, request, size):
        """The task's digest, and the bytes that an earlier request had as well."""
        self.counts["requests"] += 1
        self.counts["bytes"] += size
        for fault in request.faults:
            self.violation(f"{wire.name}: {fault}")
        entries = request.entries
        first = next((i for i, entry in enumerate(entries) if entry.kind in ("answer", "results")), len(entries))
        raws = [plain_bytes(entry.raw) for entry in entries]
        task = digest(*raws[:first]).hex()[:16]
        self.task_of[task] = "\n".join(entry.text for entry in entries[:first])
        if request.offered and self.tools.setdefault(task, request.tools) != request.tools:
            self.violation(f"{wire.name}: the tools are others than before")
        answers = [i for i, entry in enumerate(entries) if entry.kind == "answer"]
        state, known, known_size, before_last, total = digest(plain_bytes(request.tools)), 0, 0, None, 0
        for i in range(len(entries)):
            if answers and i == answers[-1]:
                before_last = state
            if state in self.seen:
                known, known_size = i, total
            total += len(raws[i])
            state = digest(state, raws[i])
        if answers:
            self.counts["continued"] += 1
            self.counts["prefix_kept"] += before_last in self.seen
        repeated = state in self.seen
        self.counts["repeated"] += repeated
        self.seen.add(state)
        self.check(wire, task, entries, len(entries) if repeated else known)
        return task, known_size

    def check(self, wire, task, entries, known):
        """Each call has its result, right after it, and is what was given. What was seen before was checked before."""
        for i in range(known, len(entries)):
            entry = entries[i]
            before = entries[i - 1] if i else None
            if entry.kind == "results":
                wanted = [call.id for call in before.calls] if before and before.kind == "answer" else []
                got = [call_id for call_id, _ in entry.results]
                if wire.name != "gemini" and got != wanted:
                    self.violation(f"{wire.name}: results of {got} where those of {wanted} are due")
                for call_id, text in entry.results:
                    self.results.setdefault((task, call_id), text)  # which may be shortened later
            elif before and before.kind == "answer" and before.calls:
                self.violation(f"{wire.name}: no results of {[call.id for call in before.calls]}")
            for call in entry.calls:
                given = self.given.get((task, call.id))
                if given and (given.name != call.name or self.plain(given) != self.plain(call)):
                    self.violation(f"{wire.name}: {call.id} came back as another call")
        if entries and entries[-1].kind == "answer":
            self.violation(f"{wire.name}: the last message is the model's own")

    @staticmethod
    def plain(call):
        """Arguments as far as every wire carries them."""
        try:
            value = json.loads(call.arguments)
        except (ValueError, RecursionError):
            return None
        return None if not isinstance(value, dict) or "INVALID_JSON" in value else value

    def report(self):
        names = ("requests", "bytes", "answered", "summaries", "refused", "continued", "prefix_kept", "repeated")
        return {**{name: self.counts[name] for name in names}, "episodes": len(self.task_of), "violations": self.violations}


# ---- The server -----------------------------------------------------------------------------------------------------


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path == "/report":
            return self.send(200, self.server.model.report())
        self.send(200, {"object": "list", "data": [{"id": "scripted", "object": "model", "created": 1, "owned_by": "scripted"}]})

    def do_POST(self):
        self.asked_at = time.monotonic()
        raw = self.read_body()
        wire = wire_of(self.path)
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            body = None
        if wire is None or not isinstance(body, dict):
            return self.send(404 if wire is None else 400, {"error": {"message": "no such path" if wire is None else "the request is no JSON"}})
        # Whoever asked may be killed at any moment.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.server.model.answer(self, wire, body, raw)

    def read_body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def send(self, status, value, headers=()):
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in (("Content-Type", "application/json"), ("Content-Length", str(len(data))), *headers):
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(data)

    def stream(self, events, pause, cut):
        """`cut`: only the first half, and then the connection ends."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        lines = [(f"event: {name}\n" if name else "") + f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n" for name, value in events]
        half = len(lines) // 2
        self.wfile.write("".join(lines[:half]).encode())
        if cut:
            return
        if pause:
            self.wfile.flush()
            time.sleep(pause)
        for start in range(half, len(lines), 64):
            self.wfile.write("".join(lines[start : start + 64]).encode())


class ScriptedModel:
    """A context: the server answers at `url` until its end. `turn` is a function of task and number, or a script."""

    def __init__(self, turn, condense=CONDENSE, whole=False, port=0, secrets=(), key=None):
        self.turn = turn if callable(turn) else player(turn)
        self.condense, self.whole, self.port = re.compile(condense), whole, port
        self.secrets = [secret.encode() for secret in secrets]  # which no request may hold
        self.key = key  # that every request must come with, for this model alone
        self.ledger, self.lock = Ledger(), threading.Lock()

    def __enter__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads, self.server.model = True, self
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def report(self):
        with self.lock:
            return self.ledger.report()

    def results(self):
        """What the tools gave, by task and id of the call: [(task, id, text)]."""
        with self.lock:
            return [(self.ledger.task_of[task], call_id, text) for (task, call_id), text in self.ledger.results.items()]

    def times(self):
        """By turn of the only episode: when it was asked for, and when its answer was sent."""
        with self.lock:
            return {number: times for (_, number), times in self.ledger.times.items()}

    def answer(self, handler, wire, body, raw):
        request, size = wire.read(body, handler.path), len(raw)
        with self.lock:
            if any(secret in raw for secret in self.secrets):
                self.ledger.violation("a secret was sent")
            if self.key is not None:
                self.check_caller(handler, body)
            task, known = self.ledger.read(wire, request, size)
            told = self.ledger.task_of[task]
        number = next_turn(request.entries)
        last = next((entry.text for entry in reversed(request.entries) if entry.kind == "user"), "")
        is_summary = not request.offered or (request.entries[-1].kind == "user" and number > 0 and self.condense.search(last))
        turn = {"text": f"What was done so far. [after turn {number}]"} if is_summary else self.turn(told, number) or DONE
        with self.lock:
            self.ledger.asked[task, number] += 1
            refused = not is_summary and self.ledger.asked[task, number] <= turn.get("fault", {}).get("times", 1)
        time.sleep(turn.get("delay", 0))
        if refused and self.refuse(handler, wire, turn.get("fault", {})):
            return
        answer = self.compose(turn, number, request, body, size, known)
        with self.lock:
            self.ledger.given.update({(task, call.id): call for call in answer.calls})
        cut = refused and "cut" in turn.get("fault", {})
        if request.streamed and not self.whole or cut:
            handler.stream(wire.events(answer), turn.get("pause", 0), cut)
        else:
            handler.send(200, wire.whole(answer))
        with self.lock:
            self.ledger.counts["refused" if cut else "summaries" if is_summary else "answered"] += 1
            if not cut and not is_summary:
                self.ledger.times[task, number] = handler.asked_at, time.monotonic()

    def check_caller(self, handler, body):
        """A program behind a relay decides neither who asks nor whom."""
        given = handler.headers.get_all("Authorization")
        if given != [f"Bearer {self.key}"] or handler.headers.get("x-api-key") or handler.headers.get("Cookie"):
            self.ledger.violation("another key was sent")
        if handler.path != "/v1/chat/completions" or body.get("model") != "scripted" or handler.headers.get("Host") != f"127.0.0.1:{self.server.server_port}":
            self.ledger.violation(f"{handler.path} of {body.get('model')!r} at {handler.headers.get('Host')} was asked")
        for name in ("store", "metadata", "service_tier", "plugins", "web_search_options", "models", "n"):
            if name in body:
                self.ledger.violation(f"{name} was passed on")

    def refuse(self, handler, wire, fault):
        """False: this fault is another one's matter, or none."""
        if not {"status", "garbage", "silent"} & fault.keys():
            return False
        with self.lock:
            self.ledger.counts["refused"] += 1
        if "status" in fault:
            headers = [("Retry-After", str(fault["retry_after"]))] if "retry_after" in fault else ()
            handler.send(fault["status"], wire.error(fault["status"], fault.get("message", "this is part of the script")), headers)
        elif "garbage" in fault:
            handler.send(200, b"\xff\x00 it works!")
        else:
            time.sleep(fault["silent"])
            handler.close_connection = True
        return True

    @staticmethod
    def compose(turn, number, request, body, size, known):
        calls = []
        for place, call in enumerate(turn.get("calls", [])):
            names = call["name"] if isinstance(call["name"], list) else [call["name"]]
            name = next((name for name in names if name in request.offered), names[0])
            arguments = call["raw"] if "raw" in call else json.dumps(filled(call.get("arguments", {})))
            calls.append(Call(f"call_{number}_{place}", name, arguments))
        text, reasoning = filled(turn.get("text", "")), filled(turn.get("reasoning", ""))
        written = len(text) + len(reasoning) + sum(len(call.arguments) for call in calls)
        usage = {"input": size // 4, "cached": min(known, size) // 4, "output": 1 + written // 4, "reasoning": len(reasoning) // 4, **turn.get("usage", {})}
        return Answer(text, reasoning, calls, turn.get("finish", "stop"), usage, body.get("model", "scripted"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("script")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--report", metavar="FILE")
    parser.add_argument("--condense", default=CONDENSE, metavar="REGEX", help="a last message of this kind asks for a summary")
    parser.add_argument("--whole", action="store_true", help="no answer is streamed")
    options = parser.parse_args()
    turn, _ = read_script(options.script)
    with ScriptedModel(turn, options.condense, options.whole, options.port) as model:
        print(model.url, flush=True)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        try:
            signal.pause()
        except KeyboardInterrupt:
            pass
        finally:
            if options.report:
                pathlib.Path(options.report).write_text(json.dumps(model.report(), indent=1) + "\n")


if __name__ == "__main__":
    main()
