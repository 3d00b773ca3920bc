"""The official client of the Model Context Protocol, in both eras and over both transports, against the real service and `kernelbench mcp`."""

import asyncio
import contextlib
import http.client
import json
import logging
import subprocess
import unittest

import httpx2
import mcp_types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from service import BINARY, RIGHT, WRONG, Service, until

SLEEPER = RIGHT.replace("return x.clamp(min=0)", "import time; time.sleep(50); return x")
NATIVE = '#include <kernelbench/kernel.h>\n\nint kb_forward(const kb_call* call) { return missing(call); }\n'
STATELESS, HANDSHAKE = "auto", "legacy"
WAYS = [(mode, transport) for mode in (STATELESS, HANDSHAKE) for transport in ("http", "stdio")]


def setUpModule():
    global service
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it counts what a busy machine takes
    service = Service()


def tearDownModule():
    service.close()


@contextlib.asynccontextmanager
async def connected(mode, transport):
    if transport == "stdio":
        variables = {key: value for key, value in service.environment.items() if key.startswith("KERNELBENCH") or key == "PATH"}
        async with Client(StdioServerParameters(command=str(BINARY), args=["mcp"], env=variables), mode=mode) as client:
            yield client
        return
    headers = {"Authorization": f"Bearer {service.token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=300, trust_env=False) as http_client:
        async with Client(streamable_http_client(f"{service.url}/mcp", http_client=http_client), mode=mode) as client:
            yield client


def text(result):
    return "\n".join(block.text for block in result.content)


def cancelled():
    """How many evaluations were, since the service started."""
    counted = 'kernelbench_evaluations_total{verdict="cancelled"} '
    return sum(float(line.split()[-1]) for line in service.ask("/metrics").splitlines() if line.startswith(counted))


class Clients(unittest.IsolatedAsyncioTestCase):
    async def each_way(self, check, ways=WAYS):
        for mode, transport in ways:
            with self.subTest(mode=mode, transport=transport):
                async with connected(mode, transport) as client:
                    await check(client)

    async def test_what_there_is(self):
        versions = set()

        async def check(client):
            versions.add(client.protocol_version)
            self.assertEqual(client.server_info.name, "kernelbench")
            self.assertIn("evaluate", client.instructions)
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            self.assertEqual(set(tools), {"list_problems", "show_problem", "compile", "evaluate", "profile", "explain_verdict", "best_so_far"})
            for tool in tools.values():
                self.assertTrue(tool.description and tool.input_schema and tool.output_schema)
            some = await client.call_tool("list_problems", {"level": 1, "limit": 3})
            self.assertEqual(len(some.structured_content["problems"]), 3)
            self.assertIn("1/19", text(await client.call_tool("list_problems", {"level": 1, "limit": 200})))
            shown = await client.call_tool("show_problem", {"problem": "1/19"})
            self.assertIn("class Model", shown.structured_content["source"])
            asked = await client.call_tool("show_problem", {"problem": "1/19", "backend": "native"})
            self.assertIn("kb_forward", asked.structured_content["instructions"])

        await self.each_way(check)
        self.assertEqual(versions, {"2026-07-28", "2025-11-25"})

    async def test_what_is_wrong_is_told_to_the_model(self):
        async def check(client):
            for name, arguments, says in [
                ("show_problem", {"problem": "1/190"}, "there is no problem 1/190; list_problems names them"),
                ("evaluate", {"problem": "1/190", "source": RIGHT}, "there is no problem 1/190; list_problems names them"),
                ("evaluate", {"problem": "1/19", "source": RIGHT, "size": "huge"}, "1/19 has the sizes"),
                ("evaluate", {"problem": "1/19"}, "give exactly one of source, answer, files"),
                ("evaluate", {"source": RIGHT}, "problem: is missing"),
                ("list_problems", {"levle": 1}, "levle: there is no such field"),
                ("explain_verdict", {"id": "0" * 32}, "evaluate and best_so_far tell ids"),
                ("explain_verdict", {"id": "20260101-none"}, "evaluate and best_so_far tell ids"),
                ("profile", {"problem": "1/19", "source": RIGHT}, "NVIDIA GPU"),
            ]:
                told = await client.call_tool(name, arguments)
                self.assertTrue(told.is_error, name)
                self.assertIn(says, text(told))
            with self.assertRaisesRegex(MCPError, "there is no tool rm; tools/list names them"):
                await client.call_tool("rm", {})

        await self.each_way(check)

    async def test_judged(self):
        async def check(client):
            heard = []

            async def progress(number, _total, message):
                heard.append((number, message))

            def asked(source, **more):
                return {"problem": "1/19", "size": "small", "protocol": "quick", "source": source, **more}

            right = await client.call_tool("evaluate", asked(RIGHT, run="tries"), progress_callback=progress)
            told = right.structured_content
            self.assertEqual((told["verdict"], told["state"], told["authorship"]), ("correct", "done", "library"))
            self.assertIn("It is correct.", text(right))
            self.assertIn(told["evaluation_id"], text(right))
            self.assertTrue(heard)
            self.assertEqual(heard, sorted(heard))
            again = await client.call_tool("explain_verdict", {"id": told["id"]})
            self.assertEqual(again.structured_content, told)
            stored = await client.call_tool("explain_verdict", {"id": told["evaluation_id"]})
            self.assertEqual((stored.structured_content["verdict"], text(stored)), ("correct", text(right)))
            if told["speedup"]:
                best = await client.call_tool("best_so_far", {"problem": "1/19", "size": "small"})
                self.assertEqual(best.structured_content["source"], RIGHT)
            wrong = await client.call_tool("evaluate", asked(WRONG))
            self.assertEqual((wrong.structured_content["verdict"], wrong.structured_content["fault"]), ("incorrect", "candidate"))
            self.assertIn("worst element", text(wrong))
            broken = asked(NATIVE, name="kernel.cpp")
            built = await client.call_tool("compile", {key: broken[key] for key in ("problem", "size", "source", "name")})
            self.assertEqual((built.structured_content["compiled"], built.structured_content["verdict"]), (False, "build_failed"))
            self.assertIn("missing", text(built))
            self.assertFalse(built.is_error)
            self.assertIn("missing", text(await client.call_tool("evaluate", broken)))
            none = await client.call_tool("best_so_far", {"problem": "1/20"})
            self.assertEqual((none.structured_content["found"], none.is_error), (False, False))

        await self.each_way(check, [(STATELESS, "stdio"), (HANDSHAKE, "http")])

    async def test_a_call_that_is_cancelled_ends_what_is_not_kept(self):
        async def check(client):
            judging = asyncio.Event()

            async def progress(_number, _total, message):
                if message.startswith("judging"):
                    judging.set()

            arguments = {"problem": "1/19", "size": "small", "protocol": "quick", "source": SLEEPER, "keep": False}
            before = cancelled()
            call = asyncio.create_task(client.call_tool("evaluate", arguments, progress_callback=progress))
            await asyncio.wait_for(judging.wait(), 60)
            call.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await call
            await asyncio.to_thread(until, lambda: cancelled() == before + 1, 20)
            self.assertTrue((await client.call_tool("show_problem", {"problem": "1/19"})).structured_content)

        await self.each_way(check)


class Http(unittest.TestCase):
    """What the wire says."""

    def post(self, body, method="POST", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
        with contextlib.closing(connection):
            sent = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
            connection.request(method, "/mcp", body if isinstance(body, str) else json.dumps(body), {key: value for key, value in sent.items() if value is not None})
            answer = connection.getresponse()
            said = answer.read().decode()
        return answer.status, json.loads(said) if said else None

    @staticmethod
    def stateless(method, version="2026-07-28", **params):
        meta = {mcp_types.PROTOCOL_VERSION_META_KEY: version, mcp_types.CLIENT_CAPABILITIES_META_KEY: {}}
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}

    def test_statuses(self):
        plain = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
        for status, code, answer in [
            (200, None, self.post(plain)),
            (202, None, self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})),
            (400, -32700, self.post("{")),
            (400, -32600, self.post([plain])),
            (400, -32600, self.post({"jsonrpc": "2.0", "id": None, "method": "ping"})),
            (200, -32601, self.post({**plain, "method": "resources/list"})),
            (400, -32022, self.post(plain, **{"MCP-Protocol-Version": "1999-01-01"})),
            (200, None, self.post(self.stateless("tools/list"), **headers)),
            (404, -32601, self.post(self.stateless("resources/list"), **{**headers, "Mcp-Method": "resources/list"})),
            (400, -32020, self.post(self.stateless("tools/list"), **{**headers, "Mcp-Method": "tools/call"})),
            (400, -32020, self.post(self.stateless("tools/list"))),
            (400, -32020, self.post(self.stateless("tools/call", name="compile"), **{**headers, "Mcp-Method": "tools/call", "Mcp-Name": "evaluate"})),
            (400, -32602, self.post({**plain, "method": "tools/list"}, **headers)),
            (400, -32022, self.post(self.stateless("tools/list", "2031-01-01"), **{**headers, "MCP-Protocol-Version": "2031-01-01"})),
            (405, None, self.post("", "GET")),
            (405, None, self.post("", "DELETE")),
            (401, None, self.post(plain, Authorization=None)),
            (403, None, self.post(plain, Host="evil.example.com")),
            (403, None, self.post(plain, Origin="http://evil.example.com")),
        ]:
            got = (answer[1] or {}).get("error", {}).get("code")
            self.assertEqual((answer[0], got), (status, code), answer)


