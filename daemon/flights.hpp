// Fetches under way: one flight for one wanted thing, however many wait for it.
//
// A flight runs on a thread of its own. Whoever waits holds a Ticket. The last ticket to leave
// cancels the flight, unless somebody said `go_on`: a Resolve that waited as long as it may says
// so, and the fetch then goes on for later processes. A finished flight is forgotten: whoever asks
// next starts anew, which finds everything in the store after a success.
//
// Waiting is poll(2) on `done_fd`, which becomes readable once and stays so for every waiter;
// together with the waiter's own socket this notices a client that died.
//
// Thread rule: any thread. A Ticket has one owner at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "fetcher/fetch.hpp"
#include "proto/result.hpp"

namespace lyk::daemon {

using FlightResult = Result<fetcher::FetchReport>;

struct FlightPlan {
  std::string key;   // equal keys: the same work
  std::string slot;  // for people, and for `running`
  uid_t uid = 0;     // who starts it, if nobody has yet
  std::function<FlightResult(const fetcher::ProgressCallback&, const fetcher::CancelToken&)> work;
};

class Flights {
  struct State;
  struct Flight;

public:
  class Ticket {
  public:
    Ticket(Ticket&& other) noexcept;
    Ticket& operator=(Ticket&& other) noexcept;
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    ~Ticket();

    int done_fd() const;
    // Absent while it runs. The result is shared and does not change any more.
    std::shared_ptr<const FlightResult> result() const;
    // What it told, with a number that grows with every telling.
    struct News {
      std::uint64_t number = 0;
      fetcher::Progress progress;
    };
    // Every step of every file since the telling of that number, or since this ticket joined, each
    // with the latest bytes of it; of more than limits::flight_news_max the last ones.
    std::vector<News> news_after(std::uint64_t number) const;
    // The flight is not cancelled when this ticket, or any later one, leaves last.
    void go_on() const;

  private:
    friend class Flights;
    Ticket(std::shared_ptr<State> state,
           std::shared_ptr<Flight> flight,
           std::uint64_t joined_after);
    void leave() noexcept;
    std::shared_ptr<State> state_;
    std::shared_ptr<Flight> flight_;
    std::uint64_t joined_after_ = 0;  // the number of the last news that it does not hear
  };

  // `flights_per_uid_max`: of one user at a time.
  explicit Flights(std::size_t flights_per_uid_max);
  // Cancels and waits for every flight.
  ~Flights();
  Flights(const Flights&) = delete;
  Flights& operator=(const Flights&) = delete;
  Flights(Flights&&) = delete;
  Flights& operator=(Flights&&) = delete;

  // Joins the flight of that key, or starts it. busy: the user has as many running as one may have,
  // or `close` was called.
  Result<Ticket> join(FlightPlan plan);

  // Joins the flight of that key if there is one.
  std::optional<Ticket> join_running(const std::string& key);

  std::size_t running() const;
  bool is_running(const std::string& slot) const;

  // Waits until nothing runs, without end: a private instance after its caller has gone.
  void wait_until_idle();
  // No new flights. Those that nobody waits for are cancelled now, the others at `deadline`.
  void close(std::chrono::steady_clock::time_point deadline);

private:
  std::shared_ptr<State> state_;
};

}  // namespace lyk::daemon
