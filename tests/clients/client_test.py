"""The client against the real service: what it takes for an answer, and what it does when the network or the service fails."""

import asyncio
import json
import os
import pathlib
import pickle
import signal
import sys
import threading
import tracemalloc
import unittest
from unittest import mock

from service import QUICK, RIGHT, WRONG, Proxy, Service, until

from kernelbench_client import AsyncClient, Candidate, Client, KernelbenchError, Refused, UnexpectedAnswer, Unreachable, summary


def setUpModule():
    global service
    service = Service()


def tearDownModule():
    service.close()


def candidate(source, **more):
    return Candidate("1/19", source, **{**QUICK, **more})


def answer(text, **more):
    return Candidate("1/19", answer=text, **{**QUICK, **more})


def rejected(number):
    """Judged by its text alone: reward 0."""
    return candidate(f"# candidate {number} of {id(service)} and {os.urandom(4).hex()}\n")


def mixture(mark):
    """Candidates and what sure_gain gives for them: a library did the work, wrong, no candidate."""
    sources = [(RIGHT, 0.3), (WRONG, 0.0), ("def f(:\n", 0.0), (RIGHT, 0.3), ("", 0.0), (WRONG, 0.0)]
    return [candidate(f"{source}# {mark}/{i}\n") for i, (source, _) in enumerate(sources)], [reward for _, reward in sources]


