// From the words of the command line to its exit code: finds the command, runs it, and puts results
// on stdout and everything else on stderr.
// Thread rule: once in a process.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/command.hpp"
#include "proto/message.hpp"

namespace lyk::cli {

// What a shell reports for a program that SIGPIPE ended: whoever read our output wants no more.
inline constexpr int exit_broken_pipe = 141;
// What a shell reports for a program that SIGINT ended.
inline constexpr int exit_interrupted = 130;

// `words` without the program's own name. `driver_library` is what the loader is asked for.
int run(std::span<const std::string> words,
        const client::Environment& environment,
        const Terminal& terminal,
        std::string_view driver_library = client::driver_library);

// What to do about an error, as the end of its line: "; `libreyolo-kernels pins` lists ...". Empty
// where the message says it itself or nothing is known. `slot`: what was asked for, or empty.
std::string advice(const Error& error, std::string_view slot);

// The document that --json prints for a failure. `refused` is there where images were refused.
std::string error_document(const Error& error, const wire::ErrorFields& fields);

}  // namespace lyk::cli
