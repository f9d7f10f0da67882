#include "cli/run.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>

#include "cli/help.hpp"
#include "cli/json_document.hpp"
#include "cli/output.hpp"
#include "proto/check.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

// All of `text`, or the errno that stopped it.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR)
        continue;
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// There is nowhere to report that stderr is gone; the exit code still tells.
void tell(const Terminal& terminal, std::string_view line) {
  (void)write_all(terminal.error_fd, str(program_name, ": ", line, '\n'));
}

void tell_error(const Terminal& terminal, std::string_view line) {
  (void)write_all(
      terminal.error_fd,
      str(painted(str(program_name, ':'), Paint::red, terminal.error_colours), ' ', line, '\n'));
}

int print(const Terminal& terminal, std::string_view text, int exit_code) {
  const int number = write_all(terminal.out_fd, text);
  if (number == 0)
    return exit_code;
  if (number == EPIPE)
    return exit_broken_pipe;
  const Error error = os_error(number, "write to standard output");
  tell_error(terminal, error.message);
  return info(error.code).exit_code;
}

bool wants_json(std::span<const std::string> words) {
  return std::find(words.begin(), words.end(), "--json") != words.end();
}

int fail(const Terminal& terminal,
         std::span<const std::string> words,
         const Error& error,
         std::string_view ending) {
  tell_error(terminal, str(printable(error.message), ending));
  const int exit_code = info(error.code).exit_code;
  if (!wants_json(words))
    return exit_code;
  return print(terminal, error_document(error, {}), exit_code);
}

Error unknown_command(std::string_view word) {
  std::vector<std::string_view> names;
  for (const Command* command : commands())
    names.push_back(command->name);
  if (word.starts_with('-'))
    return {Code::invalid_argument, str("expected a command before option ", quoted(word))};
  const auto meant = nearest(word, names);
  if (meant.empty())
    return {Code::invalid_argument, str("unknown command ", quoted(word))};
  return {Code::invalid_argument,
          str("unknown command ", quoted(word), ": did you mean ", meant, '?')};
}

// What the advice is about; empty for a command whose argument is no slot.
std::string_view slot_of(const Command& command, const Arguments& arguments) {
  const bool takes_slot = command.positionals.usage.find("SLOT") != std::string_view::npos;
  return takes_slot && !arguments.positionals().empty() ? arguments.positionals().front()
                                                        : std::string_view{};
}

// Messages of the service often say themselves what to run.
bool names_a_command(std::string_view message) {
  const auto all = commands();
  return std::any_of(all.begin(), all.end(), [&](const Command* command) {
    return message.find(str(program_name, ' ', command->name)) != std::string_view::npos;
  });
}

struct Told {
  std::span<const std::string> words;
  const Terminal& terminal;
  std::string_view driver_library;
};

// What no Result carries becomes one: memory that ran out, a fault in a library. Whoever reads JSON
// gets their document for these too.
Result<Report> run_guarded(const Command& command, const Invocation& invocation) {
  std::string what{command.name};
  for (const std::string& word : invocation.arguments.positionals())
    what += str(' ', quoted(word));
  try {
    return command.run(invocation);
  } catch (const std::bad_alloc&) {
    return Error{Code::internal, str(what, ": out of memory")};
  } catch (const std::exception& problem) {
    return Error{Code::internal, str(what, ": ", problem.what())};
  }
}

