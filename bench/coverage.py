#!/usr/bin/env python3
"""How often does the interval hold the truth, if a measurement ends at the first look at which it is narrow enough? A simulation.

    bench/coverage.py [--trials 4000] [--half-width 0.01] [--in-a-row 3] [--steady-baseline]

For several rules: the rounds after which is looked (`round_checks`) and the confidence of each look. Noise of both sides is normal, skewed, or
normal with a tenth of the calls late by up to eight sigma. Told are coverage and mean rounds for a growing sigma, in percent of a call.
--steady-baseline: the baseline always takes the median of the candidate's times. --in-a-row: so many rounds, and then one with other inputs, as
under `strict`; the one behind it has one ratio.

And what does a candidate come out as that takes as long as its baseline, after twenty rounds? For ratios to each of the two baselines beside a call,
and for ratios to their mean; also where a third of the calls is late by up to ten sigma, and on a machine that is 20 sigma slower for some calls at a
time. Needs numpy; EstimateSpeedup() in src/judge/stats, written once more.
"""

import argparse
import functools
import math

import numpy

FOUR, EIGHT = (10, 20, 40, 100), (10, 14, 20, 28, 40, 56, 80, 100)
RULES = {"four looks, a share each": (FOUR, 0.9875), "eight looks, a share each": (EIGHT, 1 - 0.05 / 8), "eight looks, half of the error": (EIGHT, 0.975),
         "eight looks, all of the error": (EIGHT, 0.95)}
SIGMAS = (0.3, 0.6, 0.8, 1.0, 1.3, 1.6, 2.0, 2.5, 3.0)
random = numpy.random.default_rng(1)


def normal(sigma, shape):
    return 1 + sigma * random.standard_normal(shape)


def skewed(sigma, shape):
    z = random.standard_normal(shape)
    return numpy.exp(1.2 * sigma * (0.5 * numpy.abs(z) ** 1.5 * numpy.sign(z) + 0.8 * (random.exponential(1, shape) - math.log(2))))


def late(sigma, shape):
    return normal(sigma, shape) + (random.random(shape) < 0.1) * 8 * sigma * random.random(shape)


def later(sigma, shape):
    return normal(sigma, shape) + (random.random(shape) < 1 / 3) * 10 * sigma * random.random(shape)


def states(sigma, shape):
    slow = (numpy.cumsum(random.random(shape) < 0.15, axis=1) + random.integers(0, 2, (shape[0], 1))) % 2
    return normal(sigma, shape) * (1 + 20 * sigma * slow)


@functools.cache
def rank(n, confidence):
    """The largest k for which the k-th smallest to the k-th largest of n values hold the median with `confidence`; at least 1."""
    best, below = 1, 0.5 ** n
    for k in range(2, (n + 1) // 2 + 1):
        below += math.comb(n, k - 1) * 0.5 ** n
        if 1 - 2 * below < confidence:
            break
        best = k
    return best


def ratios_to(calls):
    """Of calls B A B A ... B: each A's ratios to the two B beside it, [trial, round, 2]."""
    return numpy.stack((calls[:, :-1:2] / calls[:, 1::2], calls[:, 2::2] / calls[:, 1::2]), axis=2)


def worth(candidate, baseline, follows):
    """How many values the ratios of each trial are worth."""
    def scatter(times):
        steps = numpy.diff(times, axis=1)
        return (numpy.median(numpy.abs(steps - numpy.median(steps, axis=1, keepdims=True)), axis=1) / numpy.median(times, axis=1)) ** 2
    a, b = scatter(candidate), scatter(baseline)
    share = numpy.where(a + b > 0, a / numpy.where(a + b > 0, a + b, 1), 1)
    ratios = len(follows) + follows.sum()
    agreement = follows.sum() * numpy.arcsin(share) + follows[1:].sum() * numpy.arcsin(1 - share)
    return numpy.maximum(1, ratios ** 2 / (ratios + 4 / math.pi * agreement) + 1e-9).astype(int)


def interval(pooled, counts, confidence):
    """(low, high) of each trial, whose ratios are sorted."""
    low, high = numpy.empty(len(pooled)), numpy.empty(len(pooled))
    for count in numpy.unique(counts):
        rows = pooled[counts == count]
        place = (rank(int(count), confidence) - 0.5) * rows.shape[1] / count - 0.5
        below, part = int(place), place - int(place)
        low[counts == count] = rows[:, below] * (1 - part) + rows[:, below + 1] * part
        high[counts == count] = rows[:, -1 - below] * (1 - part) + rows[:, -2 - below] * part
    return low, high


def simulate(noise, sigma, looks, confidence, arguments):
    """(coverage, mean rounds)"""
    trials = arguments.trials
    calls = noise(sigma, (trials, 2 * looks[-1] + 1))
    if arguments.steady_baseline:
        calls[:, ::2] = numpy.median(noise(sigma, (1, 400_000)))
    ratios, follows = ratios_to(calls), numpy.arange(looks[-1]) % arguments.in_a_row > 0
    ratios[:, ~follows, 0] = numpy.nan  # sorted behind all others
    done, held, rounds = numpy.zeros(trials, bool), numpy.zeros(trials, bool), numpy.zeros(trials)
    for look in looks:
        pooled = numpy.sort(ratios[:, :look].reshape(trials, -1), axis=1)[:, :look + follows[:look].sum()]
        low, high = interval(pooled, worth(calls[:, 1:2 * look:2], calls[:, 2:2 * look + 1:2], follows[:look]), confidence)
        ends = ~done & (((high - low) / 2 / numpy.median(pooled, axis=1) <= arguments.half_width) | (look == looks[-1]))
        held[ends] = ((low <= 1) & (1 <= high))[ends]
        rounds[ends] = look
        done |= ends
    return held.mean(), rounds.mean()


def against_itself(noise, sigma, trials):
    """Median and standard deviation over trials of twenty rounds, for ratios to each neighbour and to the mean of both."""
    ratios = ratios_to(noise(sigma, (trials, 41)))
    speedups = numpy.median(ratios.reshape(trials, -1), axis=1), numpy.median(ratios.mean(axis=2), axis=1)
    return [f"{numpy.median(s):.4f} ± {s.std():.4f}" for s in speedups]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=4000)
    parser.add_argument("--half-width", type=float, default=0.01)
    parser.add_argument("--in-a-row", type=int, default=3)
    parser.add_argument("--steady-baseline", action="store_true")
    arguments = parser.parse_args()
    print(f"| noise | rule | least coverage | rounds at sigma {', '.join(f'{s}%' for s in SIGMAS)} |\n|---|---|---|---|")
    for noise in (normal, skewed, late):
        for name, (looks, confidence) in RULES.items():
            told = [simulate(noise, s / 100, looks, confidence, arguments) for s in SIGMAS]
            print(f"| {noise.__name__} | {name} | {min(c for c, _ in told):.3f} | {', '.join(f'{r:.0f}' for _, r in told)} |", flush=True)
    print("\n| noise | sigma | ratios to each neighbour | ratios to their mean |\n|---|---|---|---|")
    for noise in (normal, skewed, late, later, states):
        for sigma in (1, 3, 5):
            print(f"| {noise.__name__} | {sigma}% | {' | '.join(against_itself(noise, sigma / 100, arguments.trials))} |", flush=True)


if __name__ == "__main__":
    main()
