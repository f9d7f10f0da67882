// The process that dies: does one thing to a store and says how it ended. Run by crash_test.cpp
// under fault_io.so, as `crash_child SCENARIO ROOT`. Exit 0: done. Exit 1: refused, with the name
// of the code on stdout and the message on stderr.
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "tests/cache/crash_scenarios.hpp"

int main(int argc, char** argv) {
  using namespace lyk::cache::test;
  if (argc != 3)
    return 2;
  const auto scenario = scenarios().find(argv[1]);
  if (scenario == scenarios().end())
    return 2;
  const lyk::Result<void> done = scenario->second.act(argv[2]);
  if (done)
    return 0;
  std::cout << lyk::info(done.error().code).name << '\n';
  std::cerr << done.error().message << '\n';
  return 1;
}
