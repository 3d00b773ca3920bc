"""torch.utils.cpp_extension.load_inline and load for candidates, split in two: what it wants is found out in a sandbox before any
device is held (capture), the engine compiles it, and the runner later finds the finished extension (serve_finished). What a
runner is asked for and does not have it asks the engine for, until the candidate's first answer (module_runner.Runner.ask).
"""

import hashlib
import importlib.machinery
import importlib.util
import inspect
import itertools
import json
import os
import re
import sys
import traceback
import types

import torch
from torch.utils import cpp_extension

from . import candidate_folder, module_runner, problem, runner_library, trees


_LOAD, _LOAD_INLINE = inspect.signature(cpp_extension.load), inspect.signature(cpp_extension.load_inline)
# As src/judge/compile/extension_request.h has them.
_MOST_FLAG_BYTES, _MOST_FILES, _MOST_FILE_BYTES, _MOST_NAME_BYTES = 32 << 10, 200, 5_000_000, 200
_FILE_NAME = re.compile(r"[A-Za-z0-9_+][A-Za-z0-9_.+-]*(/[A-Za-z0-9_+][A-Za-z0-9_.+-]*)*", re.A)
_INCLUDE = re.compile(r"""^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]""", re.M)
_HOST_SOURCES, _DEVICE_SOURCES = (".cpp", ".cc", ".cxx", ".c"), (".cu",)


class NotBuilt(RuntimeError):
    """An extension is not there, and nobody has tried to build it."""


def as_list(value):
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def given(signature, arguments, options):
    """The arguments by name, as PyTorch's function takes them."""
    bound = signature.bind(*arguments, **options)
    bound.apply_defaults()
    for name, why in (("sycl_sources", "there is no compiler for SYCL"), ("extra_sycl_cflags", "there is no compiler for SYCL"),
                      ("with_sycl", "there is no compiler for SYCL"), ("is_standalone", "a candidate starts no programs")):
        if bound.arguments.get(name):
            raise NotBuilt(f"{name} is not supported: {why}")
    return bound.arguments


def flags_of(said):
    return {"cflags": [str(f) for f in as_list(said["extra_cflags"])], "cuda_cflags": [str(f) for f in as_list(said["extra_cuda_cflags"])],
            "ldflags": [str(f) for f in as_list(said["extra_ldflags"])],
            "include_paths": [str(f) for f in as_list(said["extra_include_paths"])]}


def describe(said):
    """What load_inline was asked for, as plain data; the engine compiles from this alone."""
    functions = said["functions"]
    if functions is None:
        functions = {}
    elif not isinstance(functions, dict):
        functions = {f: f for f in as_list(functions)}
    return {"name": str(said["name"]), "cpp": as_list(said["cpp_sources"]), "cuda": as_list(said["cuda_sources"]), "functions": functions,
            **flags_of(said), "error_handling": bool(said["with_pytorch_error_handling"]),
            "implicit_headers": not said.get("no_implicit_headers"), "files": {}}


def of_the_machine(folder):
    """Whether a folder of headers is there for the compilers, too, and is not the candidate's own."""
    places = ["/usr", "/opt", "/lib", sys.prefix, sys.base_prefix, os.path.dirname(torch.__file__)]
    return any(os.path.commonpath([folder, os.path.abspath(place)]) == os.path.abspath(place) for place in places)


def read_files(sources, searched, folders):
    """Texts by path: of the sources, and of what they include from beside them or from the folders that are `searched`, and those in
    turn; and the paths of all that is included. `folders` (Folders) gets to know which of them belong together."""
    texts, included, ahead, size = {}, set(), list(sources), 0
    while ahead:
        path = ahead.pop()
        if path in texts:
            continue
        with open(path, "rb") as file:
            data = file.read(_MOST_FILE_BYTES + 1)
        size += len(data)
        if size > _MOST_FILE_BYTES or len(texts) == _MOST_FILES:
            raise NotBuilt(f"load reads at most {_MOST_FILES} files of {_MOST_FILE_BYTES} bytes together")
        texts[path] = data.decode("utf-8", "replace")
        for quote, name in _INCLUDE.findall(texts[path]):
            beside = [os.path.dirname(path)] if quote == '"' else []
            places = ((folder, os.path.normpath(os.path.join(folder, name))) for folder in beside + searched)
            folder, found = next((place for place in places if os.path.isfile(place[1])), (None, None))
            if found:
                folders.tie(folder, os.path.dirname(found))
                included.add(found)
                ahead.append(found)
    return texts, included


