#include "cli/parity.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "cli/file.hpp"
#include "client/fatbin_file.hpp"
#include "proto/check.hpp"
#include "proto/hash.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

// Hands out the image that was received, once: the registry asks for it at the first call.
client::ImageSource source_of(client::ResolvedImage image) {
  auto held = std::make_shared<std::optional<client::ResolvedImage>>(std::move(image));
  return [held](const Device&) -> Result<client::ResolvedImage> {
    if (!*held)
      return Error{Code::internal, "the image under test was loaded before"};
    client::ResolvedImage out = std::move(**held);
    held->reset();
    return out;
  };
}

// The file that `cuda` will load its kernels from, as it is now.
Result<Digest> hash_of_fatbin() {
  LYK_TRY_ASSIGN(const std::vector<std::byte> bytes,
                 read_file(client::find_fatbin(), limits::image_bytes_max));
  return sha256(bytes);
}

Result<parity::Runner> open_runner(const ParityAsked& asked, ParityRun& run) {
  parity::Subject subject{.slot = std::string{asked.set.slot},
                          .implementation = std::string{parity::name(asked.implementation)},
                          .driver = std::string{asked.invocation.driver_library},
                          .gpu = {},
                          .environment = asked.invocation.environment};
  if (run.gpu)
    subject.gpu = run.gpu->number;
  if (asked.implementation == parity::Implementation::hub) {
    LYK_CHECK(run.gpu);
    LYK_TRY_ASSIGN(client::ResolvedImage image, asked.resolve(run.gpu->device));
    run.image = image.reply.image.sha256;
    subject.images = source_of(std::move(image));
  }
  return parity::Runner::open(std::move(subject));
}

// Where the implementation runs: the processors of this machine, or each GPU.
Result<std::vector<ParityRun>> places_of(const ParityAsked& asked) {
  std::vector<ParityRun> out;
  if (asked.implementation == parity::Implementation::cpu) {
    ParityRun& run = out.emplace_back();
    run.implementation = asked.implementation;
    run.extent = asked.extent;
    run.processors = client::describe_processors();
    return out;
  }
  LYK_TRY_ASSIGN(std::vector<client::MachineGpu> gpus,
                 client::list_gpus(std::string{asked.invocation.driver_library}));
  std::optional<Digest> fatbin;
  if (asked.implementation == parity::Implementation::cuda)
    if (const auto hash = hash_of_fatbin())
      fatbin = *hash;  // else the first case says what is wrong with the file
  for (client::MachineGpu& gpu : gpus) {
    ParityRun& run = out.emplace_back();
    run.implementation = asked.implementation;
    run.extent = asked.extent;
    run.fatbin = fatbin;
    run.gpu = std::move(gpu);
  }
  return out;
}

// A place that the set runs on, for as long as nothing kept it from doing so.
struct Seat {
  ParityRun run;
  std::optional<parity::Runner> runner;
};

// REQUIRES: a seat that has a runner.
void run_case(Seat& seat, const parity::Case& which) {
  auto verdicts = seat.runner->run(which);
  if (verdicts) {
    seat.run.cases.push_back({which.name, std::move(*verdicts)});
    return;
  }
  seat.run.ran = annotate(std::move(verdicts).error(), str("case ", quoted(which.name)));
  seat.runner.reset();  // what failed is off, and a context that is lost stays so
}

// The large cases are made once for all places.
void run_cases(const ParityAsked& asked, std::vector<Seat>& seats) {
  ProgressPrinter printer{asked.invocation.terminal, asked.invocation.progress()};
  const std::size_t count = asked.set.count(asked.implementation);
  const auto takes_part = [](const Seat& seat) { return seat.runner.has_value(); };
  for (std::size_t index = 0; index < count; ++index) {
    if (std::none_of(seats.begin(), seats.end(), takes_part))
      return;
    printer.show_step(str(asked.set.slot, "  comparing case ", index + 1, " of ", count));
    const parity::Case which = asked.set.make(index, asked.extent, asked.implementation);
    for (Seat& seat : seats)
      if (takes_part(seat))
        run_case(seat, which);
  }
}

// "beyond the tolerance of 1e-05 + 1e-04 * |expected|".
std::string beyond(const parity::Gate& gate) {
  if (!gate.has_tolerance())
    return "are not the same";
  return str("beyond the tolerance of ", shortest(gate.absolute), " + ", shortest(gate.relative),
             " * |expected|");
}

Error mismatch(const ParityRun& run) {
  const auto wrong = [](const ParityCase& each) { return !each.passed(); };
  const auto count = std::count_if(run.cases.begin(), run.cases.end(), wrong);
  const auto first = std::find_if(run.cases.begin(), run.cases.end(), wrong);
  const auto verdict =
      std::find_if(first->verdicts.begin(), first->verdicts.end(),
                   [](const parity::Verdict& each) { return !each.difference.passed(); });
  return Error{Code::refused,
               str(device_text(run), ": ", count, " of ", run.cases.size(),
                   " cases differ from the reference; ", quoted(first->name), ": ",
                   parity::describe(*verdict), ", ", verdict->difference.wrong, " of ",
                   verdict->difference.elements, " elements ", beyond(verdict->gate))};
}

}  // namespace

bool ParityCase::passed() const {
  return std::all_of(verdicts.begin(), verdicts.end(),
                     [](const parity::Verdict& each) { return each.difference.passed(); });
}

bool ParityRun::differs() const {
  return std::any_of(cases.begin(), cases.end(),
                     [](const ParityCase& each) { return !each.passed(); });
}

bool ParityRun::passed() const {
  return ran && !differs();
}

double ParityRun::greatest_error() const {
  double out = 0;
  for (const ParityCase& each : cases)
    for (const parity::Verdict& verdict : each.verdicts)
      out = std::max(out, verdict.difference.greatest_error);
  return out;
}

Result<parity::Extent> parse_extent(const Arguments& arguments) {
  const auto asked = arguments.value(set_option.name);
  if (!asked)
    return parity::Extent::whole;
  for (const parity::Extent extent : {parity::Extent::whole, parity::Extent::small})
    if (*asked == parity::name(extent))
      return extent;
  return Error{Code::invalid_argument,
               str("option --set: ", quoted(*asked), " is neither whole nor small")};
}

Result<std::vector<ParityRun>> run_parity(const ParityAsked& asked) {
  LYK_TRY_ASSIGN(std::vector<ParityRun> places, places_of(asked));
  std::vector<Seat> seats;
  for (ParityRun& place : places) {
    Seat& seat = seats.emplace_back();
    seat.run = std::move(place);
    auto runner = open_runner(asked, seat.run);
    if (runner)
      seat.runner.emplace(std::move(*runner));
    else
      seat.run.ran = std::move(runner).error();
  }
  run_cases(asked, seats);
  std::vector<ParityRun> out;
  out.reserve(seats.size());
  for (Seat& seat : seats)
    out.push_back(std::move(seat.run));
  return out;
}

std::string device_text(const ParityRun& run) {
  if (run.gpu)
    return str("device ", run.gpu->number, " (", printable(run.gpu->name), ')');
  return str("processors (", processors_text(run.processors), ')');
}

std::string processors_text(const client::Processors& processors) {
  return str(processors.instructions, ", ", counted(processors.threads, "thread"));
}

Result<void> check_parity(const std::vector<ParityRun>& runs) {
  for (const ParityRun& run : runs)
    if (run.differs())
      return mismatch(run);
  for (const ParityRun& run : runs)
    if (!run.ran)
      return annotate(run.ran.error(), device_text(run));
  return {};
}

}  // namespace lyk::cli