class Asked(unittest.TestCase):
    def setUp(self):
        self.client = Client(service.url, service.token)

    def test_what_there_is(self):
        self.assertEqual(self.client.health()["status"], "healthy")
        self.assertIn("1/19", [each["name"] for each in self.client.problems()])
        self.assertIn("class Model", self.client.problem("1/19")["source"])
        self.assertIn("quick", [each["name"] for each in self.client.protocols()])
        self.assertIn("sure_gain", self.client.reward_names())

    def test_one_evaluation(self):
        told = self.client.evaluate(candidate(RIGHT + "# one"))
        self.assertEqual((told.verdict, told.authorship, told.no_speedup, told.ended), ("correct", "library", "not_measured", True))
        wrong = self.client.evaluate(candidate(WRONG + "# one"), whole=True)
        self.assertEqual((wrong.verdict, wrong.fault, wrong.retryable), ("incorrect", "candidate", False))
        self.assertIn("measurements", json.dumps(wrong.raw["evaluation"]))

    def test_submitted_followed_and_waited_for(self):
        told = self.client.submit(candidate(RIGHT + "# submitted"))
        self.assertFalse(told.ended)
        events = list(self.client.events(told.id))
        self.assertEqual([event.number for event in events], list(range(len(events))))
        self.assertEqual((events[0].name, events[-1].name, events[-1].data["verdict"]), ("queued", "done", "correct"))
        self.assertEqual(self.client.wait(told.id).verdict, "correct")
        self.assertEqual(self.client.get(told.id).verdict, "correct")
        with self.assertRaises(Refused) as refused:
            self.client.cancel(told.id)
        self.assertEqual((refused.exception.status, refused.exception.fault, refused.exception.retryable), (409, "caller", False))

    def test_batch_and_cancel(self):
        batch = self.client.batch([candidate(f"{RIGHT}# batch {i}") for i in range(200)])
        last = self.client.cancel(batch.evaluations[-1].id)
        self.assertEqual(last.state, "cancelled")
        self.client.cancel_batch(batch.id)
        told = self.client.wait_batch(batch.id)
        self.assertEqual((told.open, len(told.evaluations)), (0, 200))
        self.assertEqual({one.verdict for one in told.evaluations if one.state == "done"} - {"correct"}, set())

    def test_what_is_wrong_is_told_at_once(self):
        for wrong, status in ((candidate(RIGHT, size="tiny"), 400), (Candidate("9/99", RIGHT), 400)):
            with self.assertRaises(Refused) as refused:
                self.client.rewards([rejected(0), wrong])
            self.assertEqual((refused.exception.status, refused.exception.fault, refused.exception.retryable), (status, "caller", False))
        with self.assertRaises(Refused) as refused:
            Client(service.url, "kb_wrong").problems()
        self.assertEqual(refused.exception.status, 401)
        with self.assertRaises(Refused) as refused:
            self.client.rewards([answer("x", name="candidate.cpp", backend="cpp")])
        self.assertIn("a candidate of backend cpp is a .py file", refused.exception.detail)
        with self.assertRaises(Refused) as refused:
            self.client.rewards([rejected(0)], "no_such_reward")
        self.assertIn("no_such_reward", refused.exception.detail)

    def test_rewards_are_those_of_the_service(self):
        candidates, rewards = mixture("order")
        body = {"reward": "sure_gain", "evaluations": [each.to_json() for each in candidates]}
        self.assertEqual([one["reward"] for one in json.loads(service.ask("/v1/rewards", body))["rewards"]], rewards)
        got = Client(service.url, service.token, chunk=2, in_flight=2).rewards(iter(candidates))
        self.assertEqual([one.reward for one in got], rewards)
        seen = summary(got)
        self.assertEqual((seen["null"], seen["rejected"], seen["library"]), (0, 2 / 6, 2 / 6))
        self.assertEqual(self.client.rewards([]), [])
        increments = self.client.rewards(candidates[:2], "sure_increments", best=[0.1, None])
        self.assertEqual([round(one.reward, 6) for one in increments], [0.2, 0.0])

    def test_null_where_there_is_no_number(self):
        got = self.client.rewards([candidate(RIGHT + "# null"), candidate(WRONG + "# null")], "correct_and_speedup")
        self.assertEqual([one.reward for one in got], [None, 0.0])
        self.assertEqual((got[0].evaluation.no_speedup, got[0].error), ("not_measured", None))

    def test_what_a_policy_may_write(self):
        strange = ["\ud800\udfff", "\0\0\0", "kernelbench folder\n", "\ufeff", "x" * (4 << 20)]
        completions = ["I cannot.", f"```python\n{RIGHT}", "```cpp\nint kb_forward(const kb_call* c) { return 0; }\n```", f"```python\n{RIGHT}# {'x' * (4 << 20)}\n```",
                       "\ud800\udfff", "", f"```python\nkernelbench folder\n{RIGHT}\n```"]
        asked = [candidate(source) for source in strange] + [answer(text) for text in completions]
        got = self.client.rewards(asked)
        self.assertEqual([(one.reward, one.evaluation.verdict) for one in got], [(0.0, "static_rejected")] * len(asked))
        outcomes = ["no_code", "truncated", "no_entry_point", "no_code", "no_code", "no_code", "no_code"]
        self.assertEqual([one.evaluation.extraction["outcome"] for one in got[len(strange) :]], outcomes)
        self.assertEqual([one.evaluation.reason for one in got[len(strange) :]], [one.evaluation.extraction["reason"] for one in got[len(strange) :]])
        good = f"Draft:\n```python\n{WRONG}```\nBetter:\n```python\n{RIGHT}# taken\n```\n"
        whole = f"Better:\n\n{RIGHT}"
        self.assertEqual([one.reward for one in self.client.rewards([answer(good), answer(whole), answer(whole, cut_off=True)])], [0.3, 0.3, 0.0])
        self.assertIsNone(got[0].evaluation.extraction)

    def test_a_completion_of_ten_megabytes(self):
        prose = "It depends on the machine, it's said; \"we\" see.\n" * 200_000
        got = self.client.rewards([answer(prose), answer(f"{prose}```python\n{RIGHT}# long\n```\n{prose[:100]}"), answer("<think>x</think>\n" * 500_000)])
        self.assertEqual([(one.reward, one.evaluation.extraction["outcome"]) for one in got], [(0.0, "no_code"), (0.3, "found"), (0.0, "no_code")])
        (longer,) = self.client.rewards([answer(f"```python\n{RIGHT}# {'x' * (16 << 20)}\n```\n")])
        self.assertEqual((longer.reward, longer.evaluation.extraction["outcome"]), (0.0, "truncated"))

    def test_the_socket_beside_the_store(self):
        environment = {"KERNELBENCH_STORE": str(service.root / "store.db"), "KERNELBENCH_URL": ""}
        with mock.patch.dict(os.environ, environment):
            self.assertEqual(Client().health()["status"], "healthy")
        with mock.patch.dict(os.environ, {"KERNELBENCH_URL": service.url, "KERNELBENCH_TOKEN": service.token}):
            self.assertTrue(Client().problems())
        self.assertTrue(Client(f"unix://{service.socket}").problems())
        with self.assertRaises(ValueError):
            Client(service.url, "kb_1\r\nX: 1")
        for wrong in ("judge:8080", "ftp://judge", "http://", "http://a@b", "unix:"):
            with self.assertRaises(ValueError):
                Client(wrong)

    def test_quota(self):
        token = service.new_token(f"small{os.getpid()}", queued=4)
        got = Client(service.url, token, chunk=2, in_flight=4).rewards([candidate(f"{WRONG}# quota {i}") for i in range(12)])
        self.assertEqual([one.reward for one in got], [0.0] * 12)
        with self.assertRaises(Refused) as refused:
            Client(service.url, token, chunk=5).rewards([rejected(i) for i in range(5)])
        self.assertIn("may have 4 evaluations open and asks for 5", refused.exception.detail)


