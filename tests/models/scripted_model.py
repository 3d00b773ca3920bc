"""A model that is a function, behind a real HTTP server in the style of OpenAI's chat completions.

    with ScriptedModel(answer) as model:      # answer(messages, request) -> text
        ... --model vllm:scripted@{model.url}
"""

import http.server
import json
import threading
import time


class ScriptedModel:
    def __init__(self, answer, seconds=0.0, tokens_per_byte=0.25):
        self.answer, self.seconds, self.tokens_per_byte = answer, seconds, tokens_per_byte
        self.delivered = []  # messages of each request whose answer was sent whole
        self.asked = 0
        self.lock = threading.Lock()

    def __enter__(self):
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with model.lock:
                    model.asked += 1
                text = model.answer(request["messages"], request)
                time.sleep(model.seconds)
                count = lambda t: max(1, round(len(t.encode()) * model.tokens_per_byte))
                usage = {"prompt_tokens": sum(count(m["content"]) for m in request["messages"]), "completion_tokens": count(text)}
                try:
                    self.stream(text, usage)
                except (BrokenPipeError, ConnectionResetError):
                    return  # whoever asked was killed
                with model.lock:
                    model.delivered.append(request["messages"])

            def stream(self, text, usage):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                for i in range(0, len(text), 200):
                    self.event({"choices": [{"index": 0, "delta": {"content": text[i : i + 200]}}]})
                self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
                self.event({"choices": [], "usage": usage})
                self.wfile.write(b"data: [DONE]\n\n")
                self.close_connection = True

            def event(self, value):
                self.wfile.write(b"data: " + json.dumps({"model": "scripted-1", **value}).encode() + b"\n\n")
                self.wfile.flush()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