def is_own(folder):
    """Whether it is of the candidate's folder."""
    return os.path.commonpath([folder, candidate_folder.home()]) == candidate_folder.home()


class Folders:
    """The candidate's own keep their names. Others that name one another's files by relative paths keep their places among each other;
    how they are called does not matter, for folders of temporary files have other names in each process."""

    def __init__(self):
        self.groups = []  # of folders, in the order in which they came

    def tie(self, *folders):
        folders = [folder for folder in folders if not is_own(folder)]
        tied = [group for group in self.groups if not group.isdisjoint(folders)] or [set()]
        if tied[0] not in self.groups:
            self.groups.append(tied[0])
        tied[0].update(folders, *tied[1:])
        self.groups = [group for group in self.groups if group and (group is tied[0] or group not in tied)]

    def name(self, folder):
        """The folder's path among the files of the description."""
        if is_own(folder):
            return os.path.normpath(os.path.join("candidate", os.path.relpath(folder, candidate_folder.home())))
        number, group = next((i, group) for i, group in enumerate(self.groups) if folder in group)
        return os.path.normpath(os.path.join(str(number), os.path.relpath(folder, os.path.commonpath(group))))

    def name_of(self, path):
        return os.path.join(self.name(os.path.dirname(path)), os.path.basename(path))


def describe_load(said):
    """What load was asked for: by the contents of its files, so that the engine compiles from this alone. Sources that are no files of
    the candidate's folder have numbers for names, for those of temporary files are others in each process."""
    sources = [os.path.abspath(source) for source in as_list(said["sources"])]
    flags = flags_of(said)
    searched = [folder for folder in map(os.path.abspath, flags["include_paths"]) if not of_the_machine(folder)]
    folders = Folders()
    for source in sources:
        folders.tie(os.path.dirname(source))
    texts, included = read_files(sources, searched, folders)
    used = [folder for folder in searched if is_own(folder) or any(folder in group for group in folders.groups)]
    files = {folders.name_of(path): texts[path] for path in sorted(included)}
    named = {"cpp": [], "cuda": []}
    for number, source in enumerate(sources):
        kind = os.path.splitext(source)[1]
        if kind not in _HOST_SOURCES + _DEVICE_SOURCES:
            raise NotBuilt(f"load of {os.path.basename(source)!r}: a source is a file of {', '.join(_HOST_SOURCES + _DEVICE_SOURCES)}")
        named_by = source if is_own(source) else os.path.join(os.path.dirname(source), f"source{number}{kind}")
        name = folders.name_of(named_by)
        files[name] = texts[source]
        named["cuda" if kind in _DEVICE_SOURCES else "cpp"].append(name)
    flags["include_paths"] = [path for path in flags["include_paths"] if of_the_machine(os.path.abspath(path))]
    flags["include_paths"] = [folders.name(folder) for folder in used] + flags["include_paths"]
    return {"name": str(said["name"]), **named, "functions": {}, **flags, "error_handling": True, "implicit_headers": False, "files": files}


def unusable_files(request):
    files = request["files"]
    if len(files) > _MOST_FILES or sum(len(text.encode("utf-8", "replace")) for text in files.values()) > _MOST_FILE_BYTES:
        return f"it has more than {_MOST_FILES} files, or {_MOST_FILE_BYTES} bytes in them"
    for name in files:
        if not _FILE_NAME.fullmatch(name) or len(name) > _MOST_NAME_BYTES:
            return f"the path {name[:_MOST_NAME_BYTES]!r} is longer than {_MOST_NAME_BYTES} bytes, or not of letters, digits and _ . + -"
        if any(name[:i] in files for i, c in enumerate(name) if c == "/"):
            return f"a folder of the path {name!r} is a file"
    return ""


