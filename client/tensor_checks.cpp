#include "client/tensor_checks.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "client/c_interface.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

std::uint64_t element_bytes(const lyk_tensor& tensor) {
  return std::max<std::uint64_t>(tensor.dtype.bits / 8U, 1);
}

bool is_floating(const lyk_dtype& dtype) {
  switch (dtype.code) {
    case LYK_DTYPE_FLOAT:
      return dtype.bits == 16 || dtype.bits == 32 || dtype.bits == 64;
    case LYK_DTYPE_BFLOAT:
      return dtype.bits == 16;
    default:
      return dtype.code >= LYK_DTYPE_FLOAT8_E3M4 && dtype.code <= LYK_DTYPE_FLOAT8_E8M0FNU &&
             dtype.bits == 8;
  }
}

bool is_of(Elements elements, const lyk_dtype& dtype) {
  switch (elements) {
    case Elements::floating:
      return is_floating(dtype);
    case Elements::int64:
      return dtype.code == LYK_DTYPE_INT && dtype.bits == 64;
    case Elements::uint8:
      return dtype.code == LYK_DTYPE_UINT && dtype.bits == 8;
  }
  return false;
}

std::string_view name_of(Elements elements) {
  switch (elements) {
    case Elements::floating:
      return "a floating-point type";
    case Elements::int64:
      return "int64";
    case Elements::uint8:
      return "uint8";
  }
  return {};
}

Result<void> check_dtype(const TensorRule& rule, const lyk_dtype& dtype) {
  if (is_of(rule.elements, dtype) && dtype.lanes == 1)
    return {};
  return bad_argument(rule.name,
                      str("dtype code ", int{dtype.code}, " of ", int{dtype.bits}, " bits and ",
                          int{dtype.lanes}, " lanes is not ", name_of(rule.elements)));
}

bool has_any_rank(const TensorRule& rule) {
  return rule.shape == any_shape || rule.shape == any_row_shape;
}

Result<void> check_rank(const TensorRule& rule, const lyk_tensor& tensor) {
  if (!has_any_rank(rule)) {
    if (tensor.ndim != static_cast<int>(rule.shape.size()))
      return bad_argument(rule.name, str(tensor.ndim, " dimensions, not ", rule.shape.size()));
    return {};
  }
  const int least = rule.shape == any_row_shape ? 1 : 0;
  if (tensor.ndim < least)
    return bad_argument(rule.name, str(tensor.ndim, " dimensions, at least ", least));
  if (tensor.ndim > tensor_dimensions_max)
    return Error{Code::not_eligible, str(rule.name, ": ", tensor.ndim, " dimensions, and ",
                                         tensor_dimensions_max, " are the most")};
  return {};
}

// Each size, and their product with zeros counted as ones: products of some of them stay exact.
Result<void> check_sizes(const TensorRule& rule, const lyk_tensor& tensor) {
  LYK_TRY(check_rank(rule, tensor));
  if (tensor.shape == nullptr && tensor.ndim != 0)
    return bad_argument(rule.name, "its shape is NULL");
  std::int64_t product = 1;
  for (int d = 0; d < tensor.ndim; ++d) {
    const std::int64_t size = tensor.shape[d];
    if (size < 0)
      return bad_argument(rule.name, str("size ", size, " of dimension ", d, " is negative"));
    if (size > limits::tensor_elements_max / product)
      return bad_argument(rule.name, str("more than ", limits::tensor_elements_max, " elements"));
    product *= std::max<std::int64_t>(size, 1);
  }
  return {};
}

// One dimension of a tensor with strides; of one element: without a step.
struct Step {
  std::int64_t stride = 0;
  std::int64_t size = 1;
  std::int32_t dimension = 0;
};

