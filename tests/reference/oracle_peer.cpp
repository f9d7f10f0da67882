// Answers cases from standard input on standard output, one after the other, through
// kernels/reference: the side of oracle_test.py that is compiled. The formats are those of
// case_file.hpp.
#include <iostream>

#include "tests/reference/run_case.hpp"

int main() {
  std::ios::sync_with_stdio(false);
  while (const auto given = lyk::test::read_case(std::cin))
    lyk::test::write_answer(std::cout, lyk::test::run_case(*given));
  return std::cout.flush() ? 0 : 1;
}