class Stdio(unittest.TestCase):
    def test_it_starts_a_service_and_ends_with_its_input(self):
        with subprocess.Popen([BINARY, "mcp", "--store", service.root / "other.db"], env=service.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            process.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_problems", "arguments": {"limit": 1}}}\n')
            process.stdin.flush()
            self.assertEqual(len(json.loads(process.stdout.readline())["result"]["structuredContent"]["problems"]), 1)
            # The service ends meanwhile; another one is started.
            subprocess.run([BINARY, "service", "stop", "--store", service.root / "other.db"], check=True, env=service.environment)
            process.stdin.write('{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_problems", "arguments": {"limit": 1}}}\n')
            process.stdin.flush()
            self.assertFalse(json.loads(process.stdout.readline())["result"].get("isError"))
            said, errors = process.communicate(timeout=30)
        self.assertEqual((process.returncode, said), (0, ""))
        self.assertEqual(errors.count("started a service"), 2)
        subprocess.run([BINARY, "service", "stop", "--store", service.root / "other.db"], check=True, env=service.environment)

    def test_why_there_is_no_service_is_said_on_standard_error_alone(self):
        ended = subprocess.run([BINARY, "mcp", "--store", "/proc/none/store.db"], env=service.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual((ended.returncode != 0, ended.stdout), (True, ""))
        self.assertIn("/proc/none", ended.stderr)


if __name__ == "__main__":
    unittest.main()
