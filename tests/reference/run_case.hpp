// Runs one case of any slot through kernels/reference: what the oracle peer and the golden tests
// share.
#pragma once

#include <vector>

#include "tests/reference/case_file.hpp"

namespace lyk::test {

// The answer to a case: the output first, then the gradients, if the slot has any. Aborts on a case
// that no generator of ours makes.
std::vector<Bytes> run_case(const Case& given);

}  // namespace lyk::test
