"""What KernelGYM's trainer asks of its server, asked of the real `kernelbench serve`: it submits with /evaluate, asks again after 429, 503 and a lost connection, polls
/status until the end or for too long, and takes /results."""

import concurrent.futures
import http.client
import json
import os
import signal
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from service import RIGHT, WRONG, Proxy, Service, until

BROKEN = "import torch\nfrom torch.utils.cpp_extension import load_inline\n\n" \
         "f = load_inline('f', 'int f() { return nothing; }', functions=['f'], no_implicit_headers=True)\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x\n"


def setUpModule():
    global service, reference
    service = Service()
    reference = json.loads(service.ask("/v1/problems/1/19"))["source"]


def tearDownModule():
    service.close()


def payload(task_id, source, **more):
    """The fields that its client sends. `size` is ours, to be quick."""
    return {"task_id": task_id, "reference_code": reference, "kernel_code": source, "backend": "auto", "num_correct_trials": 5, "num_perf_trials": 100, "timeout": 120,
            "priority": "normal", "entry_point": "Model", "is_valid": False, "verbose_errors": True, "enable_profiling": True, "detect_decoy_kernel": True, "reference_backend": None,
            "measure_performance": False, "size": "small", **more}


class Trainer:
    def __init__(self, url, token, most_tries=10_000, patience_s=240):
        self.url, self.token, self.most_tries, self.patience_s, self.pause_s, self.statuses = url, token, most_tries, patience_s, 0.05, []

    def ask(self, path, body=None):
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        request = urllib.request.Request(self.url + path, json.dumps(body).encode() if body is not None else None, headers)
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=300) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            status, text = refused.code, refused.read()
        self.statuses.append(status)
        return status, json.loads(text)

    def post(self, path, body):
        status, told = 0, None
        for _ in range(self.most_tries):
            try:
                status, told = self.ask(path, body)
            except (OSError, http.client.HTTPException, ValueError):
                status = 0
            if status not in (0, 429, 503):
                break
            time.sleep(self.pause_s)
        return status, told

    def submit_and_poll(self, task):
        status, told = self.post("/evaluate", task)
        if status not in (200, 503):
            return {"status": "failed", "error_message": told["detail"]}
        deadline = time.monotonic() + self.patience_s
        while time.monotonic() < deadline:
            try:
                status, told = self.ask("/status/" + urllib.parse.quote(task["task_id"], ""))
            except (OSError, http.client.HTTPException, ValueError):
                status, told = 0, {}
            if status == 200 and told["status"] == "completed":
                status, result = self.ask("/results/" + urllib.parse.quote(task["task_id"], ""))
                assert status == 200, result
                return result
            if status == 200 and told["status"] in ("failed", "timeout", "cancelled"):
                return told
            time.sleep(self.pause_s)
        return {"status": "timeout", "error_message": "its client's time was over"}

    def all(self, tasks):
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            return list(pool.map(self.submit_and_poll, tasks))


def mixture(mark):
    sources = [(RIGHT, True), (WRONG, False), ("def f(:\n", False), (RIGHT, True), ("", False), (WRONG, False)]
    return [payload(f"{mark}_{i:06d}", f"{source}# {mark}/{i}\n") for i, (source, _) in enumerate(sources)], [correct for _, correct in sources]


def correctness(results):
    return [result.get("correctness") for result in results]


