// What our two programs set right about their process before anything else. Not for the library:
// there the process is its host's. Thread rule: by main, before any other thread is started.
#pragma once

namespace lyk {

// Standard streams that are closed are opened on /dev/null, in the wrong direction: no socket and
// no file takes their number, and what is written there is still an error.
void occupy_standard_streams();

// A reader that has left (SIGPIPE) and a file that may not grow any more (SIGXFSZ) do not end the
// process: `write` says it.
void ignore_signals_of_writes();

}  // namespace lyk
