#!/usr/bin/env python3
"""How likely a wrong candidate passes, by which of its calls are wrong: bench/stress_chances.py prints the table of docs/reference/trust.md.

Draws rounds as PlanRound() does (src/judge/round/round.cc) and ends them as Course::Settled() does, for a candidate that is nowhere
slower.
"""
import random

EVALUATIONS = 100_000
STRESS_EVERY, LOTS_OF_UNMET = 2, 3
WARM_UP = 2


def rounds(kinds, natural):
    """Yields (call, kind or None, kinds met before) until the evaluation ends."""
    met, done, call = set(), 0, 0
    while call < WARM_UP or done < natural or len(met) < kinds:
        call += 1
        kind = None
        if random.randrange(STRESS_EVERY + 1) == 0:
            kind = random.choice([k for k in range(kinds) for _ in range(1 if k in met else LOTS_OF_UNMET)])
        yield call, kind, frozenset(met)
        if kind is None:
            done += call > WARM_UP
        else:
            met.add(kind)


def chance(kinds, natural, cheats, wrong):
    """Of being accepted with at least half of the timed natural calls cheated: `cheats` says which calls are, `wrong` whether
    that shows on this kind of input."""
    accepted = 0
    for _ in range(EVALUATIONS):
        cheated, seen = 0, False
        for call, kind, met in rounds(kinds, natural):
            if cheats(call, met):
                cheated += kind is None and call > WARM_UP
                seen |= wrong(kind)
        accepted += not seen and cheated >= natural / 2
    return accepted / EVALUATIONS


def main():
    random.seed(1)
    print("| protocol | kinds | rounds | on one kind | on others than natural, from call 3 | from call 6 | once all were met | in one call of 10 | of 100 |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, kinds, natural in (("quick, at least", 2, 5), ("quick, at most", 2, 20), ("strict, at least", 5, 10), ("strict, 40 rounds", 5, 40)):
        mean = sum(sum(1 for _ in rounds(kinds, natural)) for _ in range(10_000)) / 10_000
        stressed = lambda kind: kind is not None  # noqa: E731
        row = [chance(kinds, natural, lambda call, met: True, lambda kind: kind == 0),
               chance(kinds, natural, lambda call, met: call >= 3, stressed),
               chance(kinds, natural, lambda call, met: call >= 6, stressed),
               chance(kinds, natural, lambda call, met: len(met) == kinds, stressed)]
        row += [0.9 ** mean, 0.99 ** mean]
        print(f"| {name} | {kinds} | {mean:.0f} | " + " | ".join(f"{100 * each:.2g}%" for each in row) + " |")


if __name__ == "__main__":
    main()
