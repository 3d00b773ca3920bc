// The device library on an NVIDIA GPU against the one on the CPU: the same verdicts and the same figures. kb_gpu_test,
// started by hand on a machine that has a GPU; not part of ./test.

#include "device/device.h"

#include <gtest/gtest.h>

#include "device/compare_test_util.h"
#include "device/cuda/memory.h"

namespace kb {
namespace {

const cuda::Functions& Driver() {
  static const Result<const cuda::Functions*> driver = cuda::LoadDriver();
  return **driver;
}

class OnDevice {
 public:
  explicit OnDevice(const void* from, size_t bytes) : buffer_(*cuda::DeviceBuffer::Create(Driver(), bytes, nullptr)) {
    cuda::Must(Driver(), Driver().cuMemcpyHtoDAsync_v2(cuda::At(data()), from, bytes, nullptr), "upload");
    cuda::Must(Driver(), Driver().cuStreamSynchronize(nullptr), "upload");
  }
  std::byte* data() const { return buffer_->data(); }

 private:
  std::unique_ptr<Buffer> buffer_;
};

class DeviceTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cpu_ = MakeCpuDevice(4).release();
    auto made = MakeCudaDevice(4);
    ASSERT_TRUE(made) << made.error().message;
    gpu_ = made->release();
  }

  // Both sides' comparison of the same outputs, anchored on `reference` against `truth` if these are given.
  static void ExpectSame(const Values& got, const Values& expected, kb_dtype dtype, const Tolerance& tolerance,
                         const Values& reference = {}, const Values& truth = {}, bool pooled = false) {
    const std::vector<char> g = Encode(got, dtype), e = Encode(expected, dtype);
    ExpectSameBytes(g, e, dtype, tolerance, reference, truth, pooled);
  }

  static void ExpectSameBytes(const std::vector<char>& g, const std::vector<char>& e, kb_dtype dtype,
                              const Tolerance& tolerance, const Values& reference = {}, const Values& truth = {},
                              bool pooled = false) {
    const OutputItem form{nullptr, dtype, {static_cast<int64_t>(g.size() / ElementSize(dtype))}};
    const OnDevice g_there(g.data(), g.size()), e_there(e.data(), e.size());
    ErrorBudget here, there;
    if (!reference.empty()) {
      const std::vector<char> r = Encode(reference, dtype);
      const OnDevice r_there(r.data(), r.size()), t_there(truth.data(), truth.size() * sizeof(double));
      if (pooled) here.Pool(), there.Pool();
      for (int anchor = 0; anchor < 2; ++anchor) {
        cpu_->AddAnchor(&here, r.data(), dtype, form.elements(), truth.data());
        gpu_->AddAnchor(&there, r_there.data(), dtype, form.elements(), reinterpret_cast<double*>(t_there.data()));
      }
      EXPECT_NEAR(there.OutputStd(), here.OutputStd(), 1e-9 * here.OutputStd());
      EXPECT_NEAR(there.ReferenceRms(), here.ReferenceRms(), 1e-9 * here.ReferenceRms());
    }
    const CompareResult a = cpu_->CompareOutput(g.data(), e.data(), form, here, tolerance, kSecret);
    const CompareResult b = gpu_->CompareOutput(g_there.data(), e_there.data(), form, there, tolerance, kSecret);
    EXPECT_EQ(b.ok, a.ok);
    EXPECT_EQ(b.total, a.total);
    EXPECT_EQ(b.wrong, a.wrong);
    EXPECT_EQ(b.unwritten, a.unwritten);
    EXPECT_EQ(b.non_finite, a.non_finite);
    EXPECT_EQ(b.worst_index, a.worst_index);
    EXPECT_EQ(b.blocks_wrong, a.blocks_wrong);
    EXPECT_EQ(b.where, a.where);
    EXPECT_EQ(b.histogram, a.histogram);
    EXPECT_TRUE(b.expected == a.expected || (std::isnan(b.expected) && std::isnan(a.expected)));
    EXPECT_TRUE(b.got == a.got || (std::isnan(b.got) && std::isnan(a.got))) << b.got << " " << a.got;
    EXPECT_DOUBLE_EQ(b.max_abs_error, a.max_abs_error);
    EXPECT_NEAR(b.rms_error, a.rms_error, 1e-9 * a.rms_error);
    if (std::isfinite(a.worst)) {
      EXPECT_NEAR(b.worst, a.worst, 1e-9 * a.worst);
    } else {
      EXPECT_EQ(b.worst, a.worst);
    }
  }

