#include "fetcher/pin_set.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>

#include "fetcher/small_file.hpp"
#include "proto/limits.hpp"
#include "proto/ownership.hpp"
#include "proto/text.hpp"

namespace lyk::fetcher {

namespace {

// The whole of a regular file, as far as one byte above the limit: the parser refuses that.
Result<std::string> read_pin_file(const std::string& path) {
  const std::string what = str("open ", quoted(path));
  LYK_TRY_ASSIGN(const std::optional<RegularFile> file, open_regular_file(path, what));
  if (!file)
    return os_error(ENOENT, what);
  LYK_TRY(check_ownership(file->status, path, ::geteuid()));
  return read_small_file(file->fd.get(), limits::pin_bytes_max, quoted(path));
}

// Its *.toml files in the order of their names.
Result<std::vector<std::filesystem::path>> pin_files(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  std::filesystem::directory_iterator at{folder, error};
  if (error == std::errc::no_such_file_or_directory)
    return files;
  for (; !error && at != std::filesystem::directory_iterator{}; at.increment(error))
    if (at->path().extension() == ".toml")
      files.push_back(at->path());
  if (error)
    return os_error(error.value(), str("read folder ", quoted(folder.string())));
  if (files.size() > limits::pins_max)
    return Error{Code::refused, str("pins in ", quoted(folder.string()), ": more than ",
                                    limits::pins_max, " files")};
  if (!files.empty()) {
    struct stat status {};
    if (::stat(folder.c_str(), &status) != 0)
      return os_error(errno, str("stat ", quoted(folder.string())));
    LYK_TRY(check_ownership(status, folder.string(), ::geteuid()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

Result<Pin> load_pin(const std::string& path) {
  LYK_TRY_ASSIGN(const std::string text, read_pin_file(path));
  LYK_TRY_ASSIGN(Pin pin, Pin::parse(text, path));
  const std::string stem = std::filesystem::path{path}.stem().string();
  if (stem != pin.slot.text())
    return Error{Code::invalid_argument, str(path, ": the pin of slot '", pin.slot.text(),
                                             "' must be in a file '", pin.slot.text(), ".toml'")};
  return pin;
}

}  // namespace

const LoadedPin* PinSet::find(const SlotName& slot) const {
  const auto at = pins.find(slot);
  return at == pins.end() ? nullptr : &at->second;
}

const RefusedPin* PinSet::find_refused(const SlotName& slot) const {
  if (pins.contains(slot))
    return nullptr;
  const auto at = std::find_if(refused.rbegin(), refused.rend(), [&](const RefusedPin& each) {
    return std::filesystem::path{each.source}.stem().string() == slot.text();
  });
  return at == refused.rend() ? nullptr : &*at;
}

PinSet load_pins(std::span<const std::filesystem::path> folders) {
  PinSet set;
  for (const std::filesystem::path& folder : folders) {
    auto files = pin_files(folder);
    if (!files) {
      set.refused.push_back({folder.string(), std::move(files).error()});
      continue;
    }
    for (const std::filesystem::path& file : *files) {
      auto pin = load_pin(file.string());
      if (pin) {
        SlotName slot = pin->slot;
        set.pins.insert_or_assign(std::move(slot), LoadedPin{std::move(*pin), file.string()});
        continue;
      }
      if (const auto slot = SlotName::parse(file.stem().string()))
        set.pins.erase(*slot);  // see the header: the slot is out of force
      set.refused.push_back({file.string(), std::move(pin).error()});
    }
  }
  return set;
}

}  // namespace lyk::fetcher
