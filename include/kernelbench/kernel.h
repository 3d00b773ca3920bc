/* The ABI of native candidates: a candidate is one source file that includes this header and defines kb_forward().
 *
 * The file is plain C or C++ (device code included where the device has its own language). It depends on nothing else:
 * tensors have the memory layout of DLPack's DLTensor, so a kb_tensor* may be cast to one.
 *
 * What a candidate gets on every call:
 *   inputs      the tensors of the problem's get_inputs(), nested lists flattened from left to right; fresh each call
 *   scalars     the numbers among the problem's get_inputs(), in order
 *   init        the numbers among the problem's get_init_inputs(), in order (hyper-parameters)
 *   parameters  the reference module's state_dict(), by name (weights and buffers)
 *   outputs     what the reference's forward returns, flattened; contiguous, allocated and filled with poison: write
 *               all of it
 *   workspace   scratch memory of the size that kb_workspace_size() asked for; its contents survive between calls
 *
 * Pointers stay valid until the candidate is unloaded, but the bytes behind inputs change before each call, and
 * parameters may change too: kb_prepare() runs after each change. Inputs must not be written.
 */
#ifndef KERNELBENCH_KERNEL_H_
#define KERNELBENCH_KERNEL_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define KB_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define KB_EXPORT __attribute__((visibility("default")))
#endif

#define KB_ABI_VERSION 1u

/* DLPack's type codes. */
enum {
  KB_INT = 0,
  KB_UINT = 1,
  KB_FLOAT = 2,
  KB_BFLOAT = 4,
  KB_COMPLEX = 5,
  KB_BOOL = 6,
  KB_FLOAT8_E4M3FN = 10,
  KB_FLOAT8_E5M2 = 12,
};

/* DLPack's device types. */
enum {
  KB_CPU = 1,
  KB_CUDA = 2,
};

/* As DLDataType: fp32 is {KB_FLOAT, 32, 1}, int64 is {KB_INT, 64, 1}. */
typedef struct kb_dtype {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} kb_dtype;

/* As DLDevice. */
typedef struct kb_device {
  int32_t type;
  int32_t id;
} kb_device;

/* As DLTensor. The first element lies at data + byte_offset; strides count elements and are never NULL. */
typedef struct kb_tensor {
  void* data;
  kb_device device;
  int32_t ndim;
  kb_dtype dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} kb_tensor;

typedef struct kb_parameter {
  const char* name; /* as in state_dict(), for example "conv.weight" */
  kb_tensor tensor;
} kb_parameter;

/* A number: `real` always holds it; `integer` holds it exactly if is_integer (bool counts as an integer). */
typedef struct kb_scalar {
  double real;
  int64_t integer;
  int32_t is_integer;
  int32_t reserved;
} kb_scalar;

typedef struct kb_call {
  uint32_t abi_version; /* KB_ABI_VERSION of the engine */
  int32_t num_threads;  /* CPU cores the call may use. The calling thread and threads of your own are bound to none;
                           OpenMP's other threads have one core each */
  int32_t num_inputs;
  int32_t num_scalars;
  int32_t num_init;
  int32_t num_parameters;
  int32_t num_outputs;
  int32_t reserved;
  const kb_tensor* inputs;
  const kb_scalar* scalars;
  const kb_scalar* init;
  const kb_parameter* parameters;
  kb_tensor* outputs;
  void* stream; /* CUDA: the cudaStream_t to launch on. What puts the inputs in place comes before on it, so a stream
                   of your own has to wait for it first. CPU: NULL */
  void* workspace;
  uint64_t workspace_size; /* bytes */
} kb_call;

/* Required. Writes every element of every output. Returns 0, or a code of the candidate's own that ends the evaluation.
 */
KB_EXPORT int kb_forward(const kb_call* call);

/* Optional. Bytes of workspace the candidate needs; called once, with inputs and outputs described but not filled. */
KB_EXPORT uint64_t kb_workspace_size(const kb_call* call);

/* Optional. Runs once for each set of parameters, before the calls that use it: pack weights here. Its time is reported
 * apart from the speedup. Returns 0, or an error code. */
KB_EXPORT int kb_prepare(const kb_call* call);

#endif /* KERNELBENCH_KERNEL_H_ */
