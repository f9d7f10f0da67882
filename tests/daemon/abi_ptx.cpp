#include "tests/daemon/abi_ptx.hpp"

#include <cstdint>

#include "proto/check.hpp"
#include "proto/launch_abi.hpp"
#include "proto/text.hpp"

namespace lyk::daemon::test {

std::string ptx_of_abi(std::string_view abi, std::string_view target) {
  const LaunchAbi* found = find_launch_abi(abi);
  LYK_CHECK(found != nullptr);
  std::string ptx = str(".version 7.0\n.target ", target, "\n.address_size 64\n");
  for (const AbiKernel& kernel : found->kernels) {
    ptx += str("\n.visible .entry ", kernel.symbol, "(");
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i)
      ptx += str(i == 0 ? "\n" : ",\n", "\t.param .b", kernel.parameters[i].size * 8, " ",
                 kernel.symbol, "_param_", i);
    ptx += "\n)\n{\n\tret;\n}\n";
  }
  return ptx;
}

}  // namespace lyk::daemon::test
