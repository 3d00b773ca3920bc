"""Is a problem fit to be scored? Its own reference is questioned by the judge that candidates meet.

An impostor is an answer without the work: zeros, a constant, a copy of an input, an old answer. It passes if it would be
judged correct on the natural inputs and on every input distribution that the problem allows, as `strict` asks.
"""

import torch

from . import trees
from .problem import all_finite, seed_generators

MOST_PERTURBED = 8  # inputs, and parameters, that are changed one at a time
IMPOSTORS = {
    "zeros": "a tensor of zeros",
    "constant": "a constant",
    "input copy": "a copy of an input",
    "old answer": "the answer to other inputs",
}


def evenly(items, count):
    """At most `count` of the items, from the first to the last."""
    if len(items) <= count:
        return list(items)
    return [items[i * (len(items) - 1) // (count - 1)] for i in range(count)]


class Audit:
    """One problem. `judge(distribution, got, expected)` is the worst error over what is allowed; at most 1 passes. `names`: the
    distributions of inputs that candidates meet; all that the problem allows unless told."""

    def __init__(self, problem, judge, names=None):
        self.problem, self.judge = problem, judge
        self.names = names or ["natural", *problem.distributions]
        self.failures, self.notes, self.worst, self.peak_bytes = [], list(problem.notes), {}, None
        self.drawn = {}

    def run(self):
        """Sets what it finds."""
        self._reset_peak()
        for check in (self._finite, self._repeats, self._impostors, self._inputs_matter, self._parameters_matter, self._precisions):
            check()
            if self.failures and check is self._finite:
                break  # what is not finite cannot be judged
        self.peak_bytes = self._peak()

    # -- the checks --------------------------------------------------------------------------------------------------

    def _finite(self):
        for name in self.names:
            if not all(map(all_finite, self._expected(name))):
                self.failures.append(f"the output on {name} inputs is not finite")

    def _repeats(self):
        structure, tensors, expected = self._draw("natural")
        if not self._accepts("natural", self._answer(structure, tensors), expected):
            self.failures.append("two calls with equal inputs and an equal generator differ by more than the budget")

    def _impostors(self):
        self.failures += [f"{IMPOSTORS[what]} passes" for what in self.passing_impostors()]

    def passing_impostors(self):
        """The keys of IMPOSTORS that would be judged correct."""
        makers = {"zeros": lambda name: [torch.zeros_like(t) for t in self._expected(name)],
                  "constant": lambda name: [torch.full_like(old, self._centre(old)) for old in self._old_answer(name)],
                  "input copy": self._input_copies, "old answer": self._old_answer}
        for what, make in makers.items():
            worst = 0.0
            for name in self.names:
                got = make(name)
                if got is None:  # no input has the size of the output
                    worst = None
                    break
                worst = max(worst, self.judge(name, got, self._expected(name)))
                if worst > 1:
                    break  # found out
            self.worst[what] = worst
        return [what for what in makers if self.worst[what] is not None and self.worst[what] <= 1]

    def _inputs_matter(self):
        count = len(self._draw("natural")[1])
        unseen = []
        for i in evenly(range(count), MOST_PERTURBED):
            seen_on = self._first_that_shows(lambda name, i=i: self._answer_to_other_input(name, i))
            if seen_on is None:
                self.failures.append(f"input {i} does not matter")
            elif seen_on != "natural":
                unseen.append(str(i))
        if unseen:
            self.notes.append(f"natural inputs alone do not show that input {', '.join(unseen)} matters")

    def _parameters_matter(self):
        parameters = [(name, p) for name, p in self.problem.models[0].named_parameters() if p.is_floating_point() and p.numel()]
        tried, idle = evenly(parameters, MOST_PERTURBED), []
        for name, parameter in tried:
            kept = parameter.detach().clone()
            change = torch.randn_like(parameter) * (0.5 * kept.abs().mean() + 0.05)
            if self._first_that_shows(lambda where, p=parameter, k=kept, c=change: self._answer_of_other_weights(where, p, k, c)) is None:
                idle.append(name)
        if tried and len(idle) == len(tried):
            self.failures.append("no parameter matters")
        elif idle:
            self.notes.append(f"parameters that do not matter: {', '.join(idle)}")

    def _first_that_shows(self, changed_answer):
        """The first distribution on which the old answer would be wrong after the change; None: it passes everywhere."""
        for name in self.names:
            changed = changed_answer(name)
            if not self._accepts(name, self._expected(name), changed):
                return name
        return None

    def _precisions(self):
        """Would a candidate pass that computes in less? Recorded, not required."""
        if self.problem.dtype != torch.float32:
            return
        for what, dtype in (("fp16", torch.float16), ("bf16", torch.bfloat16)):
            self.worst[what] = self._worst_of(lambda name, dtype=dtype: self._in_precision(name, dtype))
        if self.problem.device != "cpu":
            self.worst["tf32"] = self._worst_of(self._in_tf32)

    # -- answers -----------------------------------------------------------------------------------------------------

    def _answer(self, structure, tensors):
        return [t.contiguous() for t in self.problem.outputs(self.problem.forward(0, structure, [t.clone() for t in tensors], 1))]

    def _draw(self, name):
        """Inputs of this distribution and what the reference makes of them; the same ones during the audit."""
        if name not in self.drawn:
            structure, tensors = self.problem.draw(name)
            self.drawn = {name: (structure, tensors, self._answer(structure, tensors))}  # one at a time: they may be large
        return self.drawn[name]

    def _expected(self, name):
        return self._draw(name)[2]

    def _other_inputs(self, name):
        return self.problem.draw(name)

    def _answer_to_other_input(self, name, i):
        structure, tensors, _ = self._draw(name)
        _, others = self._other_inputs(name)
        return self._answer(structure, [others[k] if k == i else t for k, t in enumerate(tensors)])

    def _answer_of_other_weights(self, name, parameter, kept, change):
        structure, tensors, _ = self._draw(name)
        parameter.data.add_(change)
        try:
            return self._answer(structure, tensors)
        finally:
            parameter.data.copy_(kept)

    def _old_answer(self, name):
        return self._answer(*self._other_inputs(name))

    def _input_copies(self, name):
        """For each output the first input that has as many elements, or more."""
        _, tensors, expected = self._draw(name)
        copies = []
        for output in expected:
            source = next((t for t in tensors if t.dtype == output.dtype and t.numel() >= output.numel()), None)
            if source is None:
                return None
            copies.append(source.reshape(-1)[:output.numel()].reshape(output.shape).contiguous())
        return copies

    def _in_precision(self, name, dtype):
        structure, tensors, expected = self._draw(name)
        model = self.problem.new_model().to(self.problem.device)
        model.load_state_dict(self.problem.models[0].state_dict())
        narrow = [t.to(dtype) if t.dtype == torch.float32 else t.clone() for t in tensors]
        seed_generators(1, self.problem.device)
        outputs = self.problem.outputs(trees.call(model.to(dtype), structure, narrow), wide=True)
        return [t.to(e.dtype).contiguous() for t, e in zip(outputs, expected)]

    def _in_tf32(self, name):
        structure, tensors, _ = self._draw(name)
        kept = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = True
        try:
            return self._answer(structure, tensors)
        finally:
            torch.backends.cuda.matmul.allow_tf32 = kept

    # -- judging -----------------------------------------------------------------------------------------------------

    def _accepts(self, name, got, expected):
        return self.judge(name, got, expected) <= 1

    def _worst_of(self, make):
        """Over all distributions; None if it cannot run."""
        worst = 0.0
        for name in self.names:
            try:
                worst = max(worst, self.judge(name, make(name), self._expected(name)))
            except (RuntimeError, TypeError, ValueError):
                return None
        return worst

    @staticmethod
    def _centre(tensor):
        return tensor.double().mean().item() if tensor.is_floating_point() else tensor.flatten()[:1].sum().item()

    def _reset_peak(self):
        if self.problem.device != "cpu":
            torch.cuda.reset_peak_memory_stats()

    def _peak(self):
        return torch.cuda.max_memory_allocated() if self.problem.device != "cpu" else None
