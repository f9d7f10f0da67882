// The driver's C interface as this stand-in speaks it: result codes, handles, enumerations and
// structures, in our own declarations. Numbers and layouts are those of the public API of CUDA 11.8
// to 13; tests/softcuda/driver_abi_test.cpp compares them with cuda.h where that is installed.
//
// Only what a function here looks at has a name; every other value passes as a number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace softcuda {

enum class Status : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  deinitialized = 4,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  no_binary_for_gpu = 209,
  ecc_uncorrectable = 214,
  invalid_ptx = 218,
  nvlink_uncorrectable = 220,
  unsupported_ptx_version = 222,
  contained = 226,
  file_not_found = 301,
  operating_system = 304,
  invalid_handle = 400,
  illegal_state = 401,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  launch_out_of_resources = 701,
  launch_timeout = 702,
  primary_context_active = 708,
  context_is_destroyed = 709,
  assert_failed = 710,
  hardware_stack_error = 714,
  illegal_instruction = 715,
  misaligned_address = 716,
  invalid_address_space = 717,
  invalid_pc = 718,
  launch_failed = 719,
  not_permitted = 800,
  not_supported = 801,
  stream_capture_unsupported = 900,
  stream_capture_invalidated = 901,
  stream_capture_merge = 902,
  stream_capture_unmatched = 903,
  stream_capture_unjoined = 904,
  stream_capture_isolation = 905,
  stream_capture_implicit = 906,
  captured_event = 907,
  stream_capture_wrong_thread = 908,
  external_device = 911,
  function_not_loaded = 913,
  unknown = 999,
};

// Handles are numbers that look like pointers and point nowhere: see handles.hpp.
using ContextHandle = struct ContextTag*;
using ModuleHandle = struct ModuleTag*;
using FunctionHandle = struct FunctionTag*;
using LibraryHandle = struct LibraryTag*;
using KernelHandle = struct KernelTag*;
using StreamHandle = struct StreamTag*;
using EventHandle = struct EventTag*;
using GraphHandle = struct GraphTag*;
using GraphExecHandle = struct GraphExecTag*;
using NodeHandle = struct NodeTag*;

using DeviceNumber = int;
using DevicePointer = std::uint64_t;

// CU_STREAM_LEGACY and CU_STREAM_PER_THREAD.
inline constexpr std::uintptr_t stream_legacy = 1;
inline constexpr std::uintptr_t stream_per_thread = 2;

inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_flags_known = 7;
inline constexpr unsigned event_disable_timing = 2;
inline constexpr unsigned context_flags_known = 0xff;

enum class CaptureMode : int { global = 0, of_thread = 1, relaxed = 2 };
enum class CaptureStatus : int { none = 0, active = 1, invalidated = 2 };
enum class LoadingMode : int { eager = 1, lazy = 2 };

enum class FunctionAttribute : int {
  max_threads_per_block = 0,
  shared_size_bytes = 1,
  const_size_bytes = 2,
  local_size_bytes = 3,
  num_regs = 4,
  ptx_version = 5,
  binary_version = 6,
  cache_mode_ca = 7,
  max_dynamic_shared_size_bytes = 8,
  preferred_shared_memory_carveout = 9,
};

enum class PointerAttribute : int {
  context = 1,
  memory_type = 2,
  device_pointer = 3,
  host_pointer = 4,
  buffer_id = 7,
  is_managed = 8,
  device_ordinal = 9,
  range_start_addr = 11,
  range_size = 12,
  mapped = 13,
};
inline constexpr unsigned memory_type_host = 1;
inline constexpr unsigned memory_type_device = 2;

// Options of cuModuleLoadDataEx that are answered; every other one is ignored.
inline constexpr int jit_info_log_buffer = 3;
inline constexpr int jit_info_log_buffer_size_bytes = 4;
inline constexpr int jit_error_log_buffer = 5;
inline constexpr int jit_error_log_buffer_size_bytes = 6;

// The `extra` list of a launch: these words, each followed by its value.
inline constexpr std::uintptr_t launch_end = 0;
inline constexpr std::uintptr_t launch_buffer_pointer = 1;
inline constexpr std::uintptr_t launch_buffer_size = 2;

// CUlaunchAttribute: an identifier, padding, 64 bytes of value.
inline constexpr int launch_attribute_cooperative = 2;
inline constexpr int launch_attribute_cluster_dimension = 4;
struct LaunchAttribute {
  int id;
  std::uint32_t padding;
  std::array<std::uint32_t, 16> value;
};

struct LaunchConfig {
  std::array<unsigned, 3> grid;
  std::array<unsigned, 3> block;
  unsigned shared_bytes;
  StreamHandle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

struct Uuid {
  std::array<unsigned char, 16> bytes;
};

using HostFunction = void (*)(void* user);
using BlockSizeToShared = std::size_t (*)(int block_size);

// Results of cuGetProcAddress and its search flags.
enum class ProcAddressStatus : int { found = 0, not_found = 1, version_not_sufficient = 2 };
inline constexpr std::uint64_t proc_address_legacy_stream = 1;
inline constexpr std::uint64_t proc_address_per_thread_stream = 2;

}  // namespace softcuda
