#!/usr/bin/env python3
"""What does a step of a trainer take through the Python client's adapters, beside POST /v1/rewards itself?

    bench/clients.py [--device cuda] [--completions 64] [--rounds 3]

Each round asks for the rewards of the same completions by the route itself, by TRL's adapter, by verl's of one sample (all at once, as its reward loop asks) and by verl's
of a batch, in turn; builds are cached before, and nothing is timed, so that the difference is not the machine's. An adapter is asked to take at most 1.1 times as long. Then the client's memory: its peak for 256 completions of 1 MiB,
given by a generator. Starts a service of its own; other work on the machine shows in the figures.
"""

import argparse
import asyncio
import pathlib
import statistics
import sys
import tempfile
import time
import tracemalloc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "clients" / "python" / "src"))

from common import heading
from kernelbench_client import Candidate, Client
from kernelbench_client.trl import reward_func
from kernelbench_client.verl import compute_score, compute_score_batch
from service import Service, examples_of

MOST = 1.1


def completions_of(arguments):
    """(problem, completion) of native candidates that are right, in turn."""
    return [(problem, f"Like this:\n\n```cpp\n{path.read_text()}```\n") for problem, path in examples_of(arguments, arguments.completions)]


def ways(arguments, service, completions):
    """Functions that have all judged, by name."""
    language = "cpp" if arguments.device == "cpu" else "cu"
    fields = {"size": arguments.size, "protocol": "quick", "keys": {"measure": False}}
    url = f"unix://{service.socket}"
    problems, texts = [problem for problem, _ in completions], [text for _, text in completions]
    function = reward_func(Client(url), language=language, **fields)
    settings = {"url": url, "language": language, "null_reward": 0.0, "attempts": 1, **fields}

    def route():
        requests = [Candidate(problem=problem, answer=text, name=f"candidate.{language}", **fields).to_json() for problem, text in completions]
        service.ask("POST", "/v1/rewards", {"reward": "sure_gain", "evaluations": requests})

    async def verl():
        await asyncio.gather(*[compute_score("kernelbench", text, problem, **settings) for problem, text in completions])

    return {
        "route": route,
        "trl": lambda: function(prompts=texts, completions=texts, completion_ids=texts, problem=problems),
        "verl": lambda: asyncio.run(verl()),
        "verl, batch": lambda: compute_score_batch(["kernelbench"] * len(texts), texts, problems, **settings),
    }


def step(arguments, service):
    by_name = ways(arguments, service, completions_of(arguments))
    by_name["route"]()  # builds are cached from here on
    spent = {name: [] for name in by_name}
    for _ in range(arguments.rounds):
        for name, way in by_name.items():
            start = time.monotonic()
            way()
            spent[name].append(time.monotonic() - start)
    of_route = statistics.median(spent["route"])
    for name, times in spent.items():
        ratio = statistics.median(times) / of_route
        print(f"{name}: {arguments.completions} completions in {statistics.median(times):.2f} s in the median of {len(times)}, {min(times):.2f} to {max(times):.2f}; "
              f"{ratio:.3f} times the route's{'' if ratio <= MOST else f', at most {MOST} are asked'}")


def memory(service):
    completion = f"```python\n{'# ' + 'x' * (1 << 20)}\n```\n"
    client = Client(f"unix://{service.socket}", in_flight=2, chunk=8)
    tracemalloc.start()
    client.rewards(Candidate(problem="1/19", answer=f"{completion}{i}", size="small", protocol="quick") for i in range(256))
    print(f"memory: {tracemalloc.get_traced_memory()[1] / 2**20:.0f} MiB at most for 256 completions of 1 MiB, 16 in flight")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--completions", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    arguments.size = "small" if arguments.device == "cpu" else "standard"
    with tempfile.TemporaryDirectory(prefix="clients.") as temporary:
        service = Service(arguments, pathlib.Path(temporary))
        try:
            problem, path = examples_of(arguments, 1)[0]
            first = service.judge(service.request(problem, path), whole=True)
            print(heading(f"The Python client on {arguments.device}, protocol quick, size {arguments.size}", first["evaluation"]))
            step(arguments, service)
            memory(service)
        finally:
            service.end()


if __name__ == "__main__":
    main()