// REQUIRES: strides, tensor_dimensions_max dimensions at most.
std::array<Step, tensor_dimensions_max> steps_from_the_innermost(const lyk_tensor& tensor) {
  std::array<Step, tensor_dimensions_max> out{};
  for (std::int32_t d = 0; d < tensor.ndim; ++d)
    if (tensor.shape[d] != 1)
      out[static_cast<std::size_t>(d)] = {tensor.strides[d], tensor.shape[d], d};
  const auto is_nearer = [](const Step& a, const Step& b) {
    return a.stride != b.stride ? a.stride < b.stride : a.dimension > b.dimension;
  };
  // Not std::sort, for which GCC 12 sees more than tensor_dimensions_max elements coming when it
  // optimises.
  std::make_heap(out.begin(), out.end(), is_nearer);
  std::sort_heap(out.begin(), out.end(), is_nearer);
  return out;
}

// That no two of its elements are one in memory: each stride is at least what lies inside it.
// Others may do without meeting too, and nobody has those.
Result<void> check_nests(const TensorRule& rule, const lyk_tensor& tensor) {
  std::int64_t inside = 1;
  for (const Step& step : steps_from_the_innermost(tensor)) {
    if (step.size == 1)
      continue;
    if (step.stride < inside)
      return bad_argument(rule.name, str("stride ", step.stride, " of dimension ", step.dimension,
                                         " makes it overlap itself"));
    inside = step.stride * step.size;
  }
  return {};
}

// From the first to behind the last element, in elements. Strides that count are not negative.
std::int64_t span_of(const lyk_tensor& tensor) {
  if (element_count(tensor) == 0)
    return 0;
  if (tensor.strides == nullptr)
    return element_count(tensor);
  std::int64_t last = 0;
  for (int d = 0; d < tensor.ndim; ++d)
    last += (tensor.shape[d] - 1) * tensor.strides[d];
  return last + 1;
}

Result<void> check_strides(const TensorRule& rule, const lyk_tensor& tensor) {
  if (tensor.strides == nullptr || element_count(tensor) == 0)
    return {};
  std::int64_t reach = 1;
  for (int d = 0; d < tensor.ndim; ++d) {
    const std::int64_t stride = tensor.strides[d];
    const std::int64_t steps = tensor.shape[d] - 1;
    if (steps < 1)
      continue;  // the stride of a size of one says nothing
    if (stride < 0)
      return bad_argument(rule.name, str("stride ", stride, " of dimension ", d, " is negative"));
    if (stride > (limits::tensor_elements_max - reach) / steps)
      return bad_argument(rule.name,
                          str("stride ", stride, " of dimension ", d, " reaches too far"));
    reach += stride * steps;
  }
  if (rule.elements == Elements::int64 && !is_dense(tensor))
    return bad_argument(rule.name, "it is not dense");
  return rule.access == Access::writes ? check_nests(rule, tensor) : Result<void>{};
}

// A range of addresses.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

Range range_of(const lyk_tensor& tensor) {
  return {address(tensor), static_cast<std::uint64_t>(span_of(tensor)) * element_bytes(tensor)};
}

bool meet(const Range& a, const Range& b) {
  return a.bytes != 0 && b.bytes != 0 && a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}

// Whether they certainly share memory. Tensors with gaps may lie in each other's, as slices of one
// buffer do; about most of those nothing is said.
bool overlap(const lyk_tensor& a, const lyk_tensor& b) {
  if (!meet(range_of(a), range_of(b)))
    return false;
  return address(a) == address(b) || (has_no_gaps(a) && has_no_gaps(b));
}

int type_of(const lyk_tensor_device& device) {
  return static_cast<int>(device.device_type);
}

bool is_host(const lyk_tensor_device& device) {
  return type_of(device) == LYK_DEVICE_CPU || type_of(device) == LYK_DEVICE_CUDA_HOST;
}

bool is_gpu(const lyk_tensor_device& device) {
  return type_of(device) == LYK_DEVICE_CUDA || type_of(device) == LYK_DEVICE_CUDA_MANAGED;
}

// Pinned memory is memory of the host, which has no number; managed memory that of its GPU.
bool is_same_device(const lyk_tensor_device& a, const lyk_tensor_device& b) {
  if (is_host(a) || is_host(b))
    return is_host(a) && is_host(b);
  return (type_of(a) == type_of(b) || (is_gpu(a) && is_gpu(b))) && a.device_id == b.device_id;
}

