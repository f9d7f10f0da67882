#include "client/own_file.hpp"

#include <dlfcn.h>
#include <link.h>

#include <climits>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace lyk::client {

std::string own_file() {
  static const char here = 0;
  Dl_info info{};
  link_map* map = nullptr;
  if (::dladdr1(&here, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 ||
      map == nullptr)
    return {};
  // The program itself has no name there.
  const std::string_view name = map->l_name;
  if (!name.empty() && name.front() != '/')
    return {};
  const std::unique_ptr<char, decltype(&std::free)> real{
      ::realpath(name.empty() ? "/proc/self/exe" : map->l_name, nullptr), &std::free};
  return real ? std::string{real.get()} : std::string{};
}

}  // namespace lyk::client
