#include "cli/parity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <utility>

#include "client/environment.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

// How the driver of a machine without a GPU, which interprets device code, names its devices.
constexpr std::string_view stand_in_prefix = "softcuda ";

parity::Extent extent_for(const client::MachineGpu& gpu) {
  return gpu.name.starts_with(stand_in_prefix) ? parity::Extent::small : parity::Extent::whole;
}

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

Result<parity::Runner> open_runner(const ParityAsked& asked, ParityRun& run) {
  LYK_TRY_ASSIGN(client::ResolvedImage image, asked.resolve(run.gpu.device));
  run.image = image.reply.image.sha256;
  return parity::Runner::open({.slot = std::string{asked.set.slot},
                               .implementation = std::string{asked.implementation},
                               .driver = std::string{asked.invocation.driver_library},
                               .gpu = run.gpu.number,
                               .environment = asked.invocation.environment,
                               .images = source_of(std::move(image))});
}

// A GPU that the set runs on, for as long as nothing kept it from doing so.
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

// The large cases are made once for all GPUs of an extent.
void run_cases(const ParityAsked& asked, std::vector<Seat>& seats) {
  ProgressPrinter printer{asked.invocation.terminal, asked.invocation.progress()};
  const std::size_t count = asked.set.count(parity::Implementation::hub);
  for (std::size_t index = 0; index < count; ++index)
    for (const parity::Extent extent : {parity::Extent::whole, parity::Extent::small}) {
      const auto takes_part = [&](const Seat& seat) {
        return seat.run.extent == extent && seat.runner;
      };
      if (std::none_of(seats.begin(), seats.end(), takes_part))
        continue;
      printer.show_step(str(asked.set.slot, "  comparing case ", index + 1, " of ", count));
      const parity::Case which = asked.set.make(index, extent, parity::Implementation::hub);
      for (Seat& seat : seats)
        if (takes_part(seat))
          run_case(seat, which);
    }
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
                   verdict->difference.elements, " elements beyond the tolerance of ",
                   shortest(verdict->gate.absolute), " + ", shortest(verdict->gate.relative),
                   " * |expected|")};
}

std::string driver_text(const client::MachineGpu& gpu) {
  return gpu.device.driver ? gpu.device.driver->text() : std::string{};
}

