"""What `kernelbench serve --demo` prints is pasted, and run against that very service."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

from service import BINARY


class Demo(unittest.TestCase):
    def demo(self, *flags):
        """Its blocks by the line above them."""
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="kernelbench-demo.")))
        arguments = [BINARY, "serve", "--demo", "--quiet", "--store", root / "it's a store.db", *flags]
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, start_new_session=True)

        def end():
            process.send_signal(signal.SIGTERM)
            process.wait(120)
            process.stdout.close()

        self.addCleanup(end)
        text = ""
        while not re.search(r"# KernelGYM[^\n]*\nhttp\S+\n$", text):
            line = process.stdout.readline()
            self.assertTrue(line, text)
            text += line
        return dict(re.findall(r"^# ([^\n]*)\n(.*?)\n(?:\n(?=#)|\Z)", text, re.M | re.S))

    def paste(self, blocks, name, token=""):
        (block,) = [each for line, each in blocks.items() if line.startswith(name)]
        done = subprocess.run(["bash", "-euc", block], env={**os.environ, "KERNELBENCH_TOKEN": token}, capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""), block)
        return done.stdout

    def all(self, blocks, token=""):
        self.assertEqual(json.loads(self.paste(blocks, "curl", token))["verdict"], "correct")
        self.assertRegex(self.paste(blocks, "Python", token), r"^correct ")
        self.assertEqual(self.paste(blocks, "TRL", token), "[0.0]\n")
        local, remote = [json.loads(block)["mcpServers"]["kernelbench"] for line, block in blocks.items() if line.startswith("MCP")]
        self.assertEqual((local["command"], local["args"][0]), (str(BINARY), "mcp"))
        url = blocks["KernelGYM: reward_model.server_url of its trainer"]
        self.assertEqual(remote["url"], url + "/mcp")
        return remote, url

    def test_alone(self):
        blocks = self.demo()
        self.assertNotIn("a token, for all that follows", blocks)
        remote, url = self.all(blocks)
        self.assertNotIn("headers", remote)
        self.assertRegex(url, r"^http://127\.0\.0\.1:\d+$")

    def test_with_tokens(self):
        blocks = self.demo("--listen", "127.0.0.1:0")
        block = blocks["a token, for all that follows"]
        token = subprocess.run(["bash", "-euc", f"{block}\necho $KERNELBENCH_TOKEN"], capture_output=True, text=True, check=True).stdout.strip()
        remote, _ = self.all(blocks, token)
        self.assertEqual(remote["headers"], {"Authorization": "Bearer ${KERNELBENCH_TOKEN}"})
        with self.assertRaises(AssertionError):
            self.paste(blocks, "Python")


if __name__ == "__main__":
    unittest.main()
