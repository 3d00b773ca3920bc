"""The taskset under the name by which `vf-eval kernelbench-verifiers` finds it: verifiers wants a module that stands in no package."""

from kernelbench_client.verifiers import KernelbenchTaskset

__all__ = ["KernelbenchTaskset"]
