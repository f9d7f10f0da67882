// `cuda` for the quantization slots: the compiled kernels, launched as a host of the library has
// them launched.
#include "client/cuda_quantization.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/client/cuda_scene.hpp"
#include "tests/client/empty_calls.hpp"

namespace lyk::test {
namespace {

// Forward and backward of every slot.
TEST(CudaQuantization, GivesTheBitsOfTheOracleOfCuda) {
  const std::string said = in_child(cuda_variables(), []() -> std::string {
    CudaScene scene;
    std::string wrong;
    for (const std::string_view slot : quantization_slot_names)
      for (const auto& [rows, columns] : {std::pair{3, 80}, std::pair{1, 257}}) {
        QuantizationCall forward{slot};
        fill(forward, {rows, columns});
        scene.upload(forward);
        wrong += scene.run(forward);
        if (slot.starts_with("unpack"))
          continue;
        QuantizationCall backward{slot};
        fill_backward(backward, {rows, columns});
        scene.upload(backward);
        wrong += scene.run(backward);
      }
    return wrong + expect_count(scene.warnings(), 0);
  });
  EXPECT_EQ(said, "");
}

// As on a processor: quantization_test.cpp.
TEST(CudaQuantization, HasDoneOrRefusesWhatIsEmptyAsLibreYoloDoes) {
  const std::string said = in_child(cuda_variables(), []() -> std::string {
    CudaScene scene{{.names = {"cuda"}}};
    std::string wrong;
    for (const EmptyCall& empty : empty_calls())
      for (const std::uint32_t operation : operations_of(empty)) {
        QuantizationCall call{empty.slot};
        fill_empty(call, empty, operation);
        scene.upload(call);
        const std::string done = expect(scene.call(call), expected_of(empty));
        wrong += done.empty() ? "" : str(empty.name(), ": ", done);
      }
    return wrong + expect_count(scene.warnings(), 0);
  });
  EXPECT_EQ(said, "");
}

// Channels that are no rows have their scales in the workspace.
TEST(CudaQuantization, NeedsAWorkspaceForScalesThatItHasToFindFirst) {
  const std::string said = in_child(cuda_variables(), []() -> std::string {
    CudaScene scene;
    std::string wrong;
    for (const bool is_dynamic : {true, false}) {
      QuantizationCall call{is_dynamic ? "fake_quant_nvfp4_dynamic"
                                       : "fake_quant_int8_per_channel"};
      fill(call);
      call.channel.channel_axis = 1;
      scene.upload(call);
      const auto& slot = *client::find_quantization_slot(call.slot);
      const auto needed = client::quantization_workspace_bytes(slot, call.arguments());
      const std::uint64_t expected = is_dynamic ? 4 : 4 * 80;
      if (!needed || *needed != expected)
        wrong += "another size; ";
      call.workspace_bytes = expected - 1;
      wrong += expect(scene.call(call), str("invalid_argument: workspace: ", expected - 1,
                                            " bytes, and ", expected, " are needed"));
      call.workspace_bytes = expected;
      wrong += scene.call(call);
      if (is_dynamic)
        wrong += scene.check(call);
    }
    return wrong;
  });
  EXPECT_EQ(said, "");
}

TEST(CudaQuantization, FindsTheScalesOfScatteredChannels) {
  const std::string said = in_child(cuda_variables(), []() -> std::string {
    CudaScene scene;
    QuantizationCall on_gpu{"fake_quant_int8_per_channel"};
    QuantizationCall rows{"fake_quant_int8_per_channel"};
    fill(on_gpu, {4, 6});
    fill(rows, {4, 6});
    // The transposed view of the same memory: its axis 1 is the rows that lie in one piece.
    on_gpu.channel.channel_axis = 1;
    on_gpu.tensor(0).shape = on_gpu.last().shape = {6, 4};
    on_gpu.tensor(0).strides = on_gpu.last().strides = {1, 6};
    scene.upload(on_gpu);
    scene.upload(rows);
    std::string wrong = scene.call(on_gpu);
    wrong += scene.call(rows);
    if (scene.result(on_gpu) != scene.result(rows))
      wrong += "another result of the transposed view; ";
    // And one whose channels are no rows, as rows of its transposed copy.
    QuantizationCall scattered{"fake_quant_int8_per_channel"};
    fill(scattered, {4, 6});
    scattered.channel.channel_axis = 1;
    const Floats x = scattered.tensor(0).floats();
    QuantizationCall copied{"fake_quant_int8_per_channel"};
    Floats turned(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      turned[i % 6 * 4 + i / 6] = x[i];
    copied.parameters = &copied.channel;
    copied.add({6, 4}, turned);
    copied.add_none();
    copied.add_output({6, 4});
    scene.upload(scattered);
    wrong += scene.call(scattered);
    const Floats expected = of_oracle(copied, OracleOf::cuda);
    const Floats actual = scene.result(scattered);
    for (std::size_t i = 0; i < actual.size(); ++i)
      if (!is_same(actual[i], expected[i % 6 * 4 + i / 6]))
        wrong += str("element ", i, "; ");
    return wrong;
  });
  EXPECT_EQ(said, "");
}

// 16 bits of int8 with a scale; all else in 16 bits is not what LibreYOLO computes.
TEST(CudaQuantization, TakesSixteenBitsWhereTheyMeanTheSame) {
  const std::string said = in_child(cuda_variables(), []() -> std::string {
    CudaScene scene;
    std::string wrong;
    for (const std::string_view slot : quantization_slot_names) {
      if (slot.starts_with("unpack"))
        continue;
      QuantizationCall call{slot};
      fill(call);
      const Floats halves(120);  // as many bytes as 240 halves: zeros
      call.tensor(0).bytes.assign(480, std::byte{0});
      call.last().bytes.assign(480, std::byte{0x55});
      call.tensor(0).tensor.dtype = call.last().tensor.dtype = {LYK_DTYPE_FLOAT, 16, 1};
      scene.upload(call);
      const std::string done = scene.call(call);
      if (slot == "fake_quant_int8_affine")
        wrong += scene.result(call) == halves ? done : done + "zeros are not zero; ";
      else
        wrong += expect_prefix(done, str("not_eligible: ", slot, ": cuda: "));
    }
    for (const lyk_dtype dtype :
         {lyk_dtype{LYK_DTYPE_FLOAT, 16, 1}, lyk_dtype{LYK_DTYPE_BFLOAT, 16, 1}}) {
      QuantizationCall call{"fake_quant_int8_per_channel"};
      call.parameters = &call.channel;
      call.add({2, 4}, Floats(4)).tensor.dtype = dtype;
      call.add({2}, {0.5F, 0.25F});
      call.add({2, 4}, Floats(4, 9)).tensor.dtype = dtype;
      scene.upload(call);
      wrong += scene.call(call);
      wrong += scene.result(call) == Floats(4) ? "" : "not zero; ";
    }
    return wrong + expect_count(scene.warnings(), 0);
  });
  EXPECT_EQ(said, "");
}

TEST(CudaQuantization, ServesHostTensorsByTheNextImplementation) {
  const std::string said = in_child(cuda_variables(), []() -> std::string {
    CudaScene scene;
    QuantizationCall call{"fake_quant_fp8"};
    fill(call);
    const std::string wrong = scene.call(call);
    return wrong.empty() && call.last().floats() == of_oracle(call, OracleOf::cpu) ? ""
                                                                                   : wrong + "?";
  });
  EXPECT_EQ(said, "");
}

TEST(CudaQuantization, IsCapturedOnceItsKernelsHaveRun) {
  const std::string said = in_child(cuda_variables(), []() -> std::string {
    CudaScene scene;
    QuantizationCall call{"fake_quant_nvfp4_weight"};
    fill(call);
    scene.upload(call);
    lyk_cu_stream stream = scene.gpu().stream(1);
    call.stream = stream;
    const auto captured = [&]() {
      CUgraph_st* graph = nullptr;
      SoftGpu::must(scene.gpu().host.begin_capture(stream, 2), "cuStreamBeginCapture");
      const std::string done = scene.call(call);
      SoftGpu::must(scene.gpu().host.end_capture(stream, &graph), "cuStreamEndCapture");
      return done;
    };
    std::string wrong = expect_prefix(
        captured(), "not_eligible: fake_quant_nvfp4_weight: cuda: the stream captures");
    wrong += scene.call(call);
    wrong += captured();
    // Its backward has not run: a forward that needs one cannot be captured.
    call.flags = LYK_NEEDS_GRADIENT;
    return wrong +
           expect_prefix(captured(),
                         "not_eligible: fake_quant_nvfp4_weight: cuda: the stream captures");
  });
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace lyk::test
