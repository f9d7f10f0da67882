// What most files of the product include, read once for all of them (cmake/LykPrecompile.cmake).
// No file relies on it: each includes what it uses, and the presets release and tidy build without.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>
