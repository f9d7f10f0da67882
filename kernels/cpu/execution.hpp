// How a kernel of this folder is to run: the last argument of every one of them. No result depends
// on the threads or on the instruction set, unless the kernel's header says so.
//
// Thread rule: values.
#pragma once

#include "kernels/cpu/instruction_set.hpp"
#include "kernels/cpu/workers.hpp"

namespace lyk::cpu {

struct Execution {
  Workers& workers;
  InstructionSet instructions = best_instruction_set();
};

}  // namespace lyk::cpu
