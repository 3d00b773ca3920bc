"""llama.cpp's own HTTP server with one model, until it is killed: llama_server.py MODEL.gguf PORT. Runs in the environment that server.py makes."""

import signal
import sys

import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.port = int(sys.argv[2])
parameters.n_parallel = 2
parameters.n_ctx = 2 * 2048
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
parameters.endpoint_slots = True
parameters.offline = True
server = xllamacpp.Server(parameters)
print("listening at", server.listening_address, flush=True)
while True:
    signal.pause()
