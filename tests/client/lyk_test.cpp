// The C interface of clients and images: handles that are no good any more, and threads that are
// cancelled.
#include "client/lyk.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "proto/message.hpp"
#include "proto/text.hpp"
#include "tests/client/fake_service.hpp"
#include "tests/client/in_child.hpp"
#include "tests/support/temp_dir.hpp"

namespace lyk::test {
namespace {

// A service with one image, and handles of it.
class Handles {
public:
  Handles()
      : service_(folder_ / "socket", [this](UniqueFd connection, int) {
          answer_raw(std::move(connection), reply_, image_.get());  // and goes away
        }) {
    const std::string socket = folder_ / "socket";
    const lyk_client_options options{sizeof(options), LYK_CLIENT_NO_EXEC, socket.c_str()};
    const lyk_device device{sizeof(device), 9, 0, 13000, LYK_TEGRA_AUTO};
    if (lyk_client_open(&options, &client) != LYK_OK ||
        lyk_client_resolve(client, "ms_deform_attn", &device, nullptr, &image) != LYK_OK)
      throw std::runtime_error(lyk_error_message(client));
  }

  lyk_client* client = nullptr;
  lyk_image* image = nullptr;

private:
  TempDir folder_;
  std::string reply_ = wire::encode_reply(resolve_reply()) + '\0';
  UniqueFd image_ = memfd_of(image_bytes);
  FakeService service_;
};

// ---- handles

#ifndef NDEBUG

TEST(Handles, MayBeClosedTwiceWhereTheyAreKnown) {
  const std::string said = in_child({}, []() -> std::string {
    Handles handles;
    for (int i = 0; i < 2; ++i) {
      lyk_image_close(handles.image);
      lyk_client_close(handles.client);
    }
    return {};
  });
  EXPECT_EQ(said, "");
}

TEST(Handles, ThatWereClosedSayNothing) {
  const std::string said = in_child({}, []() -> std::string {
    Handles handles;
    lyk_image* const image = handles.image;
    lyk_image_close(image);
    const void* data = nullptr;
    if (lyk_image_data(image, &data) != LYK_INVALID_ARGUMENT)
      return "it has data";
    if (lyk_image_fd(image) != -1 || lyk_image_bytes(image) != 0)
      return "it has bytes";
    std::string texts;
    for (const auto read : {lyk_image_sha256, lyk_image_kind, lyk_image_arch, lyk_image_repo,
                            lyk_image_commit, lyk_image_file})
      texts += read(image);
    lyk_client_close(handles.client);
    return texts;
  });
  EXPECT_EQ(said, "");
}

TEST(Handles, AreNotTakenForThoseOfAnotherKind) {
  const std::string said = in_child({}, []() -> std::string {
    Handles handles;
    auto* const client = reinterpret_cast<lyk_client*>(handles.image);
    auto* const image = reinterpret_cast<lyk_image*>(handles.client);
    const void* data = nullptr;
    const lyk_device device{sizeof(device), 9, 0, 13000, LYK_TEGRA_AUTO};
    if (lyk_image_data(image, &data) != LYK_INVALID_ARGUMENT)
      return "a client has data";
    if (lyk_client_resolve(client, "ms_deform_attn", &device, nullptr, &handles.image) !=
        LYK_INVALID_ARGUMENT)
      return "an image resolves";
    lyk_image_close(image);
    lyk_client_close(client);
    if (lyk_image_bytes(handles.image) != image_bytes.size())
      return "the image was closed as a client";
    lyk_image_close(handles.image);
    lyk_client_close(handles.client);
    return {};
  });
  EXPECT_EQ(said, "");
}

#endif

// ---- cancelled threads

// What a thread does that somebody has cancelled, up to where it may be ended.
struct Cancelled {
  const char* name;
  void (*call)(Handles& handles);
};

constexpr Cancelled calls[] = {
    {"lyk_client_resolve",
     [](Handles& handles) {
       const lyk_device device{sizeof(device), 9, 0, 13000, LYK_TEGRA_AUTO};
       lyk_image* other = nullptr;
       (void)lyk_client_resolve(handles.client, "ms_deform_attn", &device, nullptr, &other);
     }},
    {"lyk_image_data",
     [](Handles& handles) {
       const void* data = nullptr;
       (void)lyk_image_data(handles.image, &data);
     }},
    {"lyk_image_close", [](Handles& handles) { lyk_image_close(handles.image); }},
    {"lyk_client_close", [](Handles& handles) { lyk_client_close(handles.client); }},
    {"lyk_client_open",
     [](Handles&) {
       lyk_client* other = nullptr;
       (void)lyk_client_open(nullptr, &other);
     }},
    {"lyk_register",
     [](Handles&) {
       lyk_implementation mine{};
       mine.size = sizeof(mine);
       mine.name = "mine";
       mine.fn = [](void*, const lyk_arguments*) -> int { return LYK_IO; };
       (void)lyk_register("cancelled", &mine);
     }},
    {"lyk_call",
     [](Handles&) {  // which warns on standard error
       lyk_arguments arguments{};
       arguments.size = sizeof(arguments);
       (void)lyk_call("cancelled", &arguments);
     }},
    {"lyk_reload_environment", [](Handles&) { (void)lyk_reload_environment(); }},
    {"lyk_unregister", [](Handles&) { (void)lyk_unregister("cancelled", "mine"); }},
};

struct CancelledThread {
  Handles& handles;
  const Cancelled& row;
  bool has_returned = false;
};

TEST(CancelledThreads, EndBehindACallAndNotInIt) {
  const std::string said = in_child({}, []() -> std::string {
    Handles handles;
    for (const Cancelled& row : calls) {
      CancelledThread state{handles, row};
      pthread_t thread{};
      const auto run = [](void* user) -> void* {
        auto& own = *static_cast<CancelledThread*>(user);
        (void)::pthread_cancel(::pthread_self());
        own.row.call(own.handles);
        own.has_returned = true;
        ::pthread_testcancel();
        return nullptr;
      };
      void* ended = nullptr;
      if (::pthread_create(&thread, nullptr, run, &state) != 0 ||
          ::pthread_join(thread, &ended) != 0)
        return "there is no thread";
      if (!state.has_returned || ended != PTHREAD_CANCELED)
        return str(row.name, state.has_returned ? " keeps the thread" : " ends the thread");
    }
    return {};
  });
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace lyk::test
