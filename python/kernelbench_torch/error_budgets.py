"""How far the reference is from the truth: what the error budgets of a problem know (src/device/compare.h)."""

import json

from . import ops, trees
from .problem import ProblemError, readable


# Tensors of an anchor from where on memory is not kept for the next one, whose smaller tensors would divide it. Taking it takes time.
_LARGE_BYTES = 1 << 30


class Operations:
    """Those of the device process (device_host.py) that are about error budgets."""

    def anchor(self, request):
        """How far is the reference from fp64 on this distribution? Adds to its budgets up to `rounds` anchors."""
        problem, name, tolerance = self.problem, request.distribution, json.dumps(request.tolerance).encode()
        budgets, done = problem.budgets.get(name, ([], 0))
        if done < request.rounds:
            self.free_sessions()  # fp64 needs the room
        while done < request.rounds:
            weights = done % len(problem.models)
            structure, tensors = problem.draw(name)
            if not problem.needs_rng and not problem.anchors_fit():
                raise ProblemError(f"{problem.path} at this size needs {readable(problem.plan.anchors() + problem.windows)} in fp64, "
                                   f"{readable(problem.free_now())} are free; choose a smaller --size")
            truth = None if problem.needs_rng else problem.forward_fp64(weights, structure, tensors)
            if truth is None:
                budgets = [None] * len(problem.output_examples)
                done = request.rounds
                break
            unchanged = self.for_tf32(tensors)
            versions = [t._version for t in tensors] if problem.keeps_inputs else []
            expected = [t.contiguous() for t in problem.outputs(problem.forward(weights, structure, tensors, 1))]
            if problem.keeps_inputs and versions != [t._version for t in tensors]:  # though not those that it was tried on
                problem.keeps_inputs, unchanged = False, []
            budgets = budgets or [self.lib.kbd_budget_new() if t.is_floating_point() else None for t in expected]
            for budget, a, b in zip(budgets, expected, truth):
                if budget and problem.errors_wander:
                    self.lib.kbd_budget_pool(budget)
                self.add_anchor(budget, a, b)
            expected = a = b = None
            self.allow_tf32(budgets, weights, structure, unchanged, truth, tolerance)
            done += 1
            tensors = unchanged = truth = None
            if problem.plan.inputs + problem.plan.outputs > _LARGE_BYTES:
                self.release_memory()
        if (budgets, done) != problem.budgets.get(name):
            problem.budgets[name] = (budgets, done)
            self.release_memory()
        judgeable = all(b is None or self.lib.kbd_budget_judgeable(b, tolerance) for b in budgets)
        return ops.Anchor.Reply(judgeable=judgeable, notes=problem.notes)

    def anchored_here(self, budgets, tolerance):
        """Budgets that know too how far the reference is from fp64 on this round's own inputs; [] where that cannot be found out.
        Where few elements of a block depend on the inputs at all, an anchor may have met none of them."""
        copies, notes = [], list(self.problem.notes)
        try:
            if self.problem.windows and not self.problem.anchors_fit():
                return []
            truth = None if self.problem.needs_rng else self.problem.forward_fp64(self.weights, self.structure, self.inputs)
            if truth is None or len(truth) != len(budgets):
                return []
            for budget, a, b in zip(budgets, self.expected, truth):
                copies.append(self.lib.kbd_budget_copy(self.device, budget) if budget else None)
                if budget and not copies[-1]:
                    raise MemoryError
                self.add_anchor(copies[-1], a, b)
            self.allow_tf32(copies, self.weights, self.structure, self.for_tf32(self.inputs), truth, tolerance)
        except (MemoryError, RuntimeError):  # beside a candidate there may be too little memory: then the anchors decide
            for budget in filter(None, copies):
                self.lib.kbd_budget_free(budget)
            copies = []
        finally:
            truth = a = b = None
            self.problem.notes[:] = notes  # that fp64 did not run beside a candidate says nothing of the problem
            self.release_memory()
        return copies

    def for_tf32(self, tensors):
        """Inputs for allow_tf32(), which other calls leave alone; none where it needs none."""
        if not self.problem.may_be_tf32:
            return []
        return tensors if self.problem.keeps_inputs else [t.clone() for t in tensors]

    def allow_tf32(self, budgets, weights, structure, tensors, truth, tolerance):
        """Replaces budgets by wider ones, which know what convolutions in TF32 err on these inputs too (tf32.py): but for those with
        which nothing could be judged any more."""
        outputs = self.problem.forward_tf32(weights, structure, tensors) if tensors else None
        for i, (budget, a, b) in enumerate(zip(budgets, outputs or [], truth)):
            wider = self.lib.kbd_budget_copy(self.device, budget) if budget else None
            if not wider:
                continue
            self.add_anchor(wider, a, b)
            fit = self.lib.kbd_budget_judgeable(wider, tolerance)
            budgets[i] = wider if fit else budget
            self.lib.kbd_budget_free(budget if fit else wider)

    def add_anchor(self, budget, expected, truth):
        code, bits, _ = trees.DTYPES[expected.dtype]
        if budget:
            self.lib.kbd_budget_add(self.device, budget, code, bits, expected.numel(), expected.data_ptr(), truth.data_ptr())