class KernelGym(unittest.TestCase):
    def test_a_step(self):
        trainer = Trainer(service.url, service.token)
        tasks, correct = mixture("step")
        tasks.append(payload("step_broken", BROKEN))
        results = trainer.all(tasks)
        self.assertEqual(correctness(results), correct + [False])
        self.assertEqual([result["status"] for result in results], ["completed"] * len(tasks))
        self.assertEqual([result["compiled"] for result in results], [True, True, False, True, False, True, False])
        codes = [None, "CORRECTNESS_ERROR", "VALIDATION_ERROR", None, "VALIDATION_ERROR", "CORRECTNESS_ERROR", "COMPILATION_ERROR"]
        self.assertEqual([result["error_code"] for result in results], codes)
        self.assertIn("nothing", results[6]["error_message"])
        self.assertIsNone(results[0]["speedup"])
        self.assertEqual(results[0]["metadata"]["not_honoured"], ["num_perf_trials"])
        self.assertEqual(set(trainer.statuses), {200})

    def test_a_speedup(self):
        """Unless the machine is too busy: then it is no result."""
        trainer = Trainer(service.url, service.token, most_tries=3, patience_s=2)
        timed = trainer.submit_and_poll(payload("timed", RIGHT, measure_performance=True, num_correct_trials=7))
        if timed["status"] == "timeout":
            self.assertEqual(set(trainer.statuses), {503}, "what the machine spoilt is never told as final")
            status, spoilt = trainer.ask("/results/timed")
            self.assertEqual((status, spoilt["error_code"]), (503, "RESOURCE_ERROR"))
            return
        self.assertEqual((timed["status"], timed["metadata"]["protocol"]), ("completed", "quick, evaluation_timeout_s=120, warmup_rounds=2"))
        if timed["metadata"]["no_speedup"] is None:
            low, high = timed["metadata"]["speedup_interval"]
            self.assertTrue(low <= timed["speedup"] <= high)
            self.assertTrue(0 < timed["kernel_runtime"] < 1000 and 0 < timed["reference_runtime"] < 1000)

    def test_a_batch(self):
        trainer = Trainer(service.url, service.token)
        tasks, correct = mixture("batch")
        status, told = trainer.post("/evaluate/batch", {"batch_id": "b", "tasks": tasks})
        self.assertEqual((status, told["total_tasks"], told["completed_tasks"], told["failed_tasks"], told["batch_status"]), (200, 6, 6, 0, "completed"))
        self.assertEqual(correctness(told["results"]), correct)
        before = service.judged()
        self.assertEqual(trainer.post("/evaluate/batch", {"batch_id": "b", "tasks": tasks})[1], told)
        self.assertEqual(service.judged(), before)

    def test_options_of_another_version(self):
        trainer = Trainer(service.url, service.token)
        newer = trainer.submit_and_poll(payload("newer", RIGHT, perf_trim_count=2, an_option_of_tomorrow={"a": 1}))
        self.assertEqual(newer["metadata"]["not_honoured"], ["an_option_of_tomorrow", "num_perf_trials", "perf_trim_count"])
        for wrong, why in (({"backend": "triton"}, "/backend: this service judges on cpu"), ({"backend": "cuda_agent"}, "/backend: there are auto"), ({"workflow": "kernel_simple"}, "/workflow: "),
                           ({"run_correctness": False}, "/run_correctness: "), ({"entry_point": "Net"}, "/entry_point: ")):
            self.assertIn(why, trainer.submit_and_poll(payload(f"wrong {why}", RIGHT, **wrong))["error_message"])

    def test_a_reference_of_ones_own(self):
        own = reference.replace("import torch", "import torch  # of my own", 1)
        self.assertNotEqual(own, reference)
        plain = Trainer(service.url, service.new_token(f"plain{os.getpid()}"))
        self.assertIn("reference_code is none of our problems", plain.submit_and_poll(payload("own", RIGHT, reference_code=own))["error_message"])
        self.assertEqual(plain.statuses[-1], 403)
        may = Trainer(service.url, service.new_token(f"may{os.getpid()}", "judge,problems"))
        result = may.submit_and_poll(payload("own", WRONG, reference_code=own))
        self.assertEqual((result["error_code"], result["metadata"]["problem"][:7]), ("CORRECTNESS_ERROR", "client:"), result)

    def test_two_trainers_with_quotas(self):
        trainers = [Trainer(service.url, service.new_token(f"trainer{i}-{os.getpid()}", queued=2)) for i in range(2)]
        tasks, correct = mixture("same ids")
        before = service.judged()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda trainer: trainer.all(tasks), trainers))
        self.assertEqual([correctness(each) for each in results], [correct, correct])
        self.assertEqual(service.judged() - before, 2 * len(tasks), "each has its own, and each is judged once")
        self.assertIn(429, trainers[0].statuses + trainers[1].statuses)


class Faults(unittest.TestCase):
    def setUp(self):
        self.proxy = self.enterContext(Proxy(service))
        self.trainer = Trainer(self.proxy.url, service.token)

    def test_a_lost_answer_is_asked_for_again(self):
        self.proxy.faults = [Proxy.cuts, Proxy.cuts_answer, Proxy.refuses_for_now(), Proxy.refuses_for_now(429)]
        before = service.judged()
        self.assertEqual(self.trainer.submit_and_poll(payload("lost", WRONG))["error_code"], "CORRECTNESS_ERROR")
        self.assertEqual(service.judged() - before, 1)

    def test_another_program_is_no_result(self):
        self.proxy.faults = [Proxy.says(200, b"<html>200</html>"), Proxy.says(404, {"detail": "Not Found"})]
        self.assertEqual(self.trainer.submit_and_poll(payload("html", WRONG))["status"], "failed")
        self.assertEqual(self.trainer.submit_and_poll(payload("html", WRONG))["correctness"], False)


class Ending(unittest.TestCase):
    def test_killed_in_the_middle_of_a_batch(self):
        own = Service()
        self.addCleanup(own.close)
        sources = [(RIGHT, True), (WRONG, False)] * 3
        tasks = [payload(f"t{i}", f"{source}# {i}\n") for i, (source, _) in enumerate(sources)]
        trainer = Trainer(own.url, own.token)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            batch = pool.submit(trainer.post, "/evaluate/batch", {"batch_id": "b", "tasks": tasks})
            until(lambda: own.judged() >= 1)
            own.end(signal.SIGKILL)
            own.start()
            status, told = batch.result(300)
        self.assertEqual((status, told["batch_status"]), (200, "completed"))
        self.assertEqual(correctness(told["results"]), [correct for _, correct in sources])
        self.assertEqual(trainer.submit_and_poll(tasks[0])["correctness"], True)


if __name__ == "__main__":
    unittest.main()