int run_command(const Command& command, const client::Environment& environment, const Told& told) {
  const std::span<const std::string> words = told.words;
  const std::string pointer = str(" (see ", program_name, ' ', command.name, " --help)");
  const auto arguments = parse_arguments(command.options, words);
  if (!arguments)
    return fail(told.terminal, words, annotate(arguments.error(), command.name), pointer);
  if (arguments->has("help"))
    return print(told.terminal, command_help(command), 0);
  if (const auto checked = check_positionals(*arguments, command.positionals); !checked)
    return fail(told.terminal, words, annotate(checked.error(), command.name), pointer);

  const Preferences preferences = read_preferences(environment);
  const auto report = run_guarded(command, {.arguments = *arguments,
                                            .environment = environment,
                                            .preferences = preferences,
                                            .terminal = told.terminal,
                                            .driver_library = told.driver_library});
  const std::string_view slot = slot_of(command, *arguments);
  if (!report)
    return fail(told.terminal, words, report.error(), advice(report.error(), slot));
  if (!arguments->has("quiet"))
    for (const std::string& note : report->notes)
      tell(told.terminal, printable(note));
  if (report->failure)
    tell_error(told.terminal,
               str(printable(report->failure->message), advice(*report->failure, slot)));
  return print(told.terminal, report->text, report->exit_code);
}

}  // namespace

int run(std::span<const std::string> words,
        const client::Environment& environment,
        const Terminal& terminal,
        std::string_view driver_library) {
  if (words.empty()) {
    (void)write_all(terminal.error_fd, program_help());
    return info(Code::invalid_argument).exit_code;
  }
  const std::string& first = words.front();
  const std::span<const std::string> rest = words.subspan(1);
  if (first == "--version")
    return print(terminal, str(program_name, ' ', LYK_VERSION, '\n'), 0);
  if (first == "--help" || first == "-h" || (first == "help" && rest.empty()))
    return print(terminal, program_help(), 0);
  const bool asks_help = first == "help";
  const std::string& name = asks_help ? rest.front() : first;
  const Command* command = find_command(name);
  if (command == nullptr)
    return fail(terminal, words, unknown_command(name),
                str(" (", program_name, " --help lists the commands)"));
  if (asks_help)
    return print(terminal, command_help(*command), 0);
  return run_command(*command, environment,
                     {.words = rest, .terminal = terminal, .driver_library = driver_library});
}

std::string advice(const Error& error, std::string_view slot) {
  if (names_a_command(error.message))
    return {};
  const auto for_slot = [&](std::string_view command, std::string_view what) {
    return slot.empty() ? std::string{}
                        : str("; `", program_name, ' ', command, ' ', printable(slot), "` ", what);
  };
  const auto run_this = [](std::string_view words, std::string_view what) {
    return str("; `", program_name, ' ', words, "` ", what);
  };
  switch (error.code) {
    case Code::not_pinned:
      return run_this("pins", "lists the slots that are pinned");
    case Code::not_cached:
      return for_slot("fetch", "fetches it");
    case Code::no_image:
      return for_slot("info", "lists the images that there are");
    case Code::no_space:
      return run_this("prune", "makes room in the store");
    case Code::corrupt_store:
      return run_this("rebuild-index", "makes a new index from the files");
    case Code::busy:
      return "; try again";
    case Code::invalid_argument:
    case Code::not_found:
    case Code::refused:
    case Code::offline:
    case Code::network:
    case Code::remote_status:
    case Code::timeout:
    case Code::cancelled:
    case Code::protocol:
    case Code::size_mismatch:
    case Code::digest_mismatch:
    case Code::signature_invalid:
    case Code::io:
    case Code::no_driver:
    case Code::cuda:
    case Code::internal:
    case Code::not_eligible:
      return {};
  }
  LYK_CHECK(false);
}

std::string error_document(const Error& error, const wire::ErrorFields& fields) {
  JsonDocument document;
  document.begin_object();
  document.key("error");
  document.begin_object();
  document.member("code", info(error.code).name);
  document.member("message", std::string_view{error.message});
  document.member("retryable", info(error.code).retryable == Retryable::yes);
  if (!fields.refused.empty()) {
    document.key("refused");
    document.begin_array();
    for (const wire::RefusedImage& refused : fields.refused) {
      document.begin_object();
      document.member("image", std::string_view{refused.image});
      document.member("reason", std::string_view{refused.reason});
      document.end_object();
    }
    document.end_array();
  }
  document.end_object();
  document.end_object();
  return std::move(document).finish();
}

}  // namespace lyk::cli
