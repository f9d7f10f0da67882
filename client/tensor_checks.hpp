// What can be wrong with a caller's tensors, told by the name of the argument, before anything is
// launched. A tensor that contradicts itself or another one is an invalid argument; one that is
// merely not supported is no business of this file.
// Thread rule: pure functions; nothing is allocated unless something is wrong.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "client/lyk.h"
#include "proto/result.hpp"

namespace lyk::client {

enum class Elements { floating, int64, uint8 };  // those of int64 must be dense as well
enum class Access { reads, writes };
enum class Presence { required, optional };

inline constexpr std::int32_t tensor_dimensions_max = 8;

inline constexpr std::string_view any_shape = "*";
inline constexpr std::string_view any_row_shape = "+";  // of one dimension at least

struct TensorRule {
  std::string_view name;
  // One character for each dimension: a digit is a size, a letter stands for a size that must be
  // the same wherever the letter is. Or any_shape, or any_row_shape.
  std::string_view shape;
  Elements elements = Elements::floating;
  Access access = Access::reads;
  Presence presence = Presence::required;
};

// The sizes that letters stand for, and which tensor said so first.
class Sizes {
public:
  // Gives a letter its size beforehand, in the name of `owner`.
  void set(char letter, std::int64_t size, std::string_view owner);
  std::int64_t operator[](char letter) const { return sizes_[index(letter)]; }

  Result<void> match(const TensorRule& rule, const lyk_tensor& tensor);

private:
  static std::size_t index(char letter) { return static_cast<std::size_t>(letter - 'A'); }

  std::array<std::int64_t, 26> sizes_{};
  std::array<std::string_view, 26> owners_{};  // empty: the letter has no size yet
};

// One tensor by itself: rank, sizes, dtype, strides, address. Errors: invalid_argument;
// not_eligible for more dimensions than anything here has.
Result<void> check_tensor(const TensorRule& rule, const lyk_tensor* tensor);

// Of these: rank, sizes and dtype alone; the strides as well, where there is no address yet; the
// address of one that has passed check_layout.
Result<void> check_shape(const TensorRule& rule, const lyk_tensor* tensor);
Result<void> check_layout(const TensorRule& rule, const lyk_tensor* tensor);
Result<void> check_address(const TensorRule& rule, const lyk_tensor* tensor);

// Tensors among each other: one device that there is, and no output that certainly overlaps
// anything; whether tensors with gaps do is left to who takes them. They have passed check_layout,
// and check_tensor. Errors: invalid_argument.
Result<void> check_one_device(std::span<const TensorRule> rules, const lyk_tensor* const* tensors);
Result<void> check_outputs_apart(std::span<const TensorRule> rules,
                                 const lyk_tensor* const* tensors);

// Memory that a call writes beside its tensors.
struct Scratch {
  std::string_view name;
  const void* begin = nullptr;
  std::uint64_t bytes = 0;
};

// That no tensor without gaps overlaps it. They have passed check_tensor. Errors: invalid_argument.
Result<void> check_apart(const Scratch& scratch,
                         std::span<const TensorRule> rules,
                         const lyk_tensor* const* tensors);

// ---- what calls of a declared slot have in common. Errors: invalid_argument.

Result<void> check_operation(const lyk_arguments& arguments);
Result<void> check_count(const lyk_arguments& arguments, std::span<const TensorRule> rules);

// What is needed of it is written; the rest is room that a caller may share with whatever he likes.
Result<void> check_workspace(const lyk_arguments& arguments,
                             std::span<const TensorRule> rules,
                             std::uint64_t needed_bytes);

// For what computes in float32. Errors: not_eligible, where that is not enough.
Result<void> check_float32_does(const lyk_arguments& arguments);

// ---- of a tensor that has passed check_tensor

std::int64_t element_count(const lyk_tensor& tensor);
std::uint64_t address(const lyk_tensor& tensor);  // of its first element
bool is_dense(const lyk_tensor& tensor);          // row-major without gaps
bool has_no_gaps(const lyk_tensor& tensor);       // the same in whatever order
std::int64_t stride_of(const lyk_tensor& tensor, std::int32_t dimension);  // in elements
bool is_float32(const lyk_tensor& tensor);
bool is_on_gpu(const lyk_tensor& tensor);
bool is_on_host(const lyk_tensor& tensor);

// The first element, of the tensor's device.
template <typename Element>
Element* data_of(const lyk_tensor& tensor) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): DLPack adds bytes to a pointer
  return reinterpret_cast<Element*>(address(tensor));
}

// All of a tensor without gaps, in the order of memory.
template <typename Element>
std::span<Element> elements_of(const lyk_tensor& tensor) {
  return {data_of<Element>(tensor), static_cast<std::size_t>(element_count(tensor))};
}

}  // namespace lyk::client
