// A daemon's household for one test: a folder with pins, configuration and store, a kernel in the
// store that a pin names, and a Service over it. Nothing reaches a network: the proof is by
// digests, and the endpoint is a port of loopback where nobody answers, unless a test says
// otherwise.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cache/store.hpp"
#include "daemon/service.hpp"
#include "tests/support/temp_dir.hpp"

namespace lyk::daemon::test {

class House {
public:
  House();

  // A pin file of `slot`, proven by the digests of `files` (path and content).
  struct NamedFile {
    std::string path;
    std::string content;
  };
  void pin(const std::string& slot,
           const std::vector<NamedFile>& files,
           const std::string& more = {});
  static std::string pin_text(const std::string& slot,
                              const std::vector<NamedFile>& files,
                              const std::string& more = {});
  void write_pin(const std::string& slot, const std::string& toml);
  void write_config(const std::string& toml);

  // Puts a file through the store's door, as a fetch would.
  void store(const NamedFile& file, cache::Visibility visibility = cache::Visibility::open);

  // The usual: slot "ms_deform_attn" of ABI ms_deform_im2col, one PTX file for sm_75.
  static NamedFile kernel();
  void pin_kernel(const std::string& more = {});

  std::shared_ptr<Service> open(wire::Mode mode = wire::Mode::user);
  const std::filesystem::path& path() const { return folder_.path(); }
  std::filesystem::path cache() const { return path() / "cache"; }
  std::string socket() const { return (path() / "socket").string(); }

private:
  lyk::test::TempDir folder_;
};

}  // namespace lyk::daemon::test
