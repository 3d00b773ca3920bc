// Kernels of the trusted side, compiled by NVRTC for the device that is present, as one text with compare.cu
// (kernels.h). Buffers are 16-byte aligned where a comment says so; sizes count what their names say. Launched with any
// grid: all loops stride over it. Here: what cuda_device.cc launches.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define THREADS 256  // of a block, but where a kernel is launched for one thread

static __device__ u64 first_thread() { return blockIdx.x * static_cast<u64>(blockDim.x) + threadIdx.x; }
static __device__ u64 all_threads() { return static_cast<u64>(gridDim.x) * blockDim.x; }

static __device__ u64 timer() {
  u64 now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

// Fills `bytes` with a pattern of 8 bytes. Quick if `to` is 16-byte aligned.
extern "C" __global__ void kb_fill(u8* to, u64 bytes, u64 pattern) {
  if (reinterpret_cast<u64>(to) % 16 != 0) {
    for (u64 i = first_thread(); i < bytes; i += all_threads()) to[i] = static_cast<u8>(pattern >> (i % 8 * 8));
    return;
  }
  ulonglong2* wide = reinterpret_cast<ulonglong2*>(to);
  const ulonglong2 pair = {pattern, pattern};
  for (u64 i = first_thread(); i < bytes / 16; i += all_threads()) wide[i] = pair;
  for (u64 i = bytes / 16 * 16 + first_thread(); i < bytes; i += all_threads())
    to[i] = static_cast<u8>(pattern >> (i % 8 * 8));
}

// Sets *different if any bit differs. Quick if both are 16-byte aligned.
extern "C" __global__ void kb_equal(const u8* a, const u8* b, u64 bytes, u32* different) {
  const ulonglong2* x = reinterpret_cast<const ulonglong2*>(a);
  const ulonglong2* y = reinterpret_cast<const ulonglong2*>(b);
  const u64 wide = (reinterpret_cast<u64>(a) | reinterpret_cast<u64>(b)) % 16 == 0 ? bytes / 16 : 0;
  bool differs = false;
  for (u64 i = first_thread(); i < wide; i += all_threads()) {
    const ulonglong2 p = x[i], q = y[i];
    differs |= (p.x != q.x) | (p.y != q.y);
  }
  for (u64 i = wide * 16 + first_thread(); i < bytes; i += all_threads()) differs |= a[i] != b[i];
  if (differs) *different = 1;
}

// As kb::CopyItem (device.h).
struct CopyItem {
  u8* to;
  const u8* from;
  u64 bytes;
};

static __device__ void copy_share(const CopyItem& item, u64 thread, u64 threads) {
  const u64 wide = (reinterpret_cast<u64>(item.to) | reinterpret_cast<u64>(item.from)) % 16 == 0 ? item.bytes / 16 : 0;
  for (u64 i = thread; i < wide; i += threads)
    reinterpret_cast<ulonglong2*>(item.to)[i] = reinterpret_cast<const ulonglong2*>(item.from)[i];
  for (u64 i = wide * 16 + thread; i < item.bytes; i += threads) item.to[i] = item.from[i];
}

// Copies on the multiprocessors, in turn with other kernels, which a copy engine would not do. Quick if both are
// 16-byte aligned.
extern "C" __global__ void kb_copy(u8* to, const u8* from, u64 bytes) {
  copy_share({to, from, bytes}, first_thread(), all_threads());
}

// The watch: one thread reads the timer for `ns`. times[0]: its largest step in ns, for a large one means that
// something else had the device; times[1] and [2]: what it was at the beginning and at the end (WatchTimes in
// hold_times.h). All blocks but the first copy `items` meanwhile, and `ns` begin when that is done: who waited for the
// last byte shows as who waited for the first. *copied: zero, and zero again afterwards.
extern "C" __global__ void kb_watch(u64 ns, const CopyItem* items, u32 count, volatile u32* copied, u64* times) {
  if (blockIdx.x > 0) {
    const u64 threads = all_threads() - blockDim.x, thread = first_thread() - blockDim.x;
    for (u32 i = 0; i < count; ++i) copy_share(items[i], thread, threads);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(const_cast<u32*>(copied), 1);
    return;
  }
  if (threadIdx.x > 0) return;
  const u64 start = timer();
  u64 last = start, largest = 0, since = start;
  for (bool copying = gridDim.x > 1; copying || last - since < ns;) {
    const u64 now = timer();
    const u64 gap = now - last;
    largest = gap > largest ? gap : largest;
    last = now;
    if (copying && *copied == gridDim.x - 1) {
      copying = false;
      since = last;
    }
  }
  *copied = 0;
  times[0] = largest;
  times[1] = start;
  times[2] = last;
}

// What time it is when everything before it is done.
extern "C" __global__ void kb_stamp(u64* at) { *at = timer(); }

// out[i] = the element of `size` bytes (1, 2, 4, 8 or 16) at positions[i].
extern "C" __global__ void kb_gather(const u8* data, u32 size, const i64* positions, u32 n, u8* out) {
  for (u64 i = first_thread(); i < n; i += all_threads()) {
    const u8* from = data + positions[i] * size;
    switch (size) {
      case 1:
        out[i] = *from;
        break;
      case 2:
        reinterpret_cast<u16*>(out)[i] = *reinterpret_cast<const u16*>(from);
        break;
      case 4:
        reinterpret_cast<u32*>(out)[i] = *reinterpret_cast<const u32*>(from);
        break;
      case 8:
        reinterpret_cast<u64*>(out)[i] = *reinterpret_cast<const u64*>(from);
        break;
      case 16:
        reinterpret_cast<u64*>(out)[2 * i] = reinterpret_cast<const u64*>(from)[0];
        reinterpret_cast<u64*>(out)[2 * i + 1] = reinterpret_cast<const u64*>(from)[1];
        break;
    }
  }
}