std::string name_of(const lyk_tensor_device& device) {
  switch (type_of(device)) {
    case LYK_DEVICE_CPU:
      return "cpu";
    case LYK_DEVICE_CUDA_HOST:
      return "cuda_host";
    case LYK_DEVICE_CUDA:
      return str("cuda:", device.device_id);
    case LYK_DEVICE_CUDA_MANAGED:
      return str("cuda_managed:", device.device_id);
    default:
      return str("device_type ", type_of(device), ':', device.device_id);
  }
}

}  // namespace

void Sizes::set(char letter, std::int64_t size, std::string_view owner) {
  sizes_[index(letter)] = size;
  owners_[index(letter)] = owner;
}

Result<void> Sizes::match(const TensorRule& rule, const lyk_tensor& tensor) {
  if (has_any_rank(rule))
    return {};
  for (std::size_t d = 0; d < rule.shape.size(); ++d) {
    const char letter = rule.shape[d];
    const std::int64_t size = tensor.shape[d];
    if (letter >= '0' && letter <= '9') {
      if (size != letter - '0')
        return bad_argument(rule.name, str("size ", size, " of dimension ", d, ", not ", letter));
    } else if (owners_[index(letter)].empty()) {
      set(letter, size, rule.name);
    } else if (size != sizes_[index(letter)]) {
      return bad_argument(rule.name, str("size ", size, " of dimension ", d, ", where ",
                                         owners_[index(letter)], " has ", sizes_[index(letter)]));
    }
  }
  return {};
}

Result<void> check_shape(const TensorRule& rule, const lyk_tensor* tensor) {
  if (tensor == nullptr)
    return rule.presence == Presence::optional ? Result<void>{} : bad_argument(rule.name, "NULL");
  LYK_TRY(check_sizes(rule, *tensor));
  return check_dtype(rule, tensor->dtype);
}

Result<void> check_layout(const TensorRule& rule, const lyk_tensor* tensor) {
  LYK_TRY(check_shape(rule, tensor));
  return tensor == nullptr ? Result<void>{} : check_strides(rule, *tensor);
}

Result<void> check_address(const TensorRule& rule, const lyk_tensor* tensor) {
  if (tensor == nullptr || element_count(*tensor) == 0)
    return {};
  if (tensor->data == nullptr)
    return bad_argument(rule.name, "its data is NULL");
  const auto data = reinterpret_cast<std::uintptr_t>(tensor->data);
  const std::uint64_t bytes = static_cast<std::uint64_t>(span_of(*tensor)) * element_bytes(*tensor);
  constexpr std::uint64_t end = std::numeric_limits<std::uint64_t>::max();
  if (tensor->byte_offset > end - data || bytes > end - data - tensor->byte_offset)
    return bad_argument(rule.name, str("byte_offset ", tensor->byte_offset, " is beyond memory"));
  if (address(*tensor) % element_bytes(*tensor) != 0)
    return bad_argument(
        rule.name, str("it does not begin at a multiple of ", element_bytes(*tensor), " bytes"));
  return {};
}

Result<void> check_tensor(const TensorRule& rule, const lyk_tensor* tensor) {
  LYK_TRY(check_layout(rule, tensor));
  return check_address(rule, tensor);
}

Result<void> check_one_device(std::span<const TensorRule> rules, const lyk_tensor* const* tensors) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (tensors[i] == nullptr)
      continue;
    const lyk_tensor_device& device = tensors[i]->device;
    if (type_of(device) == 0)
      return bad_argument(rules[i].name, "its device_type is 0, which is no device");
    if (!is_same_device(device, tensors[0]->device))
      return bad_argument(rules[i].name, str("it is on ", name_of(device), ", and ", rules[0].name,
                                             " on ", name_of(tensors[0]->device)));
  }
  return {};
}

Result<void> check_outputs_apart(std::span<const TensorRule> rules,
                                 const lyk_tensor* const* tensors) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].access != Access::writes || tensors[i] == nullptr)
      continue;
    for (std::size_t j = 0; j < rules.size(); ++j)
      if (j != i && tensors[j] != nullptr && overlap(*tensors[i], *tensors[j]))
        return bad_argument(rules[i].name, str("it overlaps ", rules[j].name));
  }
  return {};
}