class Shared(unittest.TestCase):
    def test_threads_forks_and_pickles(self):
        client = Client(service.url, service.token)
        client.health()
        copy = pickle.loads(pickle.dumps(client))
        verdicts = []
        threads = [threading.Thread(target=lambda: verdicts.append(copy.rewards([rejected(0)])[0].reward)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(verdicts, [0.0] * 8)
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            os._exit(0 if client.rewards([rejected(1)])[0].reward == 0.0 else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertNotIn(service.token, repr(client))
        error = pickle.loads(pickle.dumps(Refused("no", fault="caller", retryable=False, status=400)))
        self.assertEqual((error.detail, error.status, str(error)), ("no", 400, "no"))

    def test_in_one_event_loop_after_another(self):
        client = AsyncClient(service.url, service.token, in_flight=1)

        async def both():
            return [[one.reward for one in got] for got in await asyncio.gather(client.rewards([rejected(0)]), client.rewards([rejected(1), rejected(2)]))]

        for _ in range(2):
            self.assertEqual(asyncio.run(both()), [[0.0], [0.0, 0.0]])

    def test_who_leaves_is_not_waited_for(self):
        async def leave():
            client = AsyncClient(service.url, service.token)
            blocking = [candidate(f"{RIGHT}# leaves {i}", keep=False) for i in range(30)]
            task = asyncio.create_task(client.rewards(blocking))
            await asyncio.to_thread(until, lambda: "queued" in service.ask("/metrics") and not open_is(0))
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        def open_is(count):
            return sum(float(line.split()[-1]) for line in service.ask("/metrics").splitlines() if line.startswith("kernelbench_evaluations_open")) == count

        before = service.judged()
        asyncio.run(leave())
        until(lambda: open_is(0))
        cancelled = service.ask("/metrics")
        self.assertIn("cancelled", cancelled)
        self.assertGreater(service.judged(), before)

    def test_memory_is_what_is_in_flight(self):
        completion = f"```python\n{'# ' + 'x' * 1_000_000}\nclass Model:\n    pass\n```\n"
        client = Client(service.url, service.token, in_flight=2, chunk=4)
        tracemalloc.start()
        try:
            got = client.rewards(answer(completion + str(i)) for i in range(64))
            one = client.rewards(candidate("# " + os.urandom(500_000).hex()) for _ in range(64))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        self.assertEqual([each.reward for each in got + one], [0.0] * 128)
        self.assertLess(peak, 64e6)  # all at once are 128 MB, two times in flight


class Failing(unittest.TestCase):
    def setUp(self):
        self.proxy = self.enterContext(Proxy(service)) if sys.version_info >= (3, 11) else Proxy(service).__enter__()
        self.client = Client(self.proxy.url, service.token, patience_s=20)

    def test_refused_for_now(self):
        self.proxy.faults = [Proxy.refuses_for_now(503), Proxy.refuses_for_now(429), Proxy.says(502, b"<html>Bad gateway</html>")]
        candidates, rewards = mixture("for now")
        self.assertEqual([one.reward for one in self.client.rewards(candidates)], rewards)
        self.assertEqual(len(self.proxy.requests), 4)

    def test_nothing_is_judged_twice(self):
        candidates, rewards = mixture("cut")
        before = service.judged()
        self.proxy.faults = [Proxy.cuts, Proxy.cuts_answer, Proxy.cuts_answer]
        got = self.client.rewards(candidates)
        self.assertEqual([one.reward for one in got], rewards)
        self.assertEqual(service.judged() - before, len(candidates))
        self.proxy.faults = [Proxy.cuts_answer]
        told = self.client.evaluate(candidate(WRONG + "# cut"))
        self.assertEqual((told.verdict, service.judged() - before), ("incorrect", len(candidates) + 1))

    def test_a_broken_stream_of_events_goes_on(self):
        told = self.client.submit(candidate(RIGHT + "# stream"))
        self.proxy.faults = [Proxy.cuts_events(1), Proxy.cuts, Proxy.refuses_for_now(), Proxy.cuts_events(2)]
        events = list(self.client.events(told.id))
        self.assertEqual([event.number for event in events], list(range(len(events))))
        self.assertEqual(events[-1].name, "done")

    def test_events_of_another_version(self):
        told = self.client.submit(rejected(0))
        for text in (b"event: done\ndata: {}\n\n", b"id: x\nevent: done\ndata: {}\n\n", b"id: 1\nevent: done\ndata: []\n\n", b"id: 1\nevent: done\ndata: {\n\n"):
            self.proxy.faults = [Proxy.says(200, text)]
            with self.subTest(text), self.assertRaises(UnexpectedAnswer):
                list(self.client.events(told.id))

    def test_other_versions(self):
        def swapped(answer):
            return {"rewards": answer["rewards"][::-1]}

        def told(**fields):
            return lambda answer: {"rewards": [{**one, **fields} for one in answer["rewards"]]}

        def evaluation(**fields):
            return lambda answer: {"rewards": [{**one, "evaluation": {**one["evaluation"], **fields}} for one in answer["rewards"]]}

        changes = [swapped, told(reward="0.5"), told(reward=True), lambda a: json.dumps(a).replace('"reward": 0.0', '"reward": NaN').encode(), lambda a: {"rewards": a["rewards"][1:]},
                   lambda a: {"scores": [1, 1]}, lambda a: [1, 1], lambda a: b"<html>200</html>", evaluation(state="queued"), evaluation(state="polishing"), evaluation(retryable=None),
                   evaluation(candidate={}), told(evaluation=None), lambda a: b"[" * 100_000]
        for change in changes:
            self.proxy.faults = [Proxy.changes(change)]
            with self.subTest(changes.index(change)), self.assertRaises(UnexpectedAnswer):
                self.client.rewards([rejected(0), rejected(1)])
        for change in (swapped, evaluation(extraction=None), evaluation(extraction={}), evaluation(extraction="found")):
            self.proxy.faults = [Proxy.changes(change)]
            with self.assertRaises(UnexpectedAnswer):
                self.client.rewards([answer("I cannot."), answer("Nor can I.")])
        self.proxy.faults = [Proxy.says(404, {"detail": "Not Found"})]
        with self.assertRaises(Refused) as refused:
            self.client.rewards([rejected(0)])
        self.assertEqual((refused.exception.status, refused.exception.detail), (404, "Not Found"))
        self.proxy.faults = [lambda proxy, client, request: client.sendall(b"SSH-2.0-OpenSSH_9.2\r\n" * 3)]
        with self.assertRaises(UnexpectedAnswer):
            self.client.rewards([rejected(0)])
        more = lambda answer: {"rewards": [{**one, "evaluation": {**one["evaluation"], "new": 1}} for one in answer["rewards"]], "new": []}
        self.proxy.faults = [Proxy.changes(more)]
        self.assertEqual(self.client.rewards([rejected(0)])[0].reward, 0.0)

    def test_one_answer_that_cannot_be_believed_leaves_the_others(self):
        client = Client(self.proxy.url, service.token, chunk=2, in_flight=1)
        self.proxy.faults = [None, Proxy.changes(lambda answer: {"rewards": []})]
        got = client.rewards([rejected(i) for i in range(6)])
        self.assertEqual([one.reward for one in got], [0.0, 0.0, None, None, 0.0, 0.0])
        self.assertIsInstance(got[2].error, UnexpectedAnswer)

    def test_spoilt_by_the_machine(self):
        def spoilt(answer):
            for one in answer["rewards"]:
                one["reward"] = None
                one["evaluation"].update(state="failed", retryable=True, fault="machine", verdict=None)
            return answer

        self.proxy.faults = [Proxy.changes(spoilt)]
        asked = [rejected(0), rejected(1)]
        self.assertEqual([one.reward for one in self.client.rewards(asked)], [0.0, 0.0])
        keys = [[each["idempotency_key"] for each in json.loads(body)["evaluations"]] for _, body in self.proxy.requests]
        self.assertEqual(len(set(keys[0] + keys[1])), 4)
        self.proxy.faults = [Proxy.changes(spoilt), Proxy.changes(spoilt)]
        got = self.client.rewards([rejected(2)])
        self.assertEqual((got[0].reward, got[0].evaluation.fault), (None, "machine"))

    def test_nobody_is_there(self):
        with self.assertRaises(Unreachable) as lost:
            Client(socket="/nowhere/kernelbench.sock", patience_s=1).rewards([rejected(0)])
        self.assertEqual((lost.exception.fault, lost.exception.retryable), ("machine", True))
        self.assertIn("unix:///nowhere/kernelbench.sock", lost.exception.detail)
        self.proxy.faults = [Proxy.cuts] * 20
        with self.assertRaises(KernelbenchError):
            Client(self.proxy.url, service.token, patience_s=2).health()


class Ending(unittest.TestCase):
    """The service ends in the middle of a batch."""

    def ends(self, number, comes_back, **options):
        own = Service()
        self.addCleanup(own.close)
        sources = [(RIGHT, 0.3), (WRONG, 0.0)] * 12
        candidates = [candidate(f"{source}# ends {i}\n") for i, (source, _) in enumerate(sources)]
        got = []
        thread = threading.Thread(target=lambda: got.extend(Client(own.url, own.token, chunk=2, in_flight=2, **options).rewards(candidates)))
        thread.start()
        until(lambda: own.judged() >= 6)  # the fifth is sent when the answer of others has come
        own.end(number)
        if comes_back:
            own.start()
        thread.join(300)
        self.assertEqual(len(got), len(candidates))
        return [one.reward for one in got], [reward for _, reward in sources], got

    def test_killed_and_started_again(self):
        rewards, expected, _ = self.ends(signal.SIGKILL, True)
        self.assertEqual(rewards, expected)

    def test_stopped_and_started_again(self):
        rewards, expected, _ = self.ends(signal.SIGTERM, True)
        self.assertEqual(rewards, expected)

    def test_gone_for_good(self):
        rewards, expected, got = self.ends(signal.SIGKILL, False, patience_s=2)
        self.assertIn(None, rewards)
        for reward, right, one in zip(rewards, expected, got):
            self.assertIn(reward, (None, right))
            self.assertEqual(reward is None, one.error is not None)


if __name__ == "__main__":
    unittest.main()
