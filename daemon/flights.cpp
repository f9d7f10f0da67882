#include "daemon/flights.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "daemon/guarded.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"
#include "proto/unique.hpp"

namespace lyk::daemon {

// What the thread of a flight and its waiters share.
struct Flights::Flight {
  std::string key;
  std::string slot;
  uid_t uid = 0;
  UniqueFd done;  // eventfd
  std::stop_source stop;

  struct Told {
    std::deque<Ticket::News> news;  // the oldest first; no two neighbours of one step and file
    std::uint64_t number = 0;       // of the last one
    std::shared_ptr<const FlightResult> result;

    // Whoever joins now hears what is being done, not what was done.
    std::uint64_t number_before_the_last() const { return number == 0 ? 0 : number - 1; }

    // Bytes alone take the place of those before; every step of every file has one of its own.
    void add(const fetcher::Progress& progress) {
      ++number;
      if (!news.empty() && news.back().progress.step == progress.step &&
          news.back().progress.file == progress.file)
        news.pop_back();
      if (news.size() == limits::flight_news_max)
        news.pop_front();
      news.push_back({number, progress});
    }
  };
  Guarded<Told> told;
};

// Tickets and the map, under one lock, so that the last one to leave and the next one to come
// cannot miss each other. Outlives the Flights in the hands of its threads.
struct Flights::State {
  struct Entry {
    std::shared_ptr<Flight> flight;
    std::size_t tickets = 0;
    bool goes_on = false;
  };
  struct Table {
    std::map<std::string, Entry> flights;  // joinable ones
    std::size_t running = 0;               // threads, cancelled ones too
    std::map<uid_t, std::size_t> running_of_uid;
    std::map<std::string, std::size_t> running_of_slot;
    bool closed = false;
  };
  std::size_t flights_per_uid_max = 0;
  Guarded<Table> table;
  std::condition_variable changed;
};

namespace {

template <typename Map, typename Key>
void count_down(Map& counts, const Key& key) {
  const auto found = counts.find(key);
  LYK_CHECK(found != counts.end() && found->second > 0);
  if (--found->second == 0)
    counts.erase(found);
}

// The edge of a flight's thread: nothing foreign gets past it.
FlightResult run_guarded(const FlightPlan& plan,
                         const fetcher::ProgressCallback& progress,
                         const fetcher::CancelToken& cancel) {
  try {
    return plan.work(progress, cancel);
  } catch (const std::exception& failure) {
    return Error{Code::internal, str("fetch ", plan.slot, ": ", failure.what())};
  }
}

}  // namespace

// ---- Ticket ----

Flights::Ticket::Ticket(std::shared_ptr<State> state,
                        std::shared_ptr<Flight> flight,
                        std::uint64_t joined_after)
    : state_(std::move(state)), flight_(std::move(flight)), joined_after_(joined_after) {}

Flights::Ticket::Ticket(Ticket&& other) noexcept = default;

Flights::Ticket& Flights::Ticket::operator=(Ticket&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(flight_, other.flight_);
  std::swap(joined_after_, other.joined_after_);
  return *this;
}

Flights::Ticket::~Ticket() {
  leave();
}

int Flights::Ticket::done_fd() const {
  return flight_->done.get();
}

std::shared_ptr<const FlightResult> Flights::Ticket::result() const {
  return flight_->told.lock()->result;
}

std::vector<Flights::Ticket::News> Flights::Ticket::news_after(std::uint64_t number) const {
  const std::uint64_t last_known = std::max(number, joined_after_);
  const auto told = flight_->told.lock();
  const auto first = std::find_if(told->news.begin(), told->news.end(),
                                  [&](const News& news) { return news.number > last_known; });
  return {first, told->news.end()};
}

void Flights::Ticket::go_on() const {
  const auto table = state_->table.lock();
  const auto found = table->flights.find(flight_->key);
  if (found != table->flights.end() && found->second.flight == flight_)
    found->second.goes_on = true;
}

void Flights::Ticket::leave() noexcept {
  if (!flight_)
    return;
  const auto table = state_->table.lock();
  const auto found = table->flights.find(flight_->key);
  if (found == table->flights.end() || found->second.flight != flight_)
    return;  // finished
  if (--found->second.tickets > 0 || (found->second.goes_on && !table->closed))
    return;
  // Nobody may join what is being cancelled: the next one starts anew.
  table->flights.erase(found);
  (void)flight_->stop.request_stop();  // false: somebody asked before
}

// ---- Flights ----

Flights::Flights(std::size_t flights_per_uid_max) : state_(std::make_shared<State>()) {
  state_->flights_per_uid_max = flights_per_uid_max;
}

Flights::~Flights() {
  close(std::chrono::steady_clock::now());
  wait_until_idle();
}

Result<Flights::Ticket> Flights::join(FlightPlan plan) {
  auto table = state_->table.lock();
  if (const auto found = table->flights.find(plan.key); found != table->flights.end()) {
    ++found->second.tickets;
    return Ticket(state_, found->second.flight,
                  found->second.flight->told.lock()->number_before_the_last());
  }
  if (table->closed)
    return Error{Code::busy, "fetch: the daemon is stopping; try again in a moment"};
  if (const auto of_uid = table->running_of_uid.find(plan.uid);
      of_uid != table->running_of_uid.end() && of_uid->second >= state_->flights_per_uid_max)
    return Error{Code::busy, str("fetch: user ", plan.uid, " has ", of_uid->second,
                                 " fetches running, and no more may at once; wait for one to end")};
  auto flight = std::make_shared<Flight>();
  flight->key = plan.key;
  flight->slot = plan.slot;
  flight->uid = plan.uid;
  flight->done = UniqueFd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!flight->done)
    return os_error(errno, "create an eventfd");

