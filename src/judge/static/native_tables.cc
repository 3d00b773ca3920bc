#include "judge/static/table_lookup.h"

namespace kb {
namespace {

constexpr NameRule kThread = {"native_threads", "{} starts threads beside the call"};
constexpr NameRule kStream = {"stream_injection", "{} puts work on another stream"};
constexpr NameRule kProcess = {"process_control", "{} acts on processes or the system"};
constexpr NameRule kNetwork = {"network", "{} reaches the network"};
constexpr NameRule kFile = {"file_access", "{} reads or writes files"};
constexpr NameRule kLoading = {"dynamic_loading", "{} reaches into libraries at run time"};
constexpr NameRule kMemory = {"foreign_memory", "{} reaches memory of other processes"};
constexpr NameRule kEnvironment = {"environment", "{} writes environment variables"};
constexpr NameRule kFlags = {"global_flags", "{} changes a setting of the whole process or device"};
constexpr NameRule kLibrary = {"library_call", "{} leaves the computation to a library"};
constexpr NameRule kNarrow = {"precision_downgrade", "{} is narrower than the problem's type"};
constexpr NameRule kTimer = {"timing_event_patch", "{} is defined here in place of the library's"};
constexpr NameRule kPatch = {"monkey_patch", "{} is defined here in place of the library's"};
constexpr NameRule kFrame = {"frame_access", "{} looks at frames that are not the candidate's"};
constexpr NameRule kNothing = {"", ""};

constexpr const char* kAten =
    "mm matmul bmm mv addmm addmv addbmm baddbmm dot vdot outer einsum tensordot linear bilinear "
    "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution cudnn_convolution "
    "batch_norm layer_norm group_norm instance_norm native_layer_norm native_group_norm native_batch_norm rms_norm "
    "relu relu_ gelu silu sigmoid tanh softmax log_softmax elu selu leaky_relu hardtanh hardswish softplus dropout "
    "max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool2d "
    "sum mean prod var std logsumexp cumsum cumprod norm max min argmax argmin sort topk exp log sqrt pow "
    "add sub mul div clamp where embedding lstm gru cross_entropy_loss nll_loss kl_div mse_loss cosine_similarity "
    "scaled_dot_product_attention _scaled_dot_product_flash_attention addcmul addcdiv";

}  // namespace

const NameRule* NativeMention(std::string_view name) {
  static const NameTable table = {
      {kThread, "std::", "thread jthread async packaged_task"},
      {kThread, "",
       "pthread_create thrd_create boost::thread tbb:: at::launch cudaLaunchHostFunc "
       "cudaStreamAddCallback std::execution::par"},
      {kStream, "",
       "cudaStreamCreate cudaStreamCreateWithFlags cudaStreamCreateWithPriority cuStreamCreate "
       "cuStreamCreateWithPriority hipStreamCreate hipStreamCreateWithFlags cudaStreamPerThread "
       "cudaStreamLegacy hipStreamPerThread c10::cuda::getStreamFromPool at::cuda::getStreamFromPool "
       "c10::cuda::setCurrentCUDAStream at::cuda::setCurrentCUDAStream at::cuda::CUDAStreamGuard "
       "c10::cuda::CUDAStreamGuard getStreamFromPool setCurrentCUDAStream CUDAStreamGuard "
       "cudaStreamBeginCapture cudaGraphLaunch"},
      {kLoading, "",
       "dlopen dlmopen dlsym dlvsym dl_iterate_phdr dladdr cuGetProcAddress cudaGetDriverEntryPoint "
       "mprotect pkey_mprotect _GLOBAL_OFFSET_TABLE_ cuModuleLoad"},
      {kMemory, "",
       "cudaIpcOpenMemHandle cudaIpcGetMemHandle cudaIpcOpenEventHandle cuIpcOpenMemHandle "
       "hipIpcOpenMemHandle shm_open shmget shmat process_vm_readv process_vm_writev "
       "cuMemImportFromShareableHandle"},
      {kProcess, "",
       "ptrace vfork execve execvp execvpe execl execlp posix_spawn posix_spawnp setpriority "
       "sched_setaffinity pthread_setaffinity_np sched_setscheduler pthread_kill sigaction "
       "std::quick_exit quick_exit std::system std::raise std::signal setrlimit prlimit prctl "
       "setitimer timer_create tgkill pidfd_open cudaDeviceReset waitpid"},
      {kNetwork, "", "getaddrinfo gethostbyname boost::asio:: curl_easy_init curl_easy_perform"},
      {kFile, "",
       "fopen fopen64 freopen std::ifstream std::ofstream std::fstream std::filesystem:: openat opendir "
       "std::fopen std::remove std::rename"},
      {kEnvironment, "", "setenv unsetenv putenv secure_putenv environ clearenv"},
      {kFlags, "",
       "at::globalContext at::set_num_threads torch::set_num_threads at::set_num_interop_threads "
       "cudaDeviceSetLimit cudaCtxResetPersistingL2Cache cudaSetDeviceFlags cudaStreamSetAttribute "
       "cudaDeviceSetCacheConfig cudaFuncSetCacheConfig torch::manual_seed at::manual_seed "
       "torch::set_default_dtype nvmlDeviceSetGpuLockedClocks nvmlInit nvmlInit_v2"},
      {kFrame, "",
       "backtrace _Unwind_Backtrace PyEval_GetFrame PyThreadState_GetFrame PyEval_GetLocals "
       "PyFrame_GetBack PyFrame_GetLocals PyEval_SetTrace PyEval_SetProfile PyImport_GetModuleDict"},
      {kPatch, "",
       "PyObject_SetAttrString PyObject_SetAttr PyDict_SetItemString PyRun_SimpleString PyRun_String "
       "pybind11::exec py::exec pybind11::eval py::eval"},
      {kLibrary, "at::", kAten},
      {kLibrary, "torch::", kAten},
      {kLibrary, "",
       "at::native:: torch::nn:: at::cpu:: at::cuda::blas:: torch::linalg:: at::_ops:: "
       "c10::Dispatcher dnnl:: mkldnn:: Eigen:: arma:: mkl_sgemm sgemm_ dgemm_ thrust:: cub::Device"},
      {kLibrary, "", "at::linalg_norm at::_convolution torch::_C::"},
      {kNarrow, "",
       "__float2half __float2half_rn __floats2half2_rn __float2bfloat16 __float2bfloat16_rn "
       "__floats2bfloat162_rn __half __half2 __nv_bfloat16 __nv_bfloat162 nv_bfloat16 nv_bfloat162 "
       "half2 _Float16 __bf16 __fp16 at::Half c10::Half at::BFloat16 c10::BFloat16 at::kHalf "
       "torch::kHalf torch::kFloat16 torch::kBFloat16 at::kBFloat16 kBFloat16 kHalf __nv_fp8_e4m3 "
       "__nv_fp8_e5m2 nvcuda::wmma::precision::tf32 wmma::precision::tf32 cutlass::half_t "
       "cutlass::bfloat16_t cutlass::tfloat32_t __float_to_tf32 _mm512_dpbf16_ps _mm512_cvtneps_pbh "
       "_mm256_cvtps_ph _mm512_cvtps_ph"},
      {kNothing, "", "thrust::complex thrust::pair thrust::raw_pointer_cast"},
  };
  if (const NameRule* rule = table.Find(name, "::")) return rule;
  for (const char* prefix : {"cublas", "cudnnConv", "cudnnSoftmax", "cudnnBatchNorm", "cudnnActivation", "cudnnPooling",
                             "cudnnRNN", "cudnnReduce", "cusparseSp", "cusolverDn", "cufftExec", "cblas_", "rocblas_",
                             "hipblas", "miopen", "LAPACKE_", "cutensor"}) {
    if (name.substr(0, std::string_view(prefix).size()) == prefix) return &kLibrary;
  }
  return nullptr;
}

const NameRule* NativeCall(std::string_view name) {
  static const NameTable table = {
      {kProcess, "", "fork system popen kill raise signal alarm _exit _Exit nice clone setsid setuid pause syscall"},
      {kNetwork, "", "socket connect bind listen accept sendto recvfrom"},
      {kFile, "", "open creat unlink remove rename opendir mkstemp chmod"},
      {kMemory, "", "mmap mmap64"},
  };
  return table.Find(name, "::");
}

const NameRule* NativeMethod(std::string_view name) {
  static const NameTable table = {
      {kLibrary, "",
       "mm matmul bmm mv addmm addmm_ addmv addbmm baddbmm softmax log_softmax relu relu_ sigmoid tanh_ "
       "cumsum cumprod logsumexp argmax argmin clamp clamp_min clamp_ mul_ add_"},
      {kNarrow, "", "to_half"},
  };
  return table.Find(name, "::");
}

const NameRule* NativeType(std::string_view name) {
  static const NameTable table = {{kNarrow, "", "half bfloat16 Half BFloat16 half_t bfloat16_t tfloat32_t"}};
  return table.Find(name, "::");
}

const NameRule* NativeDefinition(std::string_view name) {
  static const NameTable table = {
      {kTimer, "",
       "cudaEventElapsedTime cudaEventRecord cudaEventSynchronize cudaEventQuery cudaEventCreate "
       "cudaEventElapsedTime_v2 cudaDeviceSynchronize cudaStreamSynchronize cuEventElapsedTime cuEventRecord "
       "cuStreamSynchronize cuCtxSynchronize hipEventElapsedTime hipEventRecord hipDeviceSynchronize "
       "clock_gettime gettimeofday clock time"},
      {kPatch, "",
       "cudaMalloc cudaFree cudaMemcpy cudaMemcpyAsync cudaLaunchKernel malloc free calloc realloc memcpy "
       "memcmp memset mmap munmap read write open close futex syscall pthread_create dlsym dlopen sigaction "
       "sched_yield exit _exit"},
  };
  return table.Find(name, "::");
}

const NameRule* NativeString(std::string_view text) {
  static const struct {
    const char* part;
    NameRule rule;
  } kParts[] = {
      {"LD_PRELOAD", kEnvironment}, {"/proc/self/mem", kMemory},      {"/proc/self/maps", kMemory},
      {"/dev/shm", kMemory},        {"cudaEventElapsedTime", kTimer}, {"clock_gettime", kTimer},
      {".tf32.", kNarrow},
  };
  for (const auto& each : kParts) {
    if (text.find(each.part) != std::string_view::npos) return &each.rule;
  }
  return nullptr;
}

}  // namespace kb
