// Files that commands read and write. A written file appears whole or not at all: a temporary file
// beside it, fsync, rename, fsync of the folder.
// Thread rule: functions without state.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "proto/result.hpp"

namespace lyk::cli {

// invalid_argument if the file is larger than `bytes_max` or not a regular file; io otherwise.
Result<std::vector<std::byte>> read_file(const std::filesystem::path& path,
                                         std::uint64_t bytes_max);

// The same as text. An invalid_argument error if it is not UTF-8.
Result<std::string> read_text_file(const std::filesystem::path& path, std::uint64_t bytes_max);

// Who may use a new folder. `for_services`: everybody may read it and only its owner may write,
// since a service of another user reads pins there, and none where others may write.
enum class FolderMode { by_umask, for_services };

// Makes the folders of the path that are missing.
Result<void> make_folders(const std::filesystem::path& folder, FolderMode mode);

// io if a file cannot be made in the folder or, where it is missing, in the one that it would come
// into.
Result<void> check_may_write_into(std::filesystem::path folder);

// Replaces what was there; the folder must exist. SIGINT and SIGTERM wait until it is done.
Result<void> write_file(const std::filesystem::path& path,
                        std::span<const std::byte> bytes,
                        mode_t mode);

}  // namespace lyk::cli