  auto body = [state = state_, flight, plan = std::move(plan)]() mutable {
    const auto progress = [&flight](const fetcher::Progress& told) {
      flight->told.lock()->add(told);
    };
    auto result =
        std::make_shared<const FlightResult>(run_guarded(plan, progress, flight->stop.get_token()));
    plan.work = nullptr;  // whatever it holds is given back before anybody can see the end
    flight->told.lock()->result = std::move(result);
    const auto locked = state->table.lock();
    const auto found = locked->flights.find(flight->key);
    if (found != locked->flights.end() && found->second.flight == flight)
      locked->flights.erase(found);
    --locked->running;
    count_down(locked->running_of_uid, flight->uid);
    count_down(locked->running_of_slot, flight->slot);
    (void)::eventfd_write(flight->done.get(), 1);  // cannot fail: the counter is 0
    state->changed.notify_all();
  };
  try {
    std::thread(std::move(body)).detach();  // counted in `running`, waited for by wait_until_idle
  } catch (const std::system_error& failure) {
    return Error{Code::busy, str("start a thread for a fetch: ", failure.what())};
  }
  ++table->running;
  ++table->running_of_uid[flight->uid];
  ++table->running_of_slot[flight->slot];
  table->flights.emplace(flight->key, State::Entry{.flight = flight, .tickets = 1});
  return Ticket(state_, std::move(flight), 0);
}

std::optional<Flights::Ticket> Flights::join_running(const std::string& key) {
  const auto table = state_->table.lock();
  const auto found = table->flights.find(key);
  if (found == table->flights.end())
    return std::nullopt;
  ++found->second.tickets;
  return Ticket(state_, found->second.flight,
                found->second.flight->told.lock()->number_before_the_last());
}

std::size_t Flights::running() const {
  return state_->table.lock()->running;
}

bool Flights::is_running(const std::string& slot) const {
  return state_->table.lock()->running_of_slot.contains(slot);
}

void Flights::wait_until_idle() {
  state_->table.lock().wait(state_->changed,
                            [](const State::Table& table) { return table.running == 0; });
}

void Flights::close(std::chrono::steady_clock::time_point deadline) {
  auto table = state_->table.lock();
  table->closed = true;
  for (const auto& [key, entry] : table->flights)
    if (entry.tickets == 0)
      (void)entry.flight->stop.request_stop();  // false: somebody asked before
  (void)table.wait_until(state_->changed, deadline,
                         [](const State::Table& now) { return now.running == 0; });
  for (const auto& [key, entry] : table->flights)
    (void)entry.flight->stop.request_stop();
}

}  // namespace lyk::daemon
