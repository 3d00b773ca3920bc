"""torch.utils.cpp_extension.load_inline for candidates, split in two: what it wants is found out in a sandbox before any
device is held (capture), the engine compiles it, and the runner later finds the finished extension (serve_finished).
"""

import hashlib
import importlib.machinery
import importlib.util
import itertools
import json
import os
import sys
import traceback
import types

from torch.utils import cpp_extension

from . import module_runner, problem, runner_library, trees


class NotBuilt(RuntimeError):
    """load_inline was called with sources that were not seen when the candidate was built."""


def as_list(value):
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def describe(name, cpp_sources, cuda_sources=None, functions=None, extra_cflags=None, extra_cuda_cflags=None,
             extra_ldflags=None, extra_include_paths=None, with_pytorch_error_handling=True, no_implicit_headers=False, **_):
    """What load_inline was asked for, as plain data; the engine compiles from this alone."""
    if functions is None:
        functions = {}
    elif not isinstance(functions, dict):
        functions = {f: f for f in as_list(functions)}
    return {"name": str(name), "cpp": as_list(cpp_sources), "cuda": as_list(cuda_sources), "functions": functions,
            "cflags": [str(f) for f in as_list(extra_cflags)], "cuda_cflags": [str(f) for f in as_list(extra_cuda_cflags)],
            "ldflags": [str(f) for f in as_list(extra_ldflags)],
            "include_paths": [str(f) for f in as_list(extra_include_paths)],
            "error_handling": bool(with_pytorch_error_handling), "implicit_headers": not no_implicit_headers}


def key(request):
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()


class _Unfinished(types.ModuleType):
    """Stands for an extension while it is not compiled yet."""

    def __getattr__(self, attribute):
        if attribute.startswith("__"):
            raise AttributeError(attribute)

        def unfinished(*_, **__):
            raise NotBuilt(f"{self.__name__}.{attribute} was called while the candidate was imported for building")
        return unfinished


def capture(library, request, result_fd):
    """In a worker: imports the candidate, writes the extensions it asks for as JSON. Hostile from the import on."""
    refused = runner_library.confine(library, request.confinement)
    if refused:
        sys.stderr.write(f"builder: {refused}\n")
        return 125
    wanted, error = {}, ""

    def recording(*arguments, **options):
        described = describe(*positional(arguments, options), **options)
        name, known = described["name"], key(described)
        if known not in wanted:
            # pybind11 gives a module that is initialised under a name once more to all others of that name.
            taken = {each["name"] for each in wanted.values()}
            free = (f"{name}_v{i}" for i in itertools.count(1))
            wanted[known] = {**described, "key": known, "name": name if name not in taken else next(n for n in free if n not in taken)}
        return _Unfinished(name)

    cpp_extension.load_inline = recording
    module = module_runner.new_module(request.source)
    try:
        module_runner.run_module(module, request.source)
        theirs = problem.module_of(request.problem, request.path, request.size)
        trees.call(module.ModelNew, problem.constructor_arguments(theirs), [])  # some candidates build in their constructor
    except NotBuilt:
        pass
    except BaseException:  # the runner will meet it again and report it as a verdict
        error = traceback.format_exc()
    data = json.dumps({"extensions": list(wanted.values()), "error": error}).encode()
    while data:
        data = data[os.write(result_fd, data):]
    return 0


_POSITIONAL = ("name", "cpp_sources", "cuda_sources", "sycl_sources", "functions", "extra_cflags", "extra_cuda_cflags")


def positional(arguments, options):
    """Names positional arguments as load_inline's signature does (PyTorch inserted sycl_sources in 2.7)."""
    options.update(zip(_POSITIONAL, arguments))
    return ()


def serve_finished(finished, fds):
    """Makes load_inline hand out finished extensions. `finished`: [[key, name], ...], in the order of `fds`."""
    ready, loaded = {}, {}
    for (extension_key, name), fd in zip(finished, fds):
        path = f"{os.environ['TMPDIR']}/{extension_key[:16]}.so"
        with open(fd, "rb") as source, open(path, "wb") as target:
            target.write(source.read())
        ready[extension_key] = (name, path)

    def finding(*arguments, **options):
        request = describe(*positional(arguments, options), **options)
        found = ready.get(key(request))
        if found is None:
            raise NotBuilt(f"load_inline({request['name']!r}) was called with sources that were not there when the candidate "
                           "was imported for building; call it at import or in __init__")
        # By all that it is made of: several may have one name, or that of a module of somebody else's.
        if found not in loaded:
            loader = importlib.machinery.ExtensionFileLoader(*found)
            loaded[found] = importlib.util.module_from_spec(importlib.util.spec_from_loader(found[0], loader, origin=found[1]))
            loader.exec_module(loaded[found])
        return loaded[found]

    def refused(*_, **__):
        raise NotBuilt("torch.utils.cpp_extension.load is not supported; use load_inline, which is built before the run")

    cpp_extension.load_inline, cpp_extension.load = finding, refused
