#include "client/shared_connection.hpp"

#include <unistd.h>

#include <utility>

namespace lyk::client {

SharedConnection::SharedConnection(Settings settings)
    : settings_(std::move(settings)), state_(std::make_unique<State>(::getpid()).release()) {}

SharedConnection::~SharedConnection() {
  State* state = state_.load();
  const std::unique_ptr<State> last =
      state->owner == ::getpid() ? std::unique_ptr<State>{state} : leave_to_parent(state);
}

std::unique_ptr<SharedConnection::State> SharedConnection::leave_to_parent(State* state) {
  if (!state->mutex.try_lock())
    return nullptr;
  if (state->connection)
    state->connection->abandon();
  state->mutex.unlock();
  return std::unique_ptr<State>{state};
}

SharedConnection::State& SharedConnection::of_this_process() {
  const pid_t self = ::getpid();
  State* state = state_.load();
  if (state->owner == self)
    return *state;
  auto fresh = std::make_unique<State>(self);
  // Several threads of the child may come here at once: one of them wins.
  if (!state_.compare_exchange_strong(state, fresh.get()))
    return *state;
  fresh->inherited = leave_to_parent(state);
  return *fresh.release();
}

Result<ResolvedImage> SharedConnection::resolve(const wire::ResolveCall& call) {
  State& state = of_this_process();
  const std::lock_guard lock{state.mutex};
  if (!state.connection) {
    LYK_TRY_ASSIGN(Connection connection, Connection::open(settings_));
    state.connection.emplace(std::move(connection));
  }
  return state.connection->resolve(call);
}

}  // namespace lyk::client
