#!/usr/bin/env python3
"""An OpenAI-compatible server that answers from a script: what a problem's model says first, then, and so on.

    server.py SCRIPT.json [--port 0]      prints the port that it listens on

SCRIPT.json: {"the reference, 1/19": ["first answer", "second answer"]}. A request is answered by the entry whose name its first user message holds; which answer it gets says how many answers the request
holds already. The last one is repeated.
"""

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def text_of(content):
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def reply(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply({"object": "list", "data": [{"id": "scripted", "object": "model", "created": 1, "owned_by": "tests"}]})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        messages = request["messages"]
        asked = text_of(next(message["content"] for message in messages if message["role"] == "user"))
        answers = next((answers for name, answers in self.server.script.items() if name in asked), None)
        if answers is None:
            return self.reply({"error": {"message": "the script knows no such problem", "type": "invalid_request_error"}}, 400)
        turn = sum(message["role"] == "assistant" for message in messages)
        text = answers[min(turn, len(answers) - 1)]
        usage = {"prompt_tokens": len(asked) // 4, "completion_tokens": len(text) // 4, "total_tokens": len(asked) // 4 + len(text) // 4}
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        self.reply({"id": "answer", "object": "chat.completion", "created": 1, "model": request["model"], "choices": [choice], "usage": usage})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("script")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    with open(options.script) as file:
        server.script = json.load(file)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
