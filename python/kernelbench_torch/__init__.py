"""All of KernelBench that touches PyTorch: the device process's host, the zygote and the module runner."""
