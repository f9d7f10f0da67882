// What the library brings itself, without a pin: `cuda` on a GPU, where `hub` does not run, and
// `cpu` on the host. Thread rule: one thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/outlook.hpp"
#include "client/fatbin_file.hpp"
#include "client/machine.hpp"
#include "proto/names.hpp"
#include "proto/result.hpp"

namespace lyk::cli {

// GPUs of one kind, by the first of them: what is true of one is true of its equals.
struct Kind {
  client::MachineGpu gpu;
  std::optional<Obstacle> own_kernels;  // what keeps the library's own from it
  bool is_known = false;                // whether own_kernels was found out
};

class LibraryOutlook {
public:
  // `slots`: those that are asked for, whose kernels have to be there. Finds kinds of GPUs.
  LibraryOutlook(const Invocation& invocation,
                 const Situation& situation,
                 const std::vector<SlotName>& slots,
                 Thoroughness thoroughness);

  std::span<Kind> kinds() { return kinds_; }

  // Our own kernels, where `hub` does not run: in place of its obstacle, which is then only said.
  // A row for which they come into question has its GPU afterwards.
  Outlook with_own_kernels(Outlook row, Kind& kind);

  // What a machine without a GPU runs: `cpu`, which takes host tensors, and there is nothing to
  // mend. Empty where there is a GPU, or a driver that fails to say so.
  std::optional<Outlook> on_host(const std::string& slot) const;

  // A slot for which there is no pin: `cuda` on each kind of GPU.
  std::vector<Outlook> of_quantization(const std::string& slot);

  // The slot's rows where something keeps `hub` from every GPU: one without a GPU, unless `cuda`
  // comes into question.
  std::vector<Outlook> without_hub(const std::string& slot, const Obstacle& obstacle);

private:
  bool is_allowed(std::string_view slot, std::string_view name) const;
  const std::optional<Obstacle>& find_obstacle(Kind& kind);
  std::optional<Obstacle> ask(const client::MachineGpu& gpu) const;

  const Situation& situation_;
  const std::string driver_library_;
  const Thoroughness thoroughness_;
  const client::FatbinFile fatbin_{client::find_fatbin()};
  std::vector<std::string_view> symbols_;  // that are tried out
  std::vector<Kind> kinds_;
};

}  // namespace lyk::cli
