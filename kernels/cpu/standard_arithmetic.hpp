// The arithmetic that the formulas are stated in: rounding to nearest, denormals kept. A host may
// have chosen otherwise for its threads (torch.set_flush_denormal does); results do not depend on
// it.
//
// Thread rule: belongs to the thread that made it.
#pragma once

#include <cfenv>

namespace lyk::cpu {

// In force on the calling thread until it is destroyed, then the host's choice is put back.
class StandardArithmetic {
public:
  StandardArithmetic() {
    (void)std::fegetenv(&of_host_);  // neither can fail for the calling thread
    // NOLINTNEXTLINE(performance-no-int-to-ptr): as the library defines it
    (void)std::fesetenv(FE_DFL_ENV);
  }
  ~StandardArithmetic() { (void)std::fesetenv(&of_host_); }
  StandardArithmetic(const StandardArithmetic&) = delete;
  StandardArithmetic& operator=(const StandardArithmetic&) = delete;
  StandardArithmetic(StandardArithmetic&&) = delete;
  StandardArithmetic& operator=(StandardArithmetic&&) = delete;

private:
  std::fenv_t of_host_{};
};

}  // namespace lyk::cpu
