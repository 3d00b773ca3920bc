"""The languages in which agents ask models: each reads a request into one form and writes answers, whole and streamed."""

import dataclasses
import itertools
import json

PIECE = 16384  # characters of a text in one event of a stream


@dataclasses.dataclass
class Call:
    id: str
    name: str
    arguments: str  # a text that should be JSON


@dataclasses.dataclass
class Entry:
    """One step of a conversation: a text of the caller's, an answer of the model, or results of its calls."""

    kind: str  # "system", "user", "answer", "results"
    raw: list  # as it was sent
    text: str = ""
    calls: list = dataclasses.field(default_factory=list)
    results: list = dataclasses.field(default_factory=list)  # (id of the call, text)


@dataclasses.dataclass
class Request:
    tools: list  # as they were sent
    offered: list  # their names
    entries: list
    streamed: bool
    faults: list  # what a server would refuse, or should not have been sent


@dataclasses.dataclass
class Answer:
    text: str
    reasoning: str
    calls: list
    finish: str  # "stop", "length", "context", "refused", "paused"
    usage: dict  # input (with cached), cached, output, reasoning
    model: str


def text_of(content):
    """Of a text or of a list of parts."""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return content or ""


def pieces(text):
    return [text[i : i + PIECE] for i in range(0, len(text), PIECE)]


