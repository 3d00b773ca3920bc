"""A process that has torch imported, and Inductor where a baseline is compiled; each module runner is forked from it.

Started inside the sandbox as `python -m kernelbench_torch.zygote SOCKET_FD LIBRARY NAMESPACES`. Trusted: it never loads a
candidate. Each request forks a child that enters namespaces of its own, gives up its powers and becomes the runner of one
candidate, the builder's eyes on one (op "capture": which extensions does it want compiled?), the device process of a client's
problem (op "device", device_host.py), or tries what a candidate could do (op "probe"). Op "native" makes it kb-runner.

Requests are those of runner_spec.py. Descriptors with one: hello, status, output (its stdout and stderr), then a socket by which
it is told what to run (module_runner.py) or do; for "capture" instead: result. "import" comes without any, for the zygote itself.
"""

import contextlib
import dataclasses
import gc
import os
import resource
import signal
import sys
import warnings

import torch
import torch.utils.cpp_extension  # noqa: F401  imported here once, not by each candidate

from . import device_host, extensions, module_runner, ops, runner_library, runner_spec
from .channel import Channel
from .problem import settle_math


def close_all_but(kept):
    bounds = [-1, *sorted(kept), resource.getrlimit(resource.RLIMIT_NOFILE)[0]]
    for below, above in zip(bounds, bounds[1:]):
        if below + 1 < above:  # an empty range would be taken for all
            os.closerange(below + 1, above)


def become_child(library, namespaces, message, fds):
    """In the forked child. Does not return."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    hello, status, output, rest = fds[0], fds[1], fds[2], fds[3:]
    os.dup2(output, 1)
    os.dup2(output, 2)
    close_all_but({0, 1, 2, *fds})  # the engine's socket above all
    name, request = ops.request(message, runner_spec.WORKERS)
    works = {"run": lambda: module_runner.serve(library, request, Channel(rest[0])), "probe": lambda: probe(library, request),
             "capture": lambda: extensions.capture(library, request, rest[0]),
             "device": lambda: device_host.serve_confined(library, request, Channel(rest[0]))}
    if name == "capture":  # what is timed has the zygote's cores, and goes before others
        os.setsid()  # its session has what is timed in it
        os.setpriority(os.PRIO_PROCESS, 0, max(request.nice, os.getpriority(os.PRIO_PROCESS, 0)))
        if request.cores:
            os.sched_setaffinity(0, request.cores)
    without = runner_library.lines(request.confinement.without)
    if name == "native":
        library.kbr_enter(namespaces, request.confinement.tmp_bytes, request.keep.encode(), without)
        become_native(request, {"hello": hello, "status": status, "control": rest[0]})
    work = runner_library.WORK(works[name])
    library.kbr_run_worker(hello, status, namespaces, request.confinement.tmp_bytes, request.keep.encode(), without, work)


def become_native(request, fds):
    """kb-runner, in a worker's namespaces. Does not return."""
    told = dataclasses.asdict(request)
    program = told.pop("program")
    spec = os.memfd_create("spec", 0)
    os.write(spec, ops.encoded({**told, "op": "run"}))
    arguments = [program, "--spec", str(spec)]
    for name, fd in fds.items():
        os.set_inheritable(fd, True)
        arguments += [f"--{name}", str(fd)]
    os.execv(program, arguments)


def probe(library, request):
    """In a worker: what could a module candidate do here? (runner/probes.h)"""
    problem = runner_library.confine(library, request.confinement)
    if problem:
        sys.stderr.write(f"module runner: {problem}\n")
        return 125
    library.kbr_probe(ops.encoded(request))
    return 0


def warm_up():
    """Lets torch find out about the processor while /proc can still be read. One thread: a pool would not survive fork."""
    torch.set_num_threads(1)
    settle_math()
    x = torch.ones(4, 4)
    torch.nn.functional.conv2d(x.reshape(1, 1, 4, 4), torch.ones(1, 1, 3, 3))
    torch.softmax(torch.nn.functional.linear(x, x), dim=-1)
    torch.backends.cpu.get_cpu_capability()


@contextlib.contextmanager
def without_cuda():
    """Who asks for CUDA's devices is refused: a child of a process that has asked cannot use them."""
    def refuse(*_, **__):
        raise RuntimeError("the zygote opens no device")
    asked = [(where, name) for where, name in ((torch.cuda, "is_available"), (torch.cuda, "device_count"), (torch.cuda, "_lazy_init"),
                                               (torch._C, "_cuda_getDeviceCount")) if hasattr(where, name)]
    own = [getattr(where, name) for where, name in asked]
    for where, name in asked:
        setattr(where, name, refuse)
    try:
        yield
    finally:
        for (where, name), value in zip(asked, own):
            setattr(where, name, value)


def import_compilers():
    """What takes a runner of a compiled baseline seconds. What cannot be imported here, that runner meets itself."""
    with without_cuda(), contextlib.suppress(Exception):
        import torch._inductor.compile_fx
        import torch.export._trace
        from torch._dynamo.backends import registry
        from torch._inductor.codegen import common
        common.init_backend_registration()
        registry.list_backends()
    with without_cuda(), contextlib.suppress(Exception):
        import torch._inductor.runtime.triton_heuristics  # noqa: F401


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.pop("LD_PRELOAD", None)  # it has been loaded (output_arena.py), and no program that is started needs it
    # Some builds of torch start threads when imported. The child has only the forking one and starts its own.
    warnings.filterwarnings("ignore", ".*multi-threaded, use of fork", DeprecationWarning)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped by the kernel
    channel = Channel(int(sys.argv[1]))
    library = runner_library.load(sys.argv[2])
    namespaces = int(sys.argv[3])
    torch.set_grad_enabled(False)
    warm_up()
    gc.freeze()  # as in the device process; and pages that are never looked at stay shared
    channel.send({"ready": True})
    while (message := channel.receive()) is not None:
        body, fds = message
        if body["op"] == "import":
            import_compilers()
            gc.freeze()
            channel.send({"ready": True})
            continue
        if os.fork() == 0:
            become_child(library, namespaces, body, fds)
            os._exit(125)
        for fd in fds:
            os.close(fd)


if __name__ == "__main__":
    try:
        main()
    except ConnectionError:
        sys.exit(0)  # the engine is gone, and this process has no other purpose
