// Connections: one accept thread, and one blocking thread for each connection, up to a limit in all
// and for each user. Idle, every thread sleeps in the kernel without a timeout.
//
// Who comes when a limit is reached gets a Busy error and is cut off; whoever is served does not
// notice. A peer must finish a message that it began, and read its replies, in bounded time.
//
// Order of locks in the daemon: connections (here), then those of daemon/service.hpp; none is held
// over network or disk but the store's own while it is opened. Thread rule: `accept_from` or
// `serve_one` once, then `stop` once, by the thread that owns the server.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>

#include "daemon/service.hpp"
#include "proto/limits.hpp"
#include "proto/result.hpp"
#include "proto/unique.hpp"

namespace lyk::daemon {

// limits.hpp's, but for tests, which cannot open thousands of connections or wait for minutes.
struct ServerLimits {
  std::size_t connections_max = limits::connections_max;
  std::size_t connections_per_uid_max = limits::connections_per_uid_max;
  std::chrono::milliseconds message_deadline = limits::message_deadline;
  std::chrono::milliseconds write_deadline = limits::write_deadline;
  std::chrono::milliseconds stop_deadline = limits::stop_deadline;
};

struct ServerState;

class Server {
public:
  static Result<Server> open(std::shared_ptr<Service> service, const ServerLimits& limits);

  Server(Server&&) noexcept;
  Server& operator=(Server&&) = delete;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();  // stops, if nobody has, and waits for every thread

  // Accepts on a listening socket until `stop`.
  Result<void> accept_from(UniqueFd listener);
  // Serves this connection alone; `ended_fd` becomes readable when the peer is gone and the fetches
  // that it began are done: a private instance.
  Result<void> serve_one(UniqueFd connection);
  int ended_fd() const;

  // No new connections, idle ones are closed, running requests get limits.stop_deadline, then their
  // fetches are cancelled. False: some thread has not ended even then, and the destructor would
  // wait.
  bool stop();

private:
  explicit Server(std::unique_ptr<ServerState> state);
  std::unique_ptr<ServerState> state_;
  std::thread accept_thread_;
};

}  // namespace lyk::daemon