void add_verdict(JsonDocument& document, const parity::Verdict& verdict) {
  const parity::Difference& difference = verdict.difference;
  document.begin_object();
  document.member("pass", verdict.pass);
  document.member("output", verdict.output);
  document.member("shape", std::string_view{parity::shape_text(verdict.shape)});
  document.member("elements", std::uint64_t{difference.elements});
  document.member("wrong", std::uint64_t{difference.wrong});
  document.member("greatest_error", difference.greatest_error);
  document.member("absolute_tolerance", verdict.gate.absolute);
  document.member("relative_tolerance", verdict.gate.relative);
  document.key("worst");
  document.begin_object(Layout::inline_values);
  document.member("index", std::string_view{parity::index_text(verdict.shape, difference.worst)});
  document.member("expected", difference.expected);
  document.member("got", difference.got);
  document.member("share_of_tolerance", difference.share);
  document.end_object();
  document.end_object();
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

Result<std::vector<ParityRun>> run_parity(const ParityAsked& asked) {
  LYK_TRY_ASSIGN(std::vector<client::MachineGpu> gpus,
                 client::list_gpus(std::string{asked.invocation.driver_library}));
  std::vector<Seat> seats;
  for (client::MachineGpu& gpu : gpus) {
    const parity::Extent extent = extent_for(gpu);
    Seat& seat = seats.emplace_back();
    seat.run = {.gpu = std::move(gpu), .extent = extent, .image = {}, .cases = {}, .ran = {}};
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
  return str("device ", run.gpu.number, " (", printable(run.gpu.name), ')');
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

std::vector<wire::ParityRecord> parity_records(const std::vector<ParityRun>& runs) {
  struct Kind {
    const ParityRun* run = nullptr;
    double greatest_error = 0;
  };
  std::vector<Kind> kinds;
  for (const ParityRun& run : runs) {
    if (!run.image || !run.ran)
      continue;
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& known) {
      return known.run->image == run.image && known.run->gpu.device == run.gpu.device &&
             known.run->gpu.name == run.gpu.name;
    });
    if (same == kinds.end())
      kinds.push_back({&run, run.greatest_error()});
    else
      same->greatest_error = std::max(same->greatest_error, run.greatest_error());
  }
  std::vector<wire::ParityRecord> out;
  out.reserve(kinds.size());
  for (const Kind& kind : kinds)
    out.push_back({.image = *kind.run->image,
                   .arch = kind.run->gpu.device.arch,
                   .driver = kind.run->gpu.device.driver.value_or(CudaVersion{}),
                   .gpu = printable(kind.run->gpu.name),
                   .set = std::string{parity::name(kind.run->extent)},
                   .greatest_error = shortest(kind.greatest_error)});
  return out;
}

std::string parity_toml(const std::vector<wire::ParityRecord>& records) {
  std::string out;
  for (const wire::ParityRecord& record : records)
    out += str("\n[[parity]]\nimage = ", toml_quoted(record.image.hex()),
               "\narch = ", toml_quoted(record.arch.capability()),
               "\ndriver = ", toml_quoted(record.driver.text()),
               "\ngpu = ", toml_quoted(record.gpu), "\nset = ", toml_quoted(record.set),
               "\ngreatest_error = ", record.greatest_error, '\n');
  return out;
}

void add_parity_records(JsonDocument& document, const std::vector<wire::ParityRecord>& records) {
  document.begin_array();
  for (const wire::ParityRecord& record : records) {
    document.begin_object();
    document.member("image", record.image.hex());
    document.member("arch", record.arch.capability());
    document.member("driver", record.driver.text());
    document.member("gpu", std::string_view{record.gpu});
    document.member("set", std::string_view{record.set});
    document.member("greatest_error", std::string_view{record.greatest_error});
    document.end_object();
  }
  document.end_array();
}

void add_parity_runs(JsonDocument& document, const std::vector<ParityRun>& runs) {
  document.key("gpus");
  document.begin_array();
  for (const ParityRun& run : runs) {
    document.begin_object();
    document.member("number", static_cast<std::uint32_t>(run.gpu.number));
    document.member("name", std::string_view{run.gpu.name});
    document.member("arch", run.gpu.device.arch.capability());
    document.member("driver", driver_text(run.gpu));
    document.member("image", run.image ? std::optional{run.image->hex()} : std::nullopt);
    document.member("set", parity::name(run.extent));
    document.member("passed", run.passed());
    document.member("greatest_error",
                    run.cases.empty() ? std::nullopt : std::optional{run.greatest_error()});
    if (!run.ran) {
      document.member("code", info(run.ran.error().code).name);
      document.member("reason", std::string_view{run.ran.error().message});
    }
    document.key("cases");
    document.begin_array();
    for (const ParityCase& each : run.cases) {
      document.begin_object();
      document.member("name", std::string_view{each.name});
      document.member("passed", each.passed());
      document.key("outputs");
      document.begin_array();
      for (const parity::Verdict& verdict : each.verdicts)
        add_verdict(document, verdict);
      document.end_array();
      document.end_object();
    }
    document.end_array();
    document.end_object();
  }
  document.end_array();
}

std::string parity_text(const ParityRun& run, Colours colours) {
  const bool passed = run.passed();
  Facts facts;
  facts.add("gpu", str(run.gpu.number, ": ", printable(run.gpu.name)), Paint::bold);
  facts.add("image", run.image ? run.image->hex() : std::string{"none"});
  facts.add("arch", run.gpu.device.arch.capability());
  facts.add("driver", str("CUDA ", driver_text(run.gpu)));
  facts.add("set", str(parity::name(run.extent), ", ", counted(run.cases.size(), "case")));
  if (!run.cases.empty())
    facts.add("greatest error", short_number(run.greatest_error()));
  facts.add("parity", passed ? "passed" : "failed", passed ? Paint::green : Paint::red);
  if (!run.ran)
    facts.add("reason", printable(run.ran.error().message), Paint::yellow);
  if (run.cases.empty())
    return facts.render(colours);
  Table table{{{"CASE"},
               {"OUTPUT"},
               {"SHAPE"},
               {"GREATEST ERROR", Align::right},
               {"OF TOLERANCE", Align::right},
               {"WRONG", Align::right}}};
  for (const ParityCase& each : run.cases)
    for (const parity::Verdict& verdict : each.verdicts) {
      const parity::Difference& difference = verdict.difference;
      const Paint paint = difference.passed() ? Paint::none : Paint::red;
      table.add({{each.name, paint},
                 {std::string{verdict.output}, paint},
                 {parity::shape_text(verdict.shape)},
                 {short_number(difference.greatest_error)},
                 {short_number(difference.share), paint},
                 {std::to_string(difference.wrong), paint}});
    }
  return str(facts.render(colours), '\n', table.render(colours));
}

std::string short_number(double number) {
  constexpr int digits = 3;
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number,
                                 std::chars_format::general, digits)
                       .ptr;
  return {text.data(), end};
}

}  // namespace lyk::cli
