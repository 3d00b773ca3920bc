from program import ask, body_of, check, check_model, connect, request, send, statuses, submit, told

for name in ("gpt-of-another", "../scripted", "", "x" * 100_000):
    status, _ = ask(body_of(model=name))
    check(status == 200, f"the name of a model decides something: {status}")
for tool in ("web_search", "web_search_preview", "code_interpreter", "file_search", "mcp", "image_generation"):
    status, _ = ask(body_of(tools=[{"type": tool, "server_url": "http://127.0.0.1:@PORT@/"}]))
    check(status == 400, f"the provider runs {tool}")
for members in ({"web_search_options": {}}, {"plugins": [{"id": "web"}]}, {"store": True}, {"service_tier": "priority"}, {"metadata": {"a": "b"}}, {"models": ["dear"]}):
    status, _ = ask(body_of(**members))
    check(status in (200, 400), f"{members} gave {status}")  # the scripted model says what was passed on
for content in ({"type": "image_url", "image_url": {"url": "http://127.0.0.1:@PORT@/x"}}, {"type": "file", "file": {"file_id": "file-1"}}):
    status, _ = ask(body_of(messages=[{"role": "user", "content": [content]}]))
    check(status == 400, f"the provider fetches {content}")

for path in ("/v1/models/../x", "/v1/models/../../report", "/v1/chat/completions/../../report", "/report", "/v1/%2e%2e/report", "/v1/files", "/v1/chat/completions%00", "//report", "*", "",
             "http://127.0.0.1:@PORT@/report", "http://127.0.0.1:@PORT@/v1/files", "127.0.0.1:@PORT@", "/v1/responses", "/v1/messages"):
    for method in ("GET", "POST", "CONNECT", "DELETE", "OPTIONS", "TRACE"):
        status, said = ask(b"{}", path=path, method=method)
        check(status in (0, 400, 404, 405, 501), f"{method} {path} gave {status} {said[:200]}")
for host in ("127.0.0.1:@PORT@", "evil.example", "a b", "x" * 10_000):
    status, _ = ask(body_of(), host=host)
    check(status in (200, 400), f"Host: {host[:40]} gave {status}")
for header in ("Authorization: Bearer sk-mine", "x-api-key: sk-mine", "api-key: sk-mine", "X-Forwarded-Host: evil.example", "Forwarded: host=evil.example", "Proxy-Authorization: Basic eA==",
               "OpenAI-Organization: mine", "X-HTTP-Method-Override: DELETE", "Cookie: a=b", "Expect: 100-continue"):
    status, _ = ask(body_of(), headers=[header])
    check(status == 200, f"{header} gave {status}")

# Two requests at once have two answers, and what lies behind the second is none.
answer = send(request(body_of("one"), keep=True) + request(body_of("two"), keep=True) + b"GARBAGE\r\n\r\n")
check(statuses(answer) == [200, 200, 400], f"pipelined requests gave {statuses(answer)}")

good = body_of()
BROKEN = [
    b"\x00" * 100_000, b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"POST /v1/chat/completions HTTP/9.9\r\n\r\n", b"POST /v1/chat/completions HTTP/1.1\r\nHost : x\r\n\r\n",
    request(good).replace(b"Content-Length: ", b"Content-Length: -"), request(good).replace(b"Content-Length: ", b"Content-Length: 99999999999999999999"),
    request(good, headers=["Content-Length: 1"]), request(good, headers=["Transfer-Encoding: chunked"]), request(good, headers=["Transfer-Encoding: gzip, chunked"]),
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nx", b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nx",
    b"POST /v1/chat/completions HTTP/1.1\r\n" + b"X: " + b"y" * (1 << 20) + b"\r\n\r\n", b"POST /v1/chat/completions HTTP/1.1\r\n" + b"X: y\r\n" * 100_000 + b"\r\n",
    request(good, headers=["Content-Encoding: gzip"]), request(good)[:-10], request(good, headers=["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: eA==", "Sec-WebSocket-Version: 13"])[:-1],
    request(b"[" * 1_000_000), request(b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}"), request(b"\xff\xfe"), request(b""), request(b"null"), request(b"1e999"),
    request(b'{"messages":[{"role":"user","content":"\\ud800"}]}'), request(body_of(messages=[])), request(body_of(messages="x")), request(body_of(messages=[None, 1, []])),
    request(body_of(n=2)), request(body_of(max_tokens=-1)), request(body_of(max_tokens=10**30)), request(body_of(stream="yes")), request(body_of(tools={"a": 1})),
]
for number, raw in enumerate(BROKEN):
    answered = statuses(send(raw, timeout=5))
    check(all(status in range(400, 600) or status == 200 for status in answered), f"broken request {number} gave {answered}")
    check(not any(status == 500 for status in answered), f"broken request {number} hurt the relay: {answered}")
check_model()

# Whoever goes in the middle of an answer is let go.
for _ in range(50):
    with connect() as connection:
        connection.sendall(request(body_of(stream=True)))
check_model()
with connect() as connection:
    connection.sendall(request(body_of(stream=True)))
    check(b"[DONE]" in told(connection), "no whole stream came")
submit()
