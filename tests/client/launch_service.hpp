// A service that hands out the compiled kernels, at a socket that the environment of this process
// names: for what is a host of the library by itself.
#pragma once

#include <cstdlib>
#include <string>
#include <utility>

#include "tests/client/fake_service.hpp"
#include "tests/client/launch_world.hpp"
#include "tests/support/temp_dir.hpp"

namespace lyk::test {

class LaunchService {
public:
  LaunchService()
      : image_(HubImage::cubin()), service_(folder_ / "socket", [this](UniqueFd connection, int) {
          answer_resolves(std::move(connection), image_.reply, image_.fd.get());
        }) {
    (void)::setenv("LIBREYOLO_KERNELS_SOCKET", (folder_ / "socket").c_str(), 1);
  }

  const TempDir& folder() const { return folder_; }
  int connections() const { return service_.connections(); }

private:
  TempDir folder_;
  HubImage image_;
  FakeService service_;
};

}  // namespace lyk::test