def unusable(request):
    """Why the engine takes no such description (src/judge/compile/extension_request.h), or ""."""
    if not (len(request["key"]) == 64 and set(request["key"]) <= set("0123456789abcdef")):
        return "its key is none"
    if not request["name"] or not all(c.isascii() and (c.isalnum() or c == "_") for c in request["name"]):
        return "its name is no identifier"
    texts = [list(request["files"].values())] + [request[part] for part in ("cpp", "cuda", "cflags", "cuda_cflags", "ldflags", "include_paths")]
    if not all(isinstance(text, str) and "\0" not in text for part in texts for text in part):
        return "a source is no text, or holds a NUL"
    if len(request["name"]) + sum(len(text.encode("utf-8", "replace")) + 3 for part in texts[3:] for text in part) > _MOST_FLAG_BYTES:
        return f"its flags and paths have more than {_MOST_FLAG_BYTES} bytes"
    if any(isinstance(text, (dict, list, tuple)) for text in request["functions"].values()):
        return "a function's documentation is no text"
    return unusable_files(request)


def free_name(name, taken):
    """pybind11 gives a module that is initialised under a name once more to all others of that name."""
    return next(each for each in itertools.chain([name], (f"{name}_v{i}" for i in itertools.count(1))) if each not in taken)


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

    def recorder(signature, described_by):
        def recording(*arguments, **options):
            said = given(signature, arguments, options)
            described = described_by(said)
            name, known = described["name"], key(described)
            if known not in wanted:
                wanted[known] = {**described, "key": known, "name": free_name(name, {each["name"] for each in wanted.values()})}
            return _Unfinished(name) if said["is_python_module"] else f"{name}.so"
        return recording

    cpp_extension.load_inline, cpp_extension.load = recorder(_LOAD_INLINE, describe), recorder(_LOAD, describe_load)
    module, text = module_runner.new_module(request.source)
    try:
        module_runner.run_module(module, text)
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


def failed(name, why):
    """What PyTorch raises when a build fails."""
    return RuntimeError(f"Error building extension '{name}': {why}")


def serve_finished(spec, fds, ask=None):
    """Makes load_inline hand out the finished extensions of a RunnerSpec, which lie behind `fds`, and raise as PyTorch does where a
    compiler refused one. `ask`: is called with the description of any other, and returns why it is not built, if it returns."""
    ready, refused, loaded = {}, dict(spec.refused), {}
    taken = {name for _, name in spec.extensions}
    for (extension_key, name), fd in zip(spec.extensions, fds):
        path = f"{os.environ['TMPDIR']}/{extension_key[:16]}.so"
        with open(fd, "rb") as source, open(path, "wb") as target:
            target.write(source.read())
        ready[extension_key] = (name, path)

    def missing(request, known):
        if known in refused:
            return refused[known]
        asked = {**request, "key": known}
        why = unusable(asked)
        if why or ask is None:
            return why or "it was not there when the candidate was imported for building; call it at import or in __init__"
        return ask({**asked, "name": free_name(request["name"], taken)})

    def finder(signature, described_by):
        def finding(*arguments, **options):
            said = given(signature, arguments, options)
            request = described_by(said)
            found = ready.get(key(request))
            if found is None:
                raise failed(request["name"], missing(request, key(request)))
            if not said["is_python_module"]:
                torch.ops.load_library(found[1])
                return found[1]
            # By all that it is made of: several may have one name, or that of a module of somebody else's.
            if found not in loaded:
                loader = importlib.machinery.ExtensionFileLoader(*found)
                loaded[found] = importlib.util.module_from_spec(importlib.util.spec_from_loader(found[0], loader, origin=found[1]))
                loader.exec_module(loaded[found])
            return loaded[found]
        return finding

    cpp_extension.load_inline, cpp_extension.load = finder(_LOAD_INLINE, describe), finder(_LOAD, describe_load)
