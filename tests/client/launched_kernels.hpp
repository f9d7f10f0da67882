// Which kernels a program has launched, from the trace that the stand-in driver writes for
// SOFTCUDA_TRACE.
#pragma once

#include <fstream>
#include <map>
#include <string>
#include <string_view>

namespace lyk::test {

// The value of `key=` in a line of the trace; empty: it has none.
inline std::string value_in(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(std::string{' '}.append(key).append("="));
  if (at == std::string_view::npos)
    return {};
  const std::string_view rest = line.substr(at + key.size() + 2);
  return std::string{rest.substr(0, rest.find(' '))};
}

// In the order of the launches that succeeded, each with a blank behind it.
inline std::string launched_kernels(const std::string& trace) {
  std::ifstream stream{trace};
  std::map<std::string, std::string> names;  // by their handles
  std::string out;
  for (std::string line; std::getline(stream, line);) {
    if (!line.ends_with("-> 0"))
      continue;
    if (line.find(" cuModuleGetFunction ") != std::string::npos)
      names[value_in(line, "out")] = value_in(line, "name");
    if (line.find(" cuLaunchKernel ") != std::string::npos)
      out += names[value_in(line, "function")] + ' ';
  }
  return out;
}

}  // namespace lyk::test
