// `cuda` for fake_quant_int8_per_channel: which kernels are launched for which channels, and that
// they need no more workspace than the call is told to bring.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/quantization.hpp"
#include "tests/client/cuda_scene.hpp"
#include "tests/client/launched_kernels.hpp"
#include "tests/support/temp_dir.hpp"

namespace lyk::test {
namespace {

struct ChannelRow {
  Shape shape;
  std::int64_t axis = 0;
  bool has_scale = false;
  const char* kernels = "";  // DIRECTION stands for forward or backward
  std::uint64_t workspace_bytes = 0;
};

constexpr const char* rows = "DIRECTION_rows_f32 ";
constexpr const char* scattered = "amax_f32 DIRECTION_f32 ";
constexpr const char* given = "DIRECTION_f32 ";

// An only channel is in one piece wherever its axis stands.
std::vector<ChannelRow> channel_rows() {
  return {{{3, 64}, 0, false, rows, 0},         {{1, 64}, 0, false, rows, 0},
          {{64, 1}, 1, false, rows, 0},         {{4, 1, 9}, 1, false, rows, 0},
          {{1, 3, 4}, 1, false, rows, 0},       {{3, 64}, 1, false, scattered, 4 * 64},
          {{2, 3, 4}, 1, false, scattered, 12}, {{2, 3, 4}, 2, false, scattered, 16},
          {{3, 64}, 0, true, given, 0},         {{3, 64}, 1, true, given, 0}};
}

std::string kernels_of(const ChannelRow& row, const std::string& direction) {
  std::string out;
  for (const std::string_view rest{row.kernels}; const char character : rest) {
    if (out.empty() || out.back() == ' ')
      out += "lyk_fake_quant_int8_per_channel_";
    out += character;
  }
  constexpr std::string_view placeholder = "DIRECTION";
  return out.replace(out.find(placeholder), placeholder.size(), direction);
}

// What is wrong with a call; empty: nothing.
std::string run(CudaScene& scene, const ChannelRow& row, std::uint32_t operation) {
  QuantizationCall call{"fake_quant_int8_per_channel"};
  operation == LYK_FORWARD ? fill(call) : fill_backward(call);
  for (std::size_t i = 0; i < call.size(); ++i)
    if (call.has(i))
      call.tensor(i).shape = row.shape;
  call.channel.channel_axis = row.axis;
  const std::int64_t channels = row.shape[static_cast<std::size_t>(row.axis)];
  if (row.has_scale)
    call.put(1, {channels}, Floats(static_cast<std::size_t>(channels), 0.03F));
  scene.upload(call);
  const std::string said = scene.call(call);
  return call.workspace_bytes == row.workspace_bytes
             ? said
             : str(said, "told to bring ", call.workspace_bytes, " bytes; ");
}

TEST(CudaQuantization, LaunchesTheKernelsOfTheChannelsThatThereAre) {
  if constexpr (is_thread_sanitizer)
    GTEST_SKIP() << no_more_threads;
  const TempDir folder;
  const std::string trace = folder / "trace";
  const std::string said = in_child(cuda_variables({{"SOFTCUDA_TRACE", trace}}), [] {
    CudaScene scene;
    std::string wrong;
    for (const ChannelRow& row : channel_rows())
      for (const std::uint32_t operation : {LYK_FORWARD, LYK_BACKWARD})
        wrong += run(scene, row, operation);
    return wrong;
  });
  EXPECT_EQ(said, "");
  std::string expected;
  for (const ChannelRow& row : channel_rows())
    expected += kernels_of(row, "forward") + kernels_of(row, "backward");
  EXPECT_EQ(launched_kernels(trace), expected);
}

}  // namespace
}  // namespace lyk::test
