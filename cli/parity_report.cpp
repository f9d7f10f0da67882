#include "cli/parity_report.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "proto/text.hpp"

namespace lyk::cli {

namespace {

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

void add_cases(JsonDocument& document, const ParityRun& run) {
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
}

bool is_own_code(const ParityRun& run) {
  return run.implementation != parity::Implementation::hub;
}

// As members of the object that is open.
void add_run(JsonDocument& document, const ParityRun& run) {
  if (is_own_code(run))
    document.member("library", std::string_view{LYK_VERSION});
  if (run.fatbin)
    document.member("fatbin", run.fatbin->hex());
  document.member("set", parity::name(run.extent));
  document.member("passed", run.passed());
  document.member("greatest_error",
                  run.cases.empty() ? std::nullopt : std::optional{run.greatest_error()});
  if (!run.ran) {
    document.member("code", info(run.ran.error().code).name);
    document.member("reason", std::string_view{run.ran.error().message});
  }
  add_cases(document, run);
}

void add_gpu(JsonDocument& document, const client::MachineGpu& gpu, const ParityRun& run) {
  document.begin_object();
  document.member("number", static_cast<std::uint32_t>(gpu.number));
  document.member("name", std::string_view{gpu.name});
  document.member("arch", gpu.device.arch.capability());
  document.member("driver", driver_text(gpu));
  document.member("image", run.image ? std::optional{run.image->hex()} : std::nullopt);
  add_run(document, run);
  document.end_object();
}

void add_processors(JsonDocument& document, const ParityRun& run) {
  document.begin_object();
  document.member("instructions", run.processors.instructions);
  document.member("threads", std::uint64_t{run.processors.threads});
  add_run(document, run);
  document.end_object();
}

// What ran, and on what.
void add_place(Facts& facts, const ParityRun& run) {
  if (run.gpu)
    facts.add("gpu", str(run.gpu->number, ": ", printable(run.gpu->name)), Paint::bold);
  else
    facts.add("processors", processors_text(run.processors), Paint::bold);
  if (is_own_code(run))
    facts.add("library", LYK_VERSION);
  else
    facts.add("image", run.image ? run.image->hex() : std::string{"none"});
  if (run.fatbin)
    facts.add("fatbin", run.fatbin->hex());
  if (!run.gpu)
    return;
  facts.add("arch", run.gpu->device.arch.capability());
  facts.add("driver", str("CUDA ", driver_text(*run.gpu)));
}

}  // namespace

std::vector<wire::ParityRecord> parity_records(const std::vector<ParityRun>& runs) {
  struct Kind {
    const ParityRun* run = nullptr;
    double greatest_error = 0;
  };
  std::vector<Kind> kinds;
  for (const ParityRun& run : runs) {
    if (!run.gpu || !run.image || !run.ran)
      continue;
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& known) {
      return known.run->image == run.image && known.run->gpu->device == run.gpu->device &&
             known.run->gpu->name == run.gpu->name;
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
                   .arch = kind.run->gpu->device.arch,
                   .driver = kind.run->gpu->device.driver.value_or(CudaVersion{}),
                   .gpu = printable(kind.run->gpu->name),
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
  for (const ParityRun& run : runs)
    if (run.gpu)
      add_gpu(document, *run.gpu, run);
  document.end_array();
  for (const ParityRun& run : runs)
    if (!run.gpu) {
      document.key("processors");
      add_processors(document, run);
    }
}

std::string parity_text(const ParityRun& run, Colours colours) {
  const bool passed = run.passed();
  Facts facts;
  add_place(facts, run);
  facts.add("set", str(parity::name(run.extent), ", ", counted(run.cases.size(), "case")));
  if (!run.cases.empty())
    facts.add("greatest error", short_number(run.greatest_error()));
  facts.add("parity", passed ? "passed" : "failed", passed ? Paint::green : Paint::red);
  if (!run.ran)
    facts.add("reason", printable(run.ran.error().message), Paint::yellow);
  if (run.cases.empty())
    return facts.render(colours);
  Table table{{{"CASE"},
               {"PASS"},
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
                 {std::string{verdict.pass}},
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