Result<void> check_apart(const Scratch& scratch,
                         std::span<const TensorRule> rules,
                         const lyk_tensor* const* tensors) {
  const Range range{reinterpret_cast<std::uintptr_t>(scratch.begin), scratch.bytes};
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (tensors[i] != nullptr && meet(range, range_of(*tensors[i])) && has_no_gaps(*tensors[i]))
      return bad_argument(scratch.name, str("it overlaps ", rules[i].name));
  return {};
}

Result<void> check_operation(const lyk_arguments& arguments) {
  if (arguments.operation != LYK_FORWARD && arguments.operation != LYK_BACKWARD)
    return bad_argument("operation",
                        str(arguments.operation, " is neither LYK_FORWARD nor LYK_BACKWARD"));
  return {};
}

Result<void> check_count(const lyk_arguments& arguments, std::span<const TensorRule> rules) {
  if (arguments.tensor_count != rules.size())
    return bad_argument("tensor_count", str(arguments.tensor_count, ", not ", rules.size()));
  if (arguments.tensors == nullptr)
    return bad_argument("tensors", "NULL");
  return {};
}

Result<void> check_workspace(const lyk_arguments& arguments,
                             std::span<const TensorRule> rules,
                             std::uint64_t needed_bytes) {
  constexpr std::uint64_t alignment = 256;
  const auto begin = reinterpret_cast<std::uintptr_t>(arguments.workspace);
  if (arguments.workspace_bytes != 0 && begin == 0)
    return bad_argument("workspace", "NULL");
  if (begin % alignment != 0)
    return bad_argument("workspace",
                        str("it does not begin at a multiple of ", alignment, " bytes"));
  if (arguments.workspace_bytes < needed_bytes)
    return bad_argument(
        "workspace", str(arguments.workspace_bytes, " bytes, and ", needed_bytes, " are needed"));
  return check_apart({"workspace", arguments.workspace, needed_bytes}, rules, arguments.tensors);
}

Result<void> check_float32_does(const lyk_arguments& arguments) {
  if ((arguments.flags & LYK_FP64_SUMS) != 0)
    return not_taken("it computes in float32");
  return {};
}

std::int64_t element_count(const lyk_tensor& tensor) {
  std::int64_t count = 1;
  for (int d = 0; d < tensor.ndim; ++d)
    count *= tensor.shape[d];
  return count;
}

std::uint64_t address(const lyk_tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
}

bool is_dense(const lyk_tensor& tensor) {
  if (tensor.strides == nullptr || element_count(tensor) == 0)
    return true;
  std::int64_t expected = 1;
  for (int d = tensor.ndim - 1; d >= 0; --d) {
    // The stride of a size of one says nothing.
    if (tensor.shape[d] != 1 && tensor.strides[d] != expected)
      return false;
    expected *= tensor.shape[d];
  }
  return true;
}

bool has_no_gaps(const lyk_tensor& tensor) {
  if (tensor.strides == nullptr || element_count(tensor) == 0)
    return true;
  std::int64_t filled = 1;
  for (const Step& step : steps_from_the_innermost(tensor)) {
    if (step.stride > filled)
      return false;
    filled += step.stride * (step.size - 1);
  }
  return true;
}

std::int64_t stride_of(const lyk_tensor& tensor, std::int32_t dimension) {
  if (tensor.strides != nullptr)
    return tensor.strides[dimension];
  std::int64_t stride = 1;
  for (std::int32_t d = dimension + 1; d < tensor.ndim; ++d)
    stride *= tensor.shape[d];
  return stride;
}

bool is_float32(const lyk_tensor& tensor) {
  return tensor.dtype.code == LYK_DTYPE_FLOAT && tensor.dtype.bits == 32;
}

bool is_on_gpu(const lyk_tensor& tensor) {
  return is_gpu(tensor.device);
}

bool is_on_host(const lyk_tensor& tensor) {
  return is_host(tensor.device);
}

}  // namespace lyk::client