def lenient(arguments):
    """An object, for wires that cannot carry anything else."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"INVALID_JSON": arguments}


def add(entries, kind, raw, **more):
    """One entry, or a part of the last one where several items make one."""
    if kind in ("answer", "results") and entries and entries[-1].kind == kind:
        last = entries[-1]
        last.raw.append(raw)
        last.text += more.get("text", "")
        last.calls += more.get("calls", [])
        last.results += more.get("results", [])
    else:
        entries.append(Entry(kind, [raw], **more))


class Chat:
    """POST /chat/completions."""

    name, suffix = "chat", "/chat/completions"
    FINISH = {"stop": "stop", "length": "length", "context": "length", "refused": "content_filter", "paused": "stop"}

    def read(self, body, _path):
        entries, faults = [], []
        for message in body.get("messages") or []:
            role, content = message.get("role"), message.get("content")
            if role in ("system", "developer"):
                add(entries, "system", message, text=text_of(content))
            elif role == "assistant":
                calls = [Call(c.get("id"), c["function"]["name"], c["function"]["arguments"]) for c in message.get("tool_calls") or []]
                if not calls and content is None:
                    faults.append("an answer without calls whose content is null")
                if message.get("tool_calls") == []:
                    faults.append("an empty list of calls")
                if entries and entries[-1].kind == "answer":
                    faults.append("two answers in a row")
                add(entries, "answer", message, text=text_of(content), calls=calls)
            elif role == "tool":
                add(entries, "results", message, results=[(message.get("tool_call_id"), text_of(content))])
            else:
                add(entries, "user", message, text=text_of(content))
        tools = body.get("tools") or []
        faults += [f"a tool that is no function: {tool.get('type')}" for tool in tools if tool.get("type") != "function"]
        return Request(tools, [tool.get("function", {}).get("name") for tool in tools], entries, bool(body.get("stream")), faults)

    def usage(self, used):
        return {"prompt_tokens": used["input"], "completion_tokens": used["output"], "total_tokens": used["input"] + used["output"],
                "prompt_tokens_details": {"cached_tokens": used["cached"]}, "completion_tokens_details": {"reasoning_tokens": used["reasoning"]}}

    def finish(self, answer):
        return "tool_calls" if answer.calls and answer.finish == "stop" else self.FINISH[answer.finish]

    @staticmethod
    def call(call):
        return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}

    def whole(self, answer):
        message = {"role": "assistant", "content": answer.text or (None if answer.calls else "")}
        if answer.reasoning:
            message["reasoning_content"] = answer.reasoning
        if answer.calls:
            message["tool_calls"] = [self.call(call) for call in answer.calls]
        return {"id": "chatcmpl-0", "object": "chat.completion", "created": 1, "model": answer.model,
                "choices": [{"index": 0, "message": message, "finish_reason": self.finish(answer)}], "usage": self.usage(answer.usage)}

    def events(self, answer):
        def chunk(**delta):
            return None, {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 1, "model": answer.model,
                          "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}

        yield chunk(role="assistant", content="")
        for piece in pieces(answer.reasoning):
            yield chunk(reasoning_content=piece)
        for piece in pieces(answer.text):
            yield chunk(content=piece)
        for index, call in enumerate(answer.calls):
            yield chunk(tool_calls=[{"index": index, **self.call(dataclasses.replace(call, arguments=""))}])
        # The arguments of all calls in turn, as some servers send them.
        for row in itertools.zip_longest(*(pieces(call.arguments) for call in answer.calls)):
            for index, piece in enumerate(row):
                if piece is not None:
                    yield chunk(tool_calls=[{"index": index, "function": {"arguments": piece}}])
        last = chunk()[1]
        last["choices"][0]["finish_reason"] = self.finish(answer)
        yield None, last
        yield None, {**last, "choices": [], "usage": self.usage(answer.usage)}
        yield None, "[DONE]"

    def error(self, status, message):
        return {"error": {"message": message, "type": "scripted", "code": status}}


class Messages:
    """POST /messages."""

    name, suffix = "messages", "/messages"
    FINISH = {"stop": "end_turn", "length": "max_tokens", "context": "model_context_window_exceeded", "refused": "refusal", "paused": "pause_turn"}

    def read(self, body, _path):
        entries, faults = [], []
        if body.get("system"):
            add(entries, "system", body["system"], text=text_of(body["system"]))
        if "max_tokens" not in body:
            faults.append("no max_tokens")
        for message in body.get("messages") or []:
            content = message.get("content")
            blocks = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
            if any(block.get("type") == "text" and not block.get("text", "").strip() for block in blocks):
                faults.append("a blank text")
            if message.get("role") == "assistant":
                calls = [Call(b["id"], b["name"], json.dumps(b["input"])) for b in blocks if b.get("type") == "tool_use"]
                faults += [f"the input of {b['id']} is no object" for b in blocks if b.get("type") == "tool_use" and not isinstance(b["input"], dict)]
                faults += ["thinking without its signature" for b in blocks if b.get("type") == "thinking" and not b.get("signature")]
                if entries and entries[-1].kind == "answer":
                    faults.append("two answers in a row")
                add(entries, "answer", message, text=text_of(blocks), calls=calls)
                continue
            kinds = [block.get("type") == "tool_result" for block in blocks]
            if kinds != sorted(kinds, reverse=True):
                faults.append("a text before a result")
            results = [(b.get("tool_use_id"), text_of(b.get("content"))) for b in blocks if b.get("type") == "tool_result"]
            if results and entries and entries[-1].kind == "results":
                faults.append("results of one answer in two messages")
            if results:
                add(entries, "results", message, results=results)
            if text := text_of([block for block in blocks if block.get("type") == "text"]):
                add(entries, "user", "" if results else message, text=text)
        tools = body.get("tools") or []
        faults += [f"a tool that is no function: {tool['type']}" for tool in tools if tool.get("type", "custom") != "custom"]
        marks = json.dumps(body).count('"cache_control"')
        if marks > 4:
            faults.append(f"{marks} marks for the cache, 4 are taken")
        return Request(tools, [tool.get("name") for tool in tools], entries, bool(body.get("stream")), faults)

    def usage(self, used):
        return {"input_tokens": used["input"] - used["cached"], "cache_read_input_tokens": used["cached"], "cache_creation_input_tokens": 0,
                "output_tokens": used["output"]}

    def finish(self, answer):
        return "tool_use" if answer.calls and answer.finish == "stop" else self.FINISH[answer.finish]

    def blocks(self, answer):
        if answer.reasoning:
            yield {"type": "thinking", "thinking": answer.reasoning, "signature": "c2lnbmVk"}
        if answer.text:
            yield {"type": "text", "text": answer.text}
        for call in answer.calls:
            yield {"type": "tool_use", "id": call.id, "name": call.name, "input": lenient(call.arguments)}

    def whole(self, answer):
        return {"id": "msg_0", "type": "message", "role": "assistant", "model": answer.model, "content": list(self.blocks(answer)),
                "stop_reason": self.finish(answer), "stop_sequence": None, "usage": self.usage(answer.usage)}

    def events(self, answer):
        def event(kind, **more):
            return kind, {"type": kind, **more}

        whole = self.whole(answer)
        yield event("message_start", message={**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}})
        yield event("ping")
        calls = iter(answer.calls)
        for index, block in enumerate(whole["content"]):
            if block["type"] == "tool_use":
                start, kind, member, text = {**block, "input": {}}, "input_json_delta", "partial_json", next(calls).arguments
            elif block["type"] == "thinking":
                start, kind, member, text = {"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking", block["thinking"]
            else:
                start, kind, member, text = {"type": "text", "text": ""}, "text_delta", "text", block["text"]
            yield event("content_block_start", index=index, content_block=start)
            for piece in pieces(text):
                yield event("content_block_delta", index=index, delta={"type": kind, member: piece})
            if block["type"] == "thinking":
                yield event("content_block_delta", index=index, delta={"type": "signature_delta", "signature": block["signature"]})
            yield event("content_block_stop", index=index)
        yield event("message_delta", delta={"stop_reason": whole["stop_reason"], "stop_sequence": None}, usage={"output_tokens": answer.usage["output"]})
        yield event("message_stop")

    def error(self, status, message):
        kind = {429: "rate_limit_error", 529: "overloaded_error"}.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": message}}


class Responses:
    """POST /responses."""

    name, suffix = "responses", "/responses"
    FINISH = {"length": "max_output_tokens", "context": "max_output_tokens", "refused": "content_filter"}

    def read(self, body, _path):
        entries, faults = [], []
        if body.get("instructions"):
            add(entries, "system", body["instructions"], text=body["instructions"])
        if body.get("store") is not False:
            faults.append("it would be kept at the provider: store is not false")
        given = body.get("input") or []
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        for item, follower in itertools.zip_longest(items, items[1:], fillvalue={}):
            kind, role = item.get("type", "message"), item.get("role")
            if kind == "function_call":
                name = f"{item['namespace']}__{item['name']}" if item.get("namespace") else item["name"]
                add(entries, "answer", item, calls=[Call(item["call_id"], name, item["arguments"])])
            elif kind in ("function_call_output", "custom_tool_call_output"):
                add(entries, "results", item, results=[(item.get("call_id"), text_of(item.get("output")))])
            elif kind == "reasoning":
                if not item.get("encrypted_content"):
                    faults.append("reasoning without encrypted_content")
                if follower.get("role", "assistant") != "assistant" or follower.get("type") == "function_call_output":
                    faults.append("reasoning without what it led to")
                add(entries, "answer", item)
            elif role == "assistant":
                add(entries, "answer", item, text=text_of(item.get("content")))
            else:
                add(entries, "system" if role in ("system", "developer") else "user", item, text=text_of(item.get("content")))
        tools = body.get("tools") or []
        offered = []
        for tool in tools:
            if tool.get("type") == "namespace":
                offered += [f"{tool['name']}__{each['name']}" for each in tool["tools"]]
            elif tool.get("type") == "function":
                offered.append(tool.get("name"))
            else:
                faults.append(f"a tool that is no function: {tool.get('type')}")
        self.spaces = [tool["name"] for tool in tools if tool.get("type") == "namespace"]
        return Request(tools, offered, entries, bool(body.get("stream")), faults)

    def usage(self, used):
        return {"input_tokens": used["input"], "input_tokens_details": {"cached_tokens": used["cached"]}, "output_tokens": used["output"],
                "output_tokens_details": {"reasoning_tokens": used["reasoning"]}, "total_tokens": used["input"] + used["output"]}

    def items(self, answer):
        if answer.reasoning:
            yield {"type": "reasoning", "id": "rs_0", "summary": [{"type": "summary_text", "text": answer.reasoning}], "encrypted_content": "ZW5jcnlwdGVk"}
        if answer.text:
            yield {"type": "message", "id": "msg_0", "role": "assistant", "status": "completed",
                   "content": [{"type": "output_text", "text": answer.text, "annotations": []}]}
        for call in answer.calls:
            space = next((each for each in getattr(self, "spaces", []) if call.name.startswith(each + "__")), None)
            named = {"namespace": space, "name": call.name[len(space) + 2 :]} if space else {"name": call.name}
            yield {"type": "function_call", "id": f"fc_{call.id}", "call_id": call.id, **named, "arguments": call.arguments, "status": "completed"}

    def whole(self, answer):
        reason = self.FINISH.get(answer.finish)
        return {"id": "resp_0", "object": "response", "created_at": 1, "model": answer.model, "status": "incomplete" if reason else "completed", "error": None,
                "incomplete_details": {"reason": reason} if reason else None, "output": list(self.items(answer)), "usage": self.usage(answer.usage)}

    def events(self, answer):
        numbers, whole = itertools.count(), self.whole(answer)

        def event(kind, **more):
            return kind, {"type": kind, "sequence_number": next(numbers), **more}

        yield event("response.created", response={**whole, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None})
        for index, item in enumerate(whole["output"]):
            empty = {"message": {"content": []}, "function_call": {"arguments": ""}, "reasoning": {"summary": []}}[item["type"]]
            yield event("response.output_item.added", output_index=index, item={**item, **empty, "status": "in_progress"})
            if item["type"] == "message":
                for piece in pieces(answer.text):
                    yield event("response.output_text.delta", item_id=item["id"], output_index=index, content_index=0, delta=piece)
            elif item["type"] == "function_call":
                for piece in pieces(item["arguments"]):
                    yield event("response.function_call_arguments.delta", item_id=item["id"], output_index=index, delta=piece)
            yield event("response.output_item.done", output_index=index, item=item)
        yield event("response.incomplete" if whole["status"] == "incomplete" else "response.completed", response=whole)

    def error(self, status, message):
        return {"error": {"message": message, "type": "scripted", "code": "rate_limit_exceeded" if status == 429 else None, "param": None}}


class Gemini:
    """POST /models/NAME:generateContent and :streamGenerateContent."""

    name, suffix = "gemini", "enerateContent"
    FINISH = {"length": "MAX_TOKENS", "context": "MAX_TOKENS", "refused": "SAFETY"}

    def read(self, body, path):
        entries, faults = [], []
        if system := body.get("systemInstruction") or body.get("system_instruction"):
            add(entries, "system", system, text=text_of(system.get("parts")))
        for content in body.get("contents") or []:
            parts = content.get("parts") or []
            if content.get("role") == "model":
                calls = [p["functionCall"] for p in parts if "functionCall" in p]
                add(entries, "answer", content, text=text_of([p for p in parts if not p.get("thought")]),
                    calls=[Call(c.get("id"), c["name"], json.dumps(c.get("args", {}))) for c in calls])
                continue
            results = [p["functionResponse"] for p in parts if "functionResponse" in p]
            if results:
                add(entries, "results", content, results=[(r.get("id"), json.dumps(r.get("response"))) for r in results])
            if text := text_of(parts):
                add(entries, "user", "" if results else content, text=text)
        tools, offered = body.get("tools") or [], []
        for tool in tools:
            offered += [each["name"] for each in tool.get("functionDeclarations") or tool.get("function_declarations") or []]
            faults += [f"a tool that is no function: {kind}" for kind in tool if kind not in ("functionDeclarations", "function_declarations")]
        return Request(tools, offered, entries, "streamGenerateContent" in path, faults)

    def whole(self, answer):
        parts = [{"text": answer.reasoning, "thought": True}] if answer.reasoning else []
        parts += [{"text": answer.text}] if answer.text or not answer.calls else []
        parts += [{"functionCall": {"id": call.id, "name": call.name, "args": lenient(call.arguments)}, "thoughtSignature": "c2lnbmVk"} for call in answer.calls]
        used = answer.usage
        return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": self.FINISH.get(answer.finish, "STOP"), "index": 0}],
                "usageMetadata": {"promptTokenCount": used["input"], "cachedContentTokenCount": used["cached"], "candidatesTokenCount": used["output"] - used["reasoning"],
                                  "thoughtsTokenCount": used["reasoning"], "totalTokenCount": used["input"] + used["output"]},
                "modelVersion": answer.model, "responseId": "r0"}

    def events(self, answer):
        yield None, self.whole(answer)

    def error(self, status, message):
        return {"error": {"code": status, "message": message, "status": "RESOURCE_EXHAUSTED" if status == 429 else "INTERNAL"}}


WIRES = (Chat, Messages, Responses, Gemini)


def wire_of(path):
    """Of a request's path; None: no such wire. A fresh one for each request."""
    path = path.split("?")[0]
    return next((wire() for wire in WIRES if path.endswith(wire.suffix)), None)


def unmarked(value):
    """Without marks for the cache, which move, and which make a list of what was a text."""
    if isinstance(value, list):
        return [unmarked(each) for each in value]
    if isinstance(value, dict):
        return {key: unmarked(each) for key, each in value.items() if key != "cache_control"}
    return value

