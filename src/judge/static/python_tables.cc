#include "judge/static/table_lookup.h"

namespace kb {
namespace {

constexpr NameRule kThread = {"thread_injection", "{} starts work beside the call"};
constexpr NameRule kProcess = {"process_control", "{} acts on processes or the system"};
constexpr NameRule kFile = {"file_access", "{} reads or writes files"};
constexpr NameRule kNetwork = {"network", "{} reaches the network"};
constexpr NameRule kFrame = {"frame_access", "{} looks at frames or objects that are not the candidate's"};
constexpr NameRule kDynamic = {"dynamic_code", "{} runs code made at run time"};
constexpr NameRule kLoading = {"dynamic_loading", "{} reaches into libraries at run time"};
constexpr NameRule kCompile = {"torch_compile", "{} leaves the work to PyTorch's compiler"};
constexpr NameRule kLazy = {"lazy_eval", "{} makes tensors whose values may come later"};
constexpr NameRule kStream = {"stream_injection", "{} puts work on another stream"};
constexpr NameRule kFlags = {"global_flags", "{} changes a setting of the whole process or device"};
constexpr NameRule kCompute = {"torch_computation_ops", "{} computes in PyTorch"};
constexpr NameRule kNarrow = {"precision_downgrade", "{} is narrower than the problem's type"};
constexpr NameRule kEnvironment = {"environment", "{} writes environment variables"};
constexpr NameRule kMemory = {"foreign_memory", "{} reaches memory that is shared between processes"};
constexpr NameRule kTimer = {"timing_event_patch", "{} is replaced: timing is not the candidate's to change"};
constexpr NameRule kPatch = {"monkey_patch", "{} is replaced"};
constexpr NameRule kBypass = {"code_bypass", "{} swallows a failure"};
constexpr NameRule kNothing = {"", ""};

// Operators of torch, torch.Tensor and torch.ops.aten.
constexpr const char* kOperators =
    "mm matmul bmm mv addmm addmv addbmm baddbmm addr dot vdot inner outer einsum tensordot kron chain_matmul "
    "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution _convolution "
    "cudnn_convolution bilinear linear addcmul addcdiv "
    "batch_norm layer_norm group_norm instance_norm native_batch_norm native_layer_norm native_group_norm rms_norm "
    "relu relu_ celu selu rrelu prelu sigmoid sigmoid_ tanh tanh_ softmax log_softmax gelu silu erf erfc "
    "dropout max_pool1d max_pool2d max_pool3d avg_pool1d adaptive_avg_pool1d "
    "sum mean prod std var var_mean std_mean logsumexp cumsum cumprod logcumsumexp cummax cummin norm "
    "max min amax amin argmax argmin argsort sort topk kthvalue median mode "
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt pow square reciprocal sin cos tan add sub mul div true_divide "
    "add_ sub_ mul_ div_ neg abs clamp clamp_ maximum minimum where lerp hardtanh threshold "
    "cosine_similarity cdist pdist pairwise_distance triplet_margin_loss cross_entropy_loss kl_div "
    "lstm gru rnn_tanh rnn_relu lstm_cell gru_cell embedding embedding_bag "
    "scaled_dot_product_attention _scaled_dot_product_flash_attention _scaled_dot_product_efficient_attention "
    "tril triu scatter_add index_add bincount histc cross trace det inverse matrix_power matrix_exp";

// Methods on something unknown: only those that hardly anything but a tensor has.
constexpr const char* kMethods =
    "mm matmul bmm mv addmm addmm_ addmv addbmm baddbmm baddbmm_ addr einsum tensordot relu relu_ sigmoid sigmoid_ "
    "tanh_ softmax log_softmax logsumexp cumsum cumprod clamp clamp_ clamp_min clamp_min_ rsqrt lerp amax amin "
    "mul_ add_ addcmul addcdiv layer_norm erf";

const NameTable& Mentions() {
  static const NameTable table = {
      {kBypass, "", "contextlib.suppress"},
      {kThread, "threading.", "Thread Timer _start_new_thread"},
      {kThread, "",
       "_thread.start_new_thread _thread.start_new multiprocessing. concurrent.futures. asyncio.to_thread"},
      {kThread, "", "joblib. torch.multiprocessing. torch.jit.fork torch.jit._fork torch.futures."},
      {kMemory, "", "multiprocessing.shared_memory. mmap.mmap torch.multiprocessing.reductions. _posixshmem."},
      {kProcess, "os.",
       "fork forkpty system popen kill killpg _exit abort nice setpriority sched_setaffinity "
       "sched_setscheduler execv execve execvp execvpe execl execle execlp posix_spawn posix_spawnp "
       "spawnl spawnv spawnve spawnlp spawnvp setsid setuid setgid ptrace pidfd_open"},
      {kProcess, "",
       "subprocess. signal.signal signal.setitimer signal.alarm signal.pthread_kill signal.raise_signal "
       "resource.setrlimit resource.prlimit psutil. pty. atexit.register sys.exit quit exit "
       "faulthandler. sys.setswitchinterval"},
      {kNetwork, "",
       "socket. urllib.request. urllib3. requests. http.client. http.server. ftplib. smtplib. httpx. "
       "aiohttp. telnetlib. xmlrpc. torch.hub. torch.distributed. huggingface_hub."},
      {kFile, "",
       "open io.open io.FileIO os.open os.remove os.unlink os.rename os.replace os.rmdir os.removedirs "
       "os.chmod os.chown os.symlink os.link os.truncate os.mkfifo os.listdir os.scandir os.walk shutil. "
       "codecs.open pathlib.Path tempfile. glob. torch.load torch.save numpy.load numpy.save "
       "numpy.fromfile numpy.memmap pickle.load fileinput."},
      {kNothing, "shutil.", "which"},
      {kFrame, "sys.", "_getframe _current_frames settrace setprofile _current_exceptions"},
      {kFrame, "inspect.", "stack currentframe getouterframes getinnerframes trace"},
      {kFrame, "gc.", "get_objects get_referrers get_referents"},
      {kFrame, "",
       "traceback.walk_stack traceback.extract_stack traceback.print_stack traceback.format_stack "
       "threading.settrace threading.setprofile sys.monitoring. __main__ __main__."},
      {kDynamic, "",
       "exec eval compile runpy. code.InteractiveInterpreter types.CodeType types.FunctionType "
       "marshal.loads pickle.loads cloudpickle."},
      {kLoading, "", "ctypes. cffi. _ctypes. ctypes"},
      {kLoading, "torch.", "ops.load_library classes.load_library"},
      {kEnvironment, "os.",
       "putenv unsetenv environ.update environ.setdefault environ.pop environ.clear "
       "environ.popitem environ.__setitem__"},
      {kCompile, "torch.",
       "compile jit.script jit.trace jit.freeze jit.optimize_for_inference jit.CompilationUnit "
       "_dynamo.optimize _inductor.compile export.export fx.symbolic_trace "
       "cuda.make_graphed_callables"},
      {kLazy, "torch.",
       "Tensor._make_subclass Tensor._make_wrapper_subclass Tensor.__new__ Tensor.as_subclass _lazy. "
       "_subclasses. utils._python_dispatch. overrides.TorchFunctionMode"},
      {kStream, "torch.cuda.", "Stream stream set_stream ExternalStream streams. StreamContext"},
      {kStream, "torch.", "Stream cpu.Stream cpu.stream xpu.Stream"},
      {kNothing, "torch.cuda.streams.", "Event"},
      {kFlags, "torch.",
       "set_float32_matmul_precision set_default_dtype set_default_device set_default_tensor_type "
       "use_deterministic_algorithms set_deterministic_debug_mode set_num_threads "
       "set_num_interop_threads set_flush_denormal set_rng_state seed set_grad_enabled "
       "cuda.set_device cuda.set_per_process_memory_fraction cuda.memory.change_current_allocator "
       "backends.cuda.enable_flash_sdp backends.cuda.enable_math_sdp "
       "backends.cuda.enable_mem_efficient_sdp backends.cuda.enable_cudnn_sdp "
       "backends.cudnn.flags _C._set_cudnn_allow_tf32 _C._set_cublas_allow_tf32"},
      {kNarrow, "torch.",
       "float16 half bfloat16 HalfTensor BFloat16Tensor cuda.HalfTensor cuda.BFloat16Tensor "
       "float8_e4m3fn float8_e5m2 autocast amp.autocast cuda.amp.autocast cpu.amp.autocast"},
      {kNarrow, "triton.language.", "float16 bfloat16 float8e4nv float8e5"},
      {kNarrow, "", "cutlass.Float16 cutlass.BFloat16 cutlass.TFloat32 numpy.float16"},
      {kPatch, "",
       "unittest.mock.patch unittest.mock.patch. mock.patch mock.patch. forbiddenfruit. "
       "torch.library.Library torch.library.impl torch.overrides.enable_reentrant_dispatch"},
      {kCompute, "torch.", kOperators},
      {kCompute, "torch.Tensor.", kOperators},
      {kCompute, "torch.",
       "nn.functional. linalg. fft. special. functional. ops.aten. ops.mkldnn. ops.onednn. _C._nn. "
       "_C._VariableFunctions. _VF. sparse. _refs. _prims. nn.attention. _inductor."},
      {kNothing, "torch.nn.functional.", "pad _pad"},
      {kNothing, "torch._inductor.", "config config."},
      {kCompute, "operator.", "matmul imatmul"},
      {kCompute, "numpy.", "matmul dot einsum inner outer tensordot convolve linalg. fft."},
      {kCompute, "", "scipy. jax. cupy. sklearn. xformers. flash_attn."},
      {kNothing, "cupy.", "RawKernel RawModule cuda. asarray empty"},
  };
  return table;
}

}  // namespace

const NameRule* PythonMention(std::string_view name) { return Mentions().Find(name); }

const NameRule* PythonMethod(std::string_view method) {
  static const NameTable table = {
      {kCompute, "", kMethods},
      {kNarrow, "", "half bfloat16"},
      {kStream, "", "wait_stream record_stream"},
      {kLazy, "", "as_subclass _make_subclass _make_wrapper_subclass"},
  };
  return table.Find(method);
}

const NameRule* PythonAttribute(std::string_view attribute) {
  static const NameTable table = {
      {kFrame, "",
       "f_back f_locals f_globals f_builtins tb_frame gi_frame cr_frame ag_frame __subclasses__ __globals__"},
  };
  return table.Find(attribute);
}

bool TellsPlaceOfFrame(std::string_view attribute) {
  return attribute == "f_lineno" || attribute == "f_code" || attribute == "f_lasti";
}

const NameRule* PythonPatched(std::string_view name) {
  static const NameTable table = {
      {kTimer, "torch.cuda.",
       "Event Event. synchronize streams.Event. Stream.synchronize Stream.record_event "
       "current_stream default_stream _synchronize elapsed_time"},
      {kTimer, "torch.",
       "Event Event. cpu.synchronize accelerator.synchronize utils.benchmark. _C._cuda_synchronize "
       "_C._CudaEventBase."},
      {kTimer, "time.",
       "time time_ns perf_counter perf_counter_ns monotonic monotonic_ns process_time "
       "process_time_ns thread_time clock_gettime clock_gettime_ns sleep"},
      {kTimer, "", "timeit. triton.testing. statistics. datetime."},
      {kTimer, ".", "perf_counter perf_counter_ns"},
      {kFlags, "torch.", "backends. _dynamo.config. _inductor.config. cuda.matmul. _functorch.config."},
      {kFlags, "", "triton.knobs. numba.config."},
      {kEnvironment, "", "os.environ os.environb"},
      {kNothing, "sys.", "path stdout stderr stdin dont_write_bytecode path. setrecursionlimit"},
      {kPatch, "",
       "torch torch. time time. builtins builtins. sys. sys.modules os os. random. math. gc. inspect. "
       "numpy. numpy triton. importlib. functools. warnings. __builtins__ __builtins__. __main__ __main__. "
       "types. weakref. threading. subprocess. json. copy."},
      {kPatch, ".", "__code__ __class__ __defaults__ __globals__ __bases__ __torch_function__ __torch_dispatch__"},
      {kPatch, "", "print len open isinstance getattr setattr type abs min max sum range float int id hash __import__"},
  };
  return table.Find(name);
}

bool IsTorchModule(std::string_view name) {
  static const NameRule kModule = {"pytorch_wrap", "{} computes"};
  static const NameTable table = {
      {kModule, "", "torch.nn. torch.nn.modules. torchvision. timm. transformers. torch.ao.nn. torch.nn.quantized."},
      {kNothing, "torch.nn.",
       "Module Parameter ParameterList ParameterDict ModuleDict Buffer parameter. init. "
       "functional. utils. UninitializedParameter attention. ModuleList Identity parallel."},
      {kNothing, "torch.nn.modules.", "Module module."},
  };
  return table.Find(name) != nullptr;
}

}  // namespace kb
