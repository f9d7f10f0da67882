// The methods of com.libreyolo.Kernels, one function each.
//
// A handler decodes its parameters, does the work and returns the one reply that ends the call, or
// the Error that does. On the way it may `tell` progress to a caller that asked for `more`. What
// everybody must not do is decided before it is called (daemon/peer.hpp). Thread rule: a call
// belongs to its connection's thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/connection.hpp"
#include "daemon/image_cache.hpp"
#include "daemon/service.hpp"
#include "proto/message.hpp"
#include "proto/result.hpp"

namespace lyk::daemon {

struct Call {
  Service& service;
  Connection& connection;
  const wire::ParsedCall& message;
  // What the error reply says beyond its text.
  wire::ErrorFields error_fields;

  bool wants_progress() const { return message.flow == wire::Flow::more; }
};

// The reply that ends a call: text, or an image with the text that was prepared for it.
struct Answer {
  std::string text;
  std::shared_ptr<const ResolvedImage> resolved = nullptr;

  std::string_view view() const { return resolved ? std::string_view{resolved->reply} : text; }
  int fd() const { return resolved ? resolved->image->fd.get() : -1; }
};

// The reply to any call, of our interface and of org.varlink.service. Empty: a oneway call gets
// none. An Error is of the call, not of the connection.
Result<Answer> answer(Call& call);

Result<Answer> handle_resolve(Call& call);        // handle_resolve.cpp
Result<Answer> handle_fetch(Call& call);          // handle_fetch.cpp
Result<Answer> handle_probe(Call& call);          // handle_probe.cpp
Result<Answer> handle_list(Call& call);           // handle_store.cpp
Result<Answer> handle_info(Call& call);           // handle_store.cpp
Result<Answer> handle_verify(Call& call);         // handle_care.cpp
Result<Answer> handle_remove(Call& call);         // handle_care.cpp
Result<Answer> handle_prune(Call& call);          // handle_care.cpp
Result<Answer> handle_rebuild_index(Call& call);  // handle_care.cpp
Result<Answer> handle_pins(Call& call);           // handle_status.cpp
Result<Answer> handle_status(Call& call);         // handle_status.cpp

// ---- for handlers ----

// The pin that a call brings along instead of one in force: its text, and its name in messages.
struct InlinePin {
  std::string_view text;
  const std::optional<std::string>& name;
};
// Errors: refused, to whom `method` is not for; as Pin::parse.
Result<fetcher::LoadedPin> inline_pin(const Call& call, Method method, const InlinePin& given);

// ---- for handlers that take their time ----

// Sends a reply that announces more. The connection is broken if it cannot be delivered.
void tell(Call& call, std::string_view text);

// Whether the peer has closed the connection, or cannot be sent anything.
bool is_gone(const Connection& connection);

}  // namespace lyk::daemon
