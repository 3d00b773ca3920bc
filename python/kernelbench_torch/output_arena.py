"""Where a module's outputs lie: but for loading and constructing, torch takes memory from the shared outputs (src/runner/arena.h).

So outputs need not be copied to where the judge can read them. What a candidate returns from elsewhere, such as a view of an input, the
memory of a CUDA graph or a tensor made in its constructor, is copied here, inside the time that counts.
"""

import ctypes
import threading

import torch
from torch.cuda.memory import CUDAPluggableAllocator

_ALIGNMENT = 512  # Arena::kAlignment


class OutputArena:
    """Between enter() and leave() the allocations of this thread come from the arena, as far as it reaches. On a GPU both take some
    microseconds, so it stays entered from one call to the next.

    Where an output lies makes up to 4% of a short call on a GPU, for better or worse (bench/results/aa_cuda.md). So outputs of the last
    calls rest, and keep their memory, until it is their turn: the next ones come to lie elsewhere, and in the end everywhere."""

    def __init__(self):
        self._active, self._thread = False, None
        self._resting, self._turn, self._last = [], 0, None
        self._spare = []  # places outside the arena, for what is copied when it is full

    def _begin_turns(self, outputs, turns):
        """`outputs`: tensors of the outputs' form, which lie in `turns` places and one more in turn."""
        self.enter()
        for _ in range(turns):
            places = [torch.empty_like(t, memory_format=torch.contiguous_format) for t in outputs]
            if all(self._holds(t) for t in places):
                self._resting.append(places)

    def enter(self):
        if not self._active:
            self._begin()
            self._active, self._thread = True, threading.get_ident()

    def leave(self):
        if self._active:
            self._active = False
            self._stop()

    def place(self, number, tensor):
        """Output `number`: the same tensor, contiguous and in the arena, or a copy that is."""
        tensor = tensor.resolve_conj().resolve_neg().contiguous()
        if self._holds(tensor):
            return tensor
        placed = torch.empty_like(tensor)
        if not self._holds(placed) and self._resting:  # what forward needs besides has left no whole segment
            self._resting = []
            placed = torch.empty_like(tensor)
        if not self._holds(placed) and self._spare:
            return self._spare[number].copy_(tensor)
        if not self._holds(placed):
            raise torch.OutOfMemoryError("the memory for outputs is used up by tensors that the candidate keeps")
        return placed.copy_(tensor)

    def keep(self, placed):
        """The outputs of the call that ends: they stay until turn()."""
        self._last = placed

    def turn(self):
        """After a call, and not while a clock runs: its outputs rest, and those whose turn it is give their memory to the next ones.
        A part of something larger does not rest, for that would."""
        placed, self._last = self._last, None
        if placed and self._resting and all(t.untyped_storage().nbytes() == t.nbytes for t in placed):
            self._resting[self._turn] = placed
            self._turn = (self._turn + 1) % len(self._resting)
        del placed
        self.enter()

    def _holds(self, tensor):
        first = tensor.data_ptr()
        return not tensor.nbytes or (self._base <= first and first + tensor.nbytes <= self._end)

    def offset(self, tensor):
        return tensor.data_ptr() - self._base if tensor.numel() else 0


class GpuArena(OutputArena):
    """All that torch takes comes from there."""

    def __init__(self, library):
        """Before the process is confined: the library is looked up once more. `library`: as runner_library.load() gives it."""
        super().__init__()
        self._library = library
        self._allocator = CUDAPluggableAllocator(library._name, "kbr_arena_alloc", "kbr_arena_free")

    def open(self, base, size, outputs, turns):
        """Once CUDA is there: the arena is `size` bytes at address `base`."""
        self._base, self._end = base, base + size
        self._library.kbr_arena_open(base, size)
        self._pool = torch.cuda.MemPool(self._allocator.allocator())
        self._begin_turns(outputs, turns)
        self._keep_graphs_out()

    def _begin(self):
        torch._C._cuda_beginAllocateCurrentThreadToPool(0, self._pool.id)

    def _stop(self):
        torch._C._cuda_endAllocateToPool(0, self._pool.id)
        torch._C._cuda_releasePool(0, self._pool.id)

    def _keep_graphs_out(self):
        """The memory of a CUDA graph stays the graph's own: what is recorded in forward must not share it with later calls."""
        arena, graph = self, torch.cuda.CUDAGraph
        begin, end = graph.capture_begin, graph.capture_end

        def capture_begin(self, *args, **kwargs):
            self._kb_left_arena = arena._active and threading.get_ident() == arena._thread
            if self._kb_left_arena:
                arena.leave()
            try:
                return begin(self, *args, **kwargs)
            except BaseException:
                go_back(self)
                raise

        def capture_end(self):
            try:
                end(self)
            finally:
                go_back(self)

        def go_back(self):
            if getattr(self, "_kb_left_arena", False):
                self._kb_left_arena = False
                arena.enter()

        graph.capture_begin, graph.capture_end = capture_begin, capture_end


class HostArena(OutputArena):
    """What is as large as an output comes from there (src/runner/output_memory.h). Without the library that does it, or with a torch that
    takes its memory elsewhere, outputs are copied: that is slower and as right."""

    def __init__(self):
        super().__init__()
        preloaded = ctypes.CDLL(None)
        self._library = preloaded if hasattr(preloaded, "kbm_open") else None
        if self._library:
            self._library.kbm_reach.restype = ctypes.c_uint64
        self._base = self._end = 0

    def open(self, base, size, outputs, turns):
        """`size` bytes at address `base`, once in a process: `outputs`, places that lie at their beginning, and the arena behind them."""
        self._base, self._end = base, base + size
        first = max((t.data_ptr() + t.nbytes for t in outputs if t.nbytes), default=base)
        first += -first % _ALIGNMENT
        if self._library:
            self._library.kbm_open(ctypes.c_void_p(first), ctypes.c_uint64(self._end - first))
        self.serve(outputs)
        self._begin_turns(outputs, turns)

    def serve(self, outputs):
        """From now on it is for outputs of this form; these are where they are copied to if need be."""
        self._spare = outputs
        sizes = sorted({t.nbytes for t in outputs if t.nbytes})
        if self._library:
            self._library.kbm_admit((ctypes.c_uint64 * max(len(sizes), 1))(*sizes), len(sizes))

    def keep(self, placed):
        """Nothing. A process that is stopped takes no memory, so what is given back before the answer is there until the next call; and
        what is left to do behind the answer may fall into the next call's clock."""

    def reach(self):
        """How many bytes of it were in use at a time since serve(), at most."""
        return self._library.kbm_reach() if self._library else 0

    def _begin(self):
        if self._library:
            self._library.kbm_enter()

    def _stop(self):
        if self._library:
            self._library.kbm_leave()
