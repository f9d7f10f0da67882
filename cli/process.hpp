// What has to be right about the process before anything else happens.
//
// Ctrl-C: the connection closes, so the service stops what only we waited for; the terminal gets
// its line back; the exit code is what a shell expects. Thread rule: once in a process, before its
// threads.
#pragma once

namespace lyk::cli {

// SIGINT and SIGTERM end the program with 128 + signal, by _exit, after a newline on stderr (so
// that the shell's prompt does not stand in a half-drawn progress line). The rest is as
// proto/process.hpp says.
void prepare_process();

}  // namespace lyk::cli
