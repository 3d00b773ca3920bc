"""What the engine tells a worker: the structs of src/wire/runner_spec.h. What their fields mean stands there."""

from dataclasses import dataclass

from . import ops


@dataclass
class Confinement:
    memory_bytes: int
    file_bytes: int
    tmp_bytes: int
    scratch: str
    readable: list
    writable: list
    without: list
    gpu: bool
    programs: bool
    namespaces: bool
    judges: bool


@dataclass
class RunnerSpec:
    device: str
    threads: int
    precision: str
    form: ops.ProblemForm
    profiler: str
    events: bool
    waits: bool
    reference: bool
    source: str
    copy_state: bool
    arena_bytes: int
    output_turns: int
    extensions: list
    refused: list
    may_ask: bool
    compiled: bool


@dataclass
class SpecFile:
    spec: RunnerSpec
    confinement: Confinement
    kernel: str
    extensions: list
    first_call: str
    profiled: bool


@dataclass
class Run:
    device: str
    threads: int
    profiler: str
    confinement: Confinement
    keep: str


@dataclass
class Native:
    program: str
    device: str
    threads: int
    profiler: str
    confinement: Confinement
    keep: str


@dataclass
class Device:
    library: str
    device: str
    threads: int
    cache: str
    confinement: Confinement
    keep: str


@dataclass
class Probe:
    pid: int
    secret_file: str
    abstract_socket: str
    tcp_port: int
    shm_id: int
    variable: str
    hostname: str
    threads: int
    confinement: Confinement
    keep: str


@dataclass
class Capture:
    source: str
    problem: str
    path: str
    size: str
    cores: list
    nice: int
    confinement: Confinement
    keep: str


@dataclass
class Import:
    pass


# By what they are started for.
WORKERS = {"run": Run, "native": Native, "device": Device, "probe": Probe, "capture": Capture, "import": Import}