  static Device *cpu_, *gpu_;
};

Device *DeviceTest::cpu_ = nullptr, *DeviceTest::gpu_ = nullptr;

constexpr int kElements = 700'001;  // components; complex types take half of them

Values Numbers(uint32_t seed) { return Normal(kElements / 2 * 2, 0.5, 2, seed); }

TEST_F(DeviceTest, TellsTheSameOfFloatingOutputs) {
  for (const kb_dtype dtype : {kF32, kF64, kF16, kBf16, kC64, kC128}) {
    for (const auto mode : {Tolerance::Mode::kAnchored, Tolerance::Mode::kAllclose}) {
      SCOPED_TRACE(testing::Message() << int{dtype.code} << " " << int{dtype.bits} << " mode "
                                      << static_cast<int>(mode));
      const Tolerance tolerance{.mode = mode, .atol = 1e-3, .rtol = 1e-3, .rtol_rms = 1e-3};
      const Values expected = Numbers(1);
      Values few = expected, small = expected, odd = expected;
      for (size_t i = 5000; i < 5100; i += 3) few[i] += 1;
      few[600'000] = -few[600'000] - 1;
      for (size_t i = 0; i < small.size(); ++i) small[i] *= 1 + 1.7e-3 * static_cast<double>(i % 7) / 6;
      odd[77] = kNan;
      odd[200'000] = kInf;
      for (const Values& got : {expected, few, small, odd}) ExpectSame(got, expected, dtype, tolerance);
      Values with_nan = expected;
      with_nan[77] = kNan;
      ExpectSame(odd, with_nan, dtype, tolerance);
    }
  }
}

// Every number of 16 bits, subnormal ones and zeros too.
TEST_F(DeviceTest, KnowsEveryNumberOf16Bits) {
  for (const kb_dtype dtype : {kF16, kBf16}) {
    const uint16_t exponent = dtype.code == KB_BFLOAT ? 0x7f80 : 0x7c00;
    std::vector<char> expected, got;
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      if ((bits & exponent) == exponent) continue;
      const auto number = static_cast<uint16_t>(bits), neighbour = static_cast<uint16_t>(bits ^ 1);
      expected.insert(expected.end(), reinterpret_cast<const char*>(&number),
                      reinterpret_cast<const char*>(&number + 1));
      got.insert(got.end(), reinterpret_cast<const char*>(&neighbour), reinterpret_cast<const char*>(&neighbour + 1));
    }
    // Errors are told as they are where nothing is wrong, and looked at one by one where something is.
    ExpectSameBytes(got, expected, dtype, {.mode = Tolerance::Mode::kAllclose, .atol = 1e37, .rtol = 1});
    ExpectSameBytes(got, expected, dtype, {.rtol = 1e3, .rtol_rms = 1e3});
    ExpectSameBytes(got, expected, dtype, {.mode = Tolerance::Mode::kAllclose, .atol = 0, .rtol = 1e-3});
  }
}

// What fp32 rounds of a difference, and what it cannot hold (compare_test.cc).
TEST_F(DeviceTest, RoundsDifferencesOf16BitsAlike) {
  for (const kb_dtype dtype : {kF16, kBf16}) {
    for (const double elsewhere : {2.0, kNan}) {
      Values expected(3000, 2), got = expected;
      expected[5] = got[5] = elsewhere;
      got[77] = 0x1p-24;
      ExpectSame(got, expected, dtype, {.rtol = 1 - 0x1p-26, .rtol_rms = 1e3});
      got[2000] = dtype.code == KB_BFLOAT ? 3e38 : 6e4;
      expected[2000] = -got[2000];
      ExpectSame(got, expected, dtype, {});
      ExpectSame(got, expected, dtype, Allclose(1, 1));
    }
  }
}

