// Prints PTX that defines every kernel of a launch ABI: print_ptx ABI TARGET. For tests in Python.
#include <cstdio>

#include "tests/daemon/abi_ptx.hpp"

int main(int argc, char** argv) {
  if (argc != 3)
    return 2;
  const std::string ptx = lyk::daemon::test::ptx_of_abi(argv[1], argv[2]);
  return std::fwrite(ptx.data(), 1, ptx.size(), stdout) == ptx.size() ? 0 : 1;
}
