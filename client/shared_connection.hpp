// One connection for all threads of a process, and a new one in a child of fork. Nothing is
// connected before the first call. Calls take turns: a thread that must not wait behind another's
// fetch has a SharedConnection of its own. Thread rule: safe from any thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "client/connection.hpp"
#include "client/settings.hpp"
#include "proto/methods.hpp"
#include "proto/result.hpp"

namespace lyk::client {

class SharedConnection {
public:
  explicit SharedConnection(Settings settings);
  ~SharedConnection();
  SharedConnection(const SharedConnection&) = delete;
  SharedConnection& operator=(const SharedConnection&) = delete;
  SharedConnection(SharedConnection&&) = delete;
  SharedConnection& operator=(SharedConnection&&) = delete;

  // Errors: as Connection::open and Connection::resolve.
  Result<ResolvedImage> resolve(const wire::ResolveCall& call);

private:
  // What one process has. A fork may come while another thread of the parent holds the mutex, and
  // in the child nobody would ever unlock it: the child makes a State of its own.
  struct State {
    explicit State(pid_t process) : owner(process) {}
    const pid_t owner;
    std::mutex mutex;
    std::optional<Connection> connection;
    std::unique_ptr<State>
        inherited;  // the parent's, kept since other threads may still look at it
  };

  State& of_this_process();
  // Closes the child's copy of a connection. Null if the parent was using it when it forked: what
  // is half changed is never touched again, not even freed.
  static std::unique_ptr<State> leave_to_parent(State* state);

  const Settings settings_;
  std::atomic<State*> state_;  // owned; of the process that made it
};

}  // namespace lyk::client