// Elements that come out one step of their type away: single ones, and too many.
TEST_F(DeviceTest, AllowsTheSameNeighbours) {
  for (const kb_dtype dtype : {kF16, kBf16}) {
    for (const size_t every : {1001, 8}) {
      const Values expected = Numbers(6);
      Values got = expected;
      for (size_t i = 0; i < got.size(); i += every) got[i] *= dtype.code == KB_BFLOAT ? 1 + 0x1p-8 : 1 + 0x1p-11;
      ExpectSame(got, expected, dtype, {}, expected, expected);
      got[1] = kNan;  // in a block that is looked at element by element
      ExpectSame(got, expected, dtype, {}, expected, expected);
    }
  }
}

// An offset of a thousand standard deviations.
TEST_F(DeviceTest, TakesTheSameFloors) {
  for (const kb_dtype dtype : {kF32, kF64}) {
    const Values expected = Normal(kElements, 1000, 1, 7);
    for (const double error : {3e-4, 6e-4}) {
      ExpectSame(Plus(expected, Values(kElements, error)), expected, dtype, {}, expected, expected);
    }
  }
}

TEST_F(DeviceTest, KeepsTheSameBudget) {
  const Values truth = Numbers(2), noise = Normal(static_cast<int64_t>(truth.size()), 0, 1e-4, 3);
  Values reference = truth, near = truth, far = truth;
  for (size_t i = 0; i < truth.size(); ++i) {
    reference[i] += noise[i];
    near[i] -= noise[i];
    far[i] += i > 300'000 ? 9 * noise[i] : 0;
  }
  for (const kb_dtype dtype : {kF32, kF64, kC64}) {
    for (const bool pooled : {false, true}) {
      for (const Values& got : {near, far}) ExpectSame(got, reference, dtype, {}, reference, truth, pooled);
    }
  }
}

TEST_F(DeviceTest, SeesWhatWasNotWritten) {
  for (const kb_dtype dtype : {kF32, kF16, kF64, kI64, kI32}) {
    const std::vector<char> expected = Encode(Numbers(4), dtype);
    std::vector<char> got = expected;
    const uint64_t poison = PoisonPattern(dtype, kSecret);
    const size_t size = ElementSize(dtype);
    for (size_t i = 300'000; i < 300'500; ++i) std::memcpy(&got[i * size], &poison, size);
    ExpectSameBytes(got, expected, dtype, {});
  }
}

TEST_F(DeviceTest, ComparesIntegersAndBools) {
  Values expected(kElements), got;
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<double>(i % 2);
  got = expected;
  got[123'456] = 1 - got[123'456];
  for (const kb_dtype dtype : {kBool, kI32, kI64, kU64}) {
    ExpectSame(expected, expected, dtype, {});
    ExpectSame(got, expected, dtype, {});
  }
}

TEST_F(DeviceTest, PoisonsAnyAddressAndReadsSecretPositionsBack) {
  const Values zeros(10'000, 0.0);
  const OnDevice there(zeros.data(), zeros.size() * 8);
  for (const size_t offset : {0, 4, 12}) {
    const OutputItem output{there.data() + offset, kF32, {3001}};
    gpu_->Present({}, {&output, 1}, kSecret, {});
    std::vector<uint32_t> seen(3003);
    cuda::Must(Driver(), Driver().cuMemcpyDtoHAsync_v2(seen.data(), cuda::At(output.data), 3003 * 4, nullptr), "read");
    cuda::Must(Driver(), Driver().cuStreamSynchronize(nullptr), "read");
    const auto pattern = static_cast<uint32_t>(PoisonPattern(kF32, kSecret));
    EXPECT_EQ(std::count(seen.begin(), seen.begin() + 3001, pattern), 3001);
    EXPECT_NE(seen[3001], pattern);
    auto reader = gpu_->MakeSecretReader({&output, 1});
    reader->Draw();
    reader->Read();
    EXPECT_TRUE(reader->Hold());
    cuda::Must(Driver(), Driver().cuMemsetD8Async(cuda::At(output.data), 1, 3001 * 4, nullptr), "write");
    EXPECT_FALSE(reader->Hold());
    cuda::Must(Driver(), Driver().cuMemsetD8Async(cuda::At(there.data()), 0, 80'000, nullptr), "clear");
  }
}

}  // namespace
}  // namespace kb
