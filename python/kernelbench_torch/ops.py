"""What the engine asks of the device process: the requests of src/wire/ops.h and, where Python writes an answer out, its Reply. What
their fields mean stands there."""

import dataclasses
import json
import typing
from dataclasses import dataclass

REQUESTS = {}  # by the name of the operation


def operation(name):
    def known(kind):
        REQUESTS[name] = dataclass(kind)
        return REQUESTS[name]
    return known


def request(message, kinds=REQUESTS):
    """(name, request) of a message. A field that it lacks, or that nobody knows, is a bug of the engine."""
    fields = dict(message)
    name = fields.pop("op")
    return name, decoded(kinds[name], fields)


def decoded(kind, value):
    """An object of a dataclass, and those in it, from JSON."""
    if typing.get_origin(kind) is list:
        return [decoded(*typing.get_args(kind), each) for each in value]
    if not dataclasses.is_dataclass(kind):
        return value
    kinds = {field.name: field.type for field in dataclasses.fields(kind)}
    return kind(**{name: decoded(kinds.get(name), each) for name, each in value.items()})


def encoded(value):
    """JSON, as bytes, of what may hold objects of dataclasses."""
    return json.dumps(value, default=dataclasses.asdict).encode()


@dataclass
class Nothing:
    pass


@dataclass
class BuildFacts:
    version: str
    python_include: str
    library_path: str
    standard: str
    nvrtc: str
    include_paths: list
    libraries: dict

    @dataclass
    class Library:
        include: str
        files: list


@dataclass
class DeviceFacts:
    name: str
    flush: str
    torch: str
    python: str
    cores: int
    last_level_cache: int
    copy_gb_s: float
    rates: dict
    profiler: str
    build: BuildFacts
    compute_capability: str = ""
    cuda: str = ""
    memory: int = 0


@operation("hello")
class Hello:
    Reply = DeviceFacts


@dataclass
class Tensor:
    dtype: tuple
    shape: list
    strides: list
    offset: int
    bytes: int
    name: str = ""


@dataclass
class ProblemForm:
    inputs: list[Tensor]
    outputs: list[Tensor]
    parameters: list[Tensor]
    structure: dict
    output_structure: dict
    init: dict
    scalars: list
    init_scalars: list
    may_alias: bool
    construct_on: str


@dataclass
class Layout:
    inputs: list[Tensor]
    outputs: list[Tensor]
    parameters: list[Tensor]
    inputs_bytes: int
    outputs_bytes: int
    parameters_bytes: int
    without: list = ()
    holds: bool = True


@dataclass
class Problem:
    sha256: str
    form: ProblemForm
    fresh: bool
    roomy: bool
    needs_rng: bool
    weight_seeds: list
    distributions: list
    notes: list


@operation("problem")
class LoadProblem:
    path: str
    sha256: str
    size: str
    precision: str
    weight_seeds: list
    memory_bytes: int
    figures: dict
    text: typing.Optional[str]

    Reply = Problem


@operation("clocks")
class Clocks:
    @dataclass
    class Reply:
        clocks: object


@operation("memory_taken")
class MemoryTaken:
    @dataclass
    class Reply:
        taken: int
        planned: int


@operation("anchor")
class Anchor:
    distribution: str
    rounds: int
    tolerance: dict

    @dataclass
    class Reply:
        judgeable: bool
        notes: list


@operation("impostors")
class Impostors:
    distributions: list
    tolerance: dict

    @dataclass
    class Reply:
        passing: list


@dataclass
class AuditReport:
    failures: list
    notes: list
    worst: dict
    budgets: dict
    peak_bytes: int | None


@operation("audit")
class Audit:
    tolerance: dict

    Reply = AuditReport


@operation("session")
class BeginSession:
    module: bool
    holds: bool
    without: list


@operation("end_session")
class EndSession:
    pass


@operation("share")
class Share:
    reuse: bool
    beside: bool

    @dataclass
    class Reply:
        arena_bytes: int
        output_turns: int


@operation("attach")
class Attach:
    pid: int


@operation("reference_source")
class ReferenceSource:
    size: str
    kind: str

    @dataclass
    class Reply:
        source: str


@operation("share_reference")
class ShareReference:
    holds: bool

    @dataclass
    class Reply:
        room: bool
        arena_bytes: int = 0
        output_turns: int = 0


@operation("attach_reference")
class AttachReference:
    pid: int


@operation("end_reference")
class EndReference:
    pass


@operation("call")
class Call:
    kind: int
    argument: int
    timeout_us: float


@operation("call_reference")
class CallReference:
    kind: int
    argument: int
    timeout_us: float


@operation("observe")
class Observe:
    timeout_us: float
    settings: dict


@operation("weights")
class SetWeights:
    index: int

    @dataclass
    class Reply:
        seed: int


@operation("draw")
class Draw:
    distribution: str
    seed: int | None

    @dataclass
    class Reply:
        rng_seed: int


@operation("present")
class Present:
    in_place: bool


@operation("check_inputs")
class CheckInputs:
    pass


@operation("baseline")
class Baseline:
    alone: bool
    timeout_us: float

    @dataclass
    class Reply:
        us: float
        launch_us: float
        event_us: float
        gap_us: float
        waited_us: float
        clock_mhz: float
        end: str
        report: dict | None
        malformed: str


@operation("expect")
class Expect:
    pass


@operation("compare")
class Compare:
    distribution: str
    tolerance: dict

    @dataclass
    class Reply:
        outputs: list
        late: bool
        own_anchor: bool = False


@operation("flush")
class Flush:
    pass


@operation("keep_outputs")
class KeepOutputs:
    pass


@operation("outputs_equal_kept")
class OutputsEqualKept:
    @dataclass
    class Reply:
        equal: bool
