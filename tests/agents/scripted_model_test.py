#!/usr/bin/env python3
"""The scripted model by itself: small clients that speak its wires as they should be spoken, and as they should not."""

import json
import pathlib
import sys
import tempfile
import threading
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from scripted_model import ScriptedModel, read_script  # noqa: E402

DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy does not know this machine's ports
SCHEMA = {"type": "object"}
TURNS = [
    {"reasoning": "hm", "text": "I look", "calls": [{"name": "bash", "arguments": {"command": "ls"}}, {"name": ["view", "read_file"], "arguments": {"path": "TASK.md"}}]},
    {"text": "a word without a call"},
    {"calls": [{"name": "submit", "arguments": {"solution_path": "kernel.cpp"}}]},
    {"text": "done"},
]


def post(model, path, body):
    """(bytes, whether they are a stream)."""
    request = urllib.request.Request(model.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with DIRECT.open(request, timeout=60) as answer:
        return answer.read(), answer.headers["Content-Type"] == "text/event-stream"


def events(data):
    return [json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: ") and line != "data: [DONE]"]


class ChatClient:
    path = "/chat/completions"

    def __init__(self, task):
        self.messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": task}]

    def body(self, tools):
        return {"model": "m", "messages": self.messages, "tools": [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in tools]}

    def take(self, data, streamed):
        """The calls: [(id, name, arguments)]."""
        if streamed:
            message = {"role": "assistant", "content": "", "reasoning_content": "", "tool_calls": []}
            for event in events(data):
                for choice in event["choices"]:
                    delta = choice["delta"]
                    message["content"] += delta.get("content") or ""
                    message["reasoning_content"] += delta.get("reasoning_content") or ""
                    for piece in delta.get("tool_calls", []):
                        if piece["index"] == len(message["tool_calls"]):
                            message["tool_calls"].append({key: piece[key] for key in ("id", "type", "function")})
                        else:
                            message["tool_calls"][piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]
            message = {key: value for key, value in message.items() if value or key == "content"}
        else:
            message = json.loads(data)["choices"][0]["message"]
        self.messages.append(message)
        return [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in message.get("tool_calls", [])]

    def give(self, results, text=""):
        self.messages += [{"role": "tool", "tool_call_id": call_id, "content": result} for call_id, result in results]
        self.messages += [{"role": "user", "content": text}] if text else []


class MessagesClient:
    path = "/messages"

    def __init__(self, task):
        self.messages = [{"role": "user", "content": [{"type": "text", "text": task}]}]

    def body(self, tools):
        marked = json.loads(json.dumps(self.messages))
        marked[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        return {"model": "m", "max_tokens": 100, "system": "be brief", "messages": marked, "tools": [{"name": name, "input_schema": SCHEMA} for name in tools]}

    def take(self, data, streamed):
        if streamed:
            blocks, inputs = [], {}
            for event in events(data):
                if event["type"] == "content_block_start":
                    blocks.append(dict(event["content_block"]))
                elif event["type"] == "content_block_delta":
                    delta = event["delta"]
                    if delta["type"] == "input_json_delta":
                        inputs[event["index"]] = inputs.get(event["index"], "") + delta["partial_json"]
                    else:
                        key = next(key for key in ("text", "thinking", "signature") if key in delta)
                        blocks[event["index"]][key] += delta[key]
            for index, text in inputs.items():
                blocks[index]["input"] = json.loads(text)
        else:
            blocks = json.loads(data)["content"]
        self.messages.append({"role": "assistant", "content": blocks})
        return [(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]

    def give(self, results, text=""):
        content = [{"type": "tool_result", "tool_use_id": call_id, "content": result} for call_id, result in results]
        self.messages.append({"role": "user", "content": content + ([{"type": "text", "text": text}] if text else [])})


class ResponsesClient:
    path = "/responses"

    def __init__(self, task):
        self.items = [{"role": "user", "content": task}]

    def body(self, tools):
        return {"model": "m", "store": False, "instructions": "be brief", "input": self.items,
                "tools": [{"type": "function", "name": name, "parameters": SCHEMA} for name in tools]}

    def take(self, data, streamed):
        if streamed:
            items = [event["item"] for event in events(data) if event["type"] == "response.output_item.done"]
            self.last = events(data)[-1]["response"]
            assert self.last["output"] == items
        else:
            items = json.loads(data)["output"]
        self.items += items
        return [(i["call_id"], i["name"], json.loads(i["arguments"])) for i in items if i["type"] == "function_call"]

    def give(self, results, text=""):
        self.items += [{"type": "function_call_output", "call_id": call_id, "output": result} for call_id, result in results]
        self.items += [{"role": "user", "content": text}] if text else []


CLIENTS = (ChatClient, MessagesClient, ResponsesClient)
TOOLS = ["bash", "read_file", "submit"]


def ask(model, client, streamed=True, tools=TOOLS):
    return client.take(*post(model, client.path, {**client.body(tools), "stream": streamed}))


def converse(model, client, streamed=True, turns=len(TURNS)):
    """All calls, by turn."""
    made = []
    for _ in range(turns):
        calls = ask(model, client, streamed)
        made.append(calls)
        client.give([(call_id, f"result of {name}") for call_id, name, _ in calls], "" if calls else "go on")
    return made


class ScriptedModelTest(unittest.TestCase):
    def test_plays_its_turns_on_every_wire_streamed_and_whole(self):
        for client in CLIENTS:
            for streamed in (True, False):
                with self.subTest(client.__name__, streamed=streamed), ScriptedModel({"turns": TURNS}) as model:
                    made = converse(model, client("make it fast"), streamed)
                    self.assertEqual([[(name, arguments) for _, name, arguments in calls] for calls in made],
                                     [[("bash", {"command": "ls"}), ("read_file", {"path": "TASK.md"})], [], [("submit", {"solution_path": "kernel.cpp"})], []])
                    report = model.report()
                    self.assertEqual(report["violations"], [])
                    self.assertEqual((report["requests"], report["continued"], report["prefix_kept"]), (4, 3, 3))
                    self.assertEqual([result for _, _, result in model.results()], ["result of bash", "result of read_file", "result of submit"])

    def test_speaks_gemini(self):
        with ScriptedModel({"turns": TURNS}) as model:
            contents = [{"role": "user", "parts": [{"text": "make it fast"}]}]
            body = {"contents": contents, "tools": [{"functionDeclarations": [{"name": name} for name in TOOLS]}]}
            first = json.loads(post(model, "beta/models/m:generateContent", body)[0])["candidates"][0]["content"]
            self.assertEqual([part["functionCall"]["name"] for part in first["parts"] if "functionCall" in part], ["bash", "read_file"])
            answers = [{"functionResponse": {"id": p["functionCall"]["id"], "name": p["functionCall"]["name"], "response": {}}} for p in first["parts"] if "functionCall" in p]
            contents += [first, {"role": "user", "parts": answers}]
            data, streamed = post(model, "beta/models/m:streamGenerateContent?alt=sse", body)
            self.assertTrue(streamed)
            self.assertEqual(events(data)[0]["candidates"][0]["content"]["parts"], [{"text": "a word without a call"}])
            self.assertEqual((model.report()["violations"], model.report()["prefix_kept"]), ([], 1))

    def test_goes_on_where_a_conversation_is_whoever_asks(self):
        with ScriptedModel({"turns": TURNS}) as model:
            client = ChatClient("make it fast")
            converse(model, client, turns=2)
            first, again = ask(model, client), None
            client.messages.pop()  # its answer was lost
            again = ask(model, client)
            self.assertEqual(first, again)
            self.assertEqual(model.report()["repeated"], 1)
            self.assertEqual(model.report()["violations"], [])

    def test_plays_episodes_side_by_side(self):
        def one(i):
            return {"match": f"problem {i};", "turns": [{"calls": [{"name": "bash", "arguments": {"command": f"echo {i}"}}]}]}

        with ScriptedModel({"episodes": [one(i) for i in range(8)]}) as model:
            made = {}

            def play(i):
                made[i] = converse(model, CLIENTS[i % 3](f"problem {i}; make it fast"), turns=5)

            threads = [threading.Thread(target=play, args=(i,)) for i in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for i in range(8):
                self.assertEqual([calls[0][2]["command"] for calls in made[i]], [f"echo {i}"] * 5)
                self.assertEqual([calls[0][0] for calls in made[i]], [f"call_{turn}_0" for turn in range(5)])
            self.assertEqual((model.report()["violations"], model.report()["prefix_kept"]), ([], 8 * 4))

    def test_sums_up_and_goes_on_after_it(self):
        with ScriptedModel({"turns": TURNS}) as model:
            client = ChatClient("make it fast")
            converse(model, client, turns=2)
            client.messages[-1]["content"] = "Summarise what you did."
            ask(model, client)
            summary = client.messages[-1]["content"]
            later = ChatClient("make it fast\n" + summary)
            self.assertEqual([name for _, name, _ in ask(model, later)], ["submit"])

    def test_finds_what_is_wrong_with_a_conversation(self):
        def without_result(client):
            client.messages.pop()

        def swapped(client):
            client.messages[-1], client.messages[-2] = client.messages[-2], client.messages[-1]

        def forged(client):
            client.messages[-3]["tool_calls"][0]["function"]["arguments"] = '{"command": "rm"}'

        for spoil, said in ((without_result, "where those of"), (swapped, "where those of"), (forged, "came back as another call")):
            with self.subTest(spoil.__name__), ScriptedModel({"turns": TURNS}) as model:
                client = ChatClient("make it fast")
                converse(model, client, turns=1)
                spoil(client)
                ask(model, client)
                self.assertIn(said, "; ".join(model.report()["violations"]))
        with ScriptedModel({"turns": TURNS}) as model:
            client = ChatClient("make it fast")
            converse(model, client, turns=1)
            ask(model, client, tools=["bash"])
            self.assertIn("the tools are others", model.report()["violations"][0])
        with ScriptedModel({"turns": TURNS}) as model:
            client = ResponsesClient("make it fast")
            converse(model, client, turns=1)
            client.items = [item for item in client.items if item.get("type") != "function_call_output"]
            post(model, client.path, {**client.body(["bash", "read_file", "submit"]), "store": True})
            self.assertIn("store is not false", model.report()["violations"][0])
            self.assertEqual(len(model.report()["violations"]), 2)

    def test_finds_a_secret_in_what_was_sent(self):
        with ScriptedModel({"turns": TURNS}, secrets=["sk-hidden"]) as model:
            client = ChatClient("make it fast")
            client.give([(call_id, "sk-hidden") for call_id, _, _ in ask(model, client)])
            self.assertEqual(model.report()["violations"], [])
            ask(model, client)
            self.assertEqual(model.report()["violations"], ["a secret was sent"])

    def test_counts_a_conversation_that_begins_otherwise(self):
        with ScriptedModel({"turns": TURNS}) as model:
            client = MessagesClient("make it fast")
            converse(model, client, turns=2)
            client.messages[2]["content"][0]["content"] = "(shortened)"
            converse(model, client, turns=2)
            self.assertEqual((model.report()["continued"], model.report()["prefix_kept"]), (3, 2))

    def test_faults(self):
        turns = [{"text": "so", "fault": {"status": 429, "retry_after": 7, "times": 2}}, {"text": "x" * 1000, "fault": {"cut": True}}, {"text": "y", "fault": {"garbage": True}}]
        for client in CLIENTS:
            with self.subTest(client.__name__), ScriptedModel({"turns": turns}) as model:
                client = client("make it fast")
                for _ in range(2):
                    with self.assertRaises(urllib.error.HTTPError) as refused:
                        ask(model, client)
                    self.assertEqual((refused.exception.code, refused.exception.headers["Retry-After"]), (429, "7"))
                    refused.exception.close()
                ask(model, client)
                client.give([], "go on")
                data, _ = post(model, client.path, {**client.body(TOOLS), "stream": True})
                self.assertNotIn(b"[DONE]", data)
                self.assertNotIn(b"stop", data.splitlines()[-2])
                ask(model, client)
                client.give([], "go on")
                data, _ = post(model, client.path, {**client.body(TOOLS), "stream": True})
                self.assertIn(b"it works", data)
                self.assertEqual((model.report()["refused"], model.report()["answered"]), (4, 2))

    def test_reads_scripts_of_every_kind(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        folder = pathlib.Path(directory.name)
        (folder / "script.toml").write_text('[[turns]]\ntimes = 2\ntext = { "$bytes" = 70000 }\n[[turns]]\n'
                                            'calls = [{ name = "bash", raw = "{broken" }, { name = "write_file", arguments = { content = { "$file" = "test" } } }]\n')
        (folder / "script.json").write_text(json.dumps({"turns": TURNS}))
        (folder / "script.py").write_text("def turn(task, number):\n    return {'text': f'{len(task)} {number}'}\n")
        turn, _ = read_script(folder / "script.toml")
        with ScriptedModel(turn) as model:
            client = ChatClient("make it fast")
            for _ in range(2):
                ask(model, client)
                self.assertEqual(client.messages[-1]["content"], "x" * 70000)
                client.give([], "go on")
            data, _ = post(model, client.path, client.body(TOOLS))
            broken, file = [call["function"]["arguments"] for call in json.loads(data)["choices"][0]["message"]["tool_calls"]]
            self.assertEqual(broken, "{broken")
            self.assertIn("#!/usr/bin/env bash", json.loads(file)["content"])
        self.assertEqual(read_script(folder / "script.json")[0]("", 0), TURNS[0])
        self.assertEqual(read_script(folder / "script.py")[0]("task", 3), {"text": "4 3"})


if __name__ == "__main__":
    unittest.main()
