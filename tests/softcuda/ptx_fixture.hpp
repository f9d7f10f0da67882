// A device for tests of the PTX machine: text in, kernels run, values out.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fakes/softcuda/ptx/memory.hpp"
#include "tests/fakes/softcuda/ptx/module.hpp"
#include "tests/fakes/softcuda/ptx/run.hpp"

namespace softcuda::ptx::testing {

// The target that has most.
inline constexpr std::string_view header = ".version 9.0\n.target sm_100a\n.address_size 64\n";

// Parameters one after another, each at a multiple of its size.
class Arguments {
public:
  template <typename... Values>
  explicit Arguments(Values... values) {
    (add(values), ...);
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

private:
  template <typename T>
  void add(T value) {
    const std::size_t offset = (bytes_.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    bytes_.resize(offset + sizeof(T));
    std::memcpy(bytes_.data() + offset, &value, sizeof(T));
  }
  std::vector<std::byte> bytes_;
};

class Device {
public:
  // `text` is a whole module.
  explicit Device(std::string_view text) {
    auto parsed = parse(text);
    if (!parsed) {
      ADD_FAILURE() << parsed.error().message;
      return;
    }
    auto loaded = LoadedModule::load(std::make_shared<const Module>(*std::move(parsed)), memory);
    if (!loaded)
      ADD_FAILURE() << loaded.error().message;
    else
      module_.emplace(*std::move(loaded));
  }

  template <typename T>
  Address put(const std::vector<T>& values) {
    const Address address = allocate<T>(values.size());
    EXPECT_TRUE(memory.copy_in(address, std::as_bytes(std::span{values})));
    return address;
  }
  template <typename T>
  Address allocate(std::size_t count) {
    return memory.allocate(count * sizeof(T)).value();
  }
  template <typename T>
  std::vector<T> get(Address address, std::size_t count) {
    std::vector<T> values(count);
    EXPECT_TRUE(memory.copy_out(std::as_writable_bytes(std::span{values}), address));
    return values;
  }

  std::optional<Fault> run(std::string_view kernel, Launch launch, const Arguments& arguments) {
    if (!module_)
      return Fault{FaultKind::invalid_launch, "no module"};
    const Kernel* const found = module_->module().kernel(kernel);
    if (found == nullptr)
      return Fault{FaultKind::invalid_launch, "no such kernel"};
    launch.parameters = arguments.bytes();
    return softcuda::ptx::run(*module_, *found, launch, memory);
  }
  // The same, and it must end without a fault.
  void run_well(std::string_view kernel, const Launch& launch, const Arguments& arguments) {
    const std::optional<Fault> fault = run(kernel, launch, arguments);
    EXPECT_FALSE(fault) << fault->text;
  }

  [[nodiscard]] const LoadedModule* module() const { return module_ ? &*module_ : nullptr; }

  Memory memory{std::uint64_t{1} << 30};  // before what lies in it

private:
  std::optional<LoadedModule> module_;
};

// A module with a kernel on line 4, its body on line 5.
[[nodiscard]] std::string with_body(std::string_view body, std::string_view head = header);
// What the parser says of a module: "taken", or why not.
[[nodiscard]] std::string refusal_of(std::string_view text);

// One instruction, or a few, with registers %a16 %a32 %a64 and so on for three inputs, and the
// result in %d16, %d32, %d64, or the predicate %pd, whichever the code names.
struct Row {
  const char* code;
  std::uint64_t d;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
};

// Runs each row as a kernel of its own and compares the bits.
void expect_rows(std::span<const Row> rows);

}  // namespace softcuda::ptx::testing
