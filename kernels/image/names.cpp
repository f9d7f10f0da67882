#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "kernels/image/image.hpp"

namespace lyk::image {

namespace {

constexpr std::array kind_names{std::pair{Kind::cubin, std::string_view{"cubin"}},
                                std::pair{Kind::ptx, std::string_view{"ptx"}}};
constexpr std::array container_names{std::pair{Container::library, std::string_view{"library"}},
                                     std::pair{Container::fatbin, std::string_view{"fatbin"}},
                                     std::pair{Container::cubin, std::string_view{"cubin"}},
                                     std::pair{Container::ptx, std::string_view{"ptx"}}};
constexpr std::array compression_names{std::pair{Compression::none, std::string_view{"none"}},
                                       std::pair{Compression::lz4, std::string_view{"lz4"}},
                                       std::pair{Compression::zstd, std::string_view{"zstd"}}};

template <typename Value, typename Names>
std::string_view name_in(const Names& names, Value value) {
  return std::ranges::find(names, value, &Names::value_type::first)->second;
}

template <typename Value, typename Names>
std::optional<Value> value_in(const Names& names, std::string_view text) {
  const auto found = std::ranges::find(names, text, &Names::value_type::second);
  return found == names.end() ? std::nullopt : std::optional{found->first};
}

}  // namespace

std::string_view name(Kind kind) {
  return name_in(kind_names, kind);
}
std::string_view name(Container container) {
  return name_in(container_names, container);
}
std::string_view name(Compression compression) {
  return name_in(compression_names, compression);
}
std::optional<Kind> parse_kind(std::string_view text) {
  return value_in<Kind>(kind_names, text);
}
std::optional<Container> parse_container(std::string_view text) {
  return value_in<Container>(container_names, text);
}
std::optional<Compression> parse_compression(std::string_view text) {
  return value_in<Compression>(compression_names, text);
}

}  // namespace lyk::image
