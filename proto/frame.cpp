#include "proto/frame.hpp"

#include <algorithm>
#include <utility>

#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk {

static_assert(limits::fds_per_message_max == 1, "a Frame has room for one descriptor");

Result<void> FrameReader::feed(std::span<const char> bytes, std::span<UniqueFd> fds) {
  if (broken_)
    return Error{Code::protocol, "message: an earlier one was malformed"};
  if (bytes.empty())
    return {};
  auto fed = append(bytes);
  if (fed)
    fed = attach(fds, bytes.back() == '\0' ? ready_.back() : partial_);
  broken_ = !fed;
  return fed;
}

Result<void> FrameReader::append(std::span<const char> bytes) {
  while (!bytes.empty()) {
    const auto end = std::find(bytes.begin(), bytes.end(), '\0');
    const auto length = static_cast<std::size_t>(end - bytes.begin());
    if (length > message_bytes_max_ - partial_.text.size())
      return Error{Code::protocol, str("message: more than ", message_bytes_max_, " bytes")};
    partial_.text.append(bytes.data(), length);
    if (end == bytes.end())
      return {};
    if (partial_.text.empty())
      return Error{Code::protocol, "message: empty"};
    ready_.push_back(std::exchange(partial_, Frame{}));
    bytes = bytes.subspan(length + 1);
  }
  return {};
}

Result<void> FrameReader::attach(std::span<UniqueFd> fds, Frame& owner) {
  if (fds.empty())
    return {};
  if (fds.size() > 1 || owner.fd)
    return Error{Code::protocol, "message: more than one descriptor is attached"};
  owner.fd = std::move(fds.front());
  return {};
}

std::optional<Frame> FrameReader::next() {
  if (ready_.empty())
    return std::nullopt;
  std::optional<Frame> out{std::move(ready_.front())};
  ready_.pop_front();
  return out;
}

}  // namespace lyk
