#include "cli/prometheus.hpp"

#include <array>
#include <string_view>

#include "cli/state_names.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

struct Metric {
  std::string_view name;  // after the prefix
  std::string_view type;  // "gauge", "counter"
  std::string_view help;
};

constexpr std::string_view prefix = "libreyolo_kernels_";

// Backslash, quote and newline are escaped in a label; that is all that the format knows.
std::string label(std::string_view name, std::string_view value) {
  std::string out = str(name, "=\"");
  for (const char c : value) {
    if (c == '\n')
      out += "\\n";
    else if (c == '"' || c == '\\')
      out += str('\\', c);
    else
      out += c;
  }
  return out + '"';
}

void head(std::string& out, const Metric& metric) {
  out += str("# HELP ", prefix, metric.name, ' ', metric.help, '\n');
  out += str("# TYPE ", prefix, metric.name, ' ', metric.type, '\n');
}

void sample(std::string& out, const Metric& metric, std::string_view labels, std::uint64_t value) {
  out += str(prefix, metric.name);
  if (!labels.empty())
    out += str('{', labels, '}');
  out += str(' ', value, '\n');
}

void single(std::string& out, const Metric& metric, std::uint64_t value) {
  head(out, metric);
  sample(out, metric, "", value);
}

void add_service(std::string& out, const wire::StatusReply& status) {
  constexpr Metric build{"info", "gauge", "The service that answered; the value is always 1."};
  head(out, build);
  sample(out, build,
         str(label("version", status.version), ',', label("mode", mode_name(status.mode)), ',',
             label("endpoint", status.endpoint)),
         1);
  single(out, {"uptime_seconds", "gauge", "Seconds since the service started."}, status.uptime_s);
  single(out, {"offline", "gauge", "1 if the service serves only what is cached."},
         status.offline ? 1 : 0);
}

void add_store(std::string& out, const wire::StoreStatus& store) {
  single(out, {"store_writable", "gauge", "1 if the store can take files."},
         store.writable ? 1 : 0);
  single(out, {"store_bytes", "gauge", "Bytes of the files in the store."}, store.bytes);
  single(out, {"store_max_bytes", "gauge", "Bytes that the store may hold (cache_max_bytes)."},
         store.bytes_max);
  single(out, {"store_files", "gauge", "Proven files in the store."}, store.files);
  single(out, {"store_images", "gauge", "Device images in these files."}, store.images);
  single(out, {"store_quarantined_files", "gauge", "Damaged files that were set aside."},
         store.quarantined);
}

void add_pins(std::string& out, const wire::StatusReply& status) {
  single(out, {"pins_in_force", "gauge", "Slots that a pin in force names."}, status.slots.size());
  single(out, {"pins_refused", "gauge", "Files and folders of pins that are refused."},
         status.refused.size());
}

void add_slots(std::string& out, const std::vector<wire::SlotStatus>& slots) {
  constexpr std::array states{wire::SlotState::cached, wire::SlotState::not_cached,
                              wire::SlotState::fetching, wire::SlotState::failed};
  constexpr Metric state{"slot_state", "gauge", "1 for the state that a pinned slot is in."};
  constexpr Metric images{"slot_images", "gauge", "Device images in the store for a pinned slot."};
  if (slots.empty())
    return;
  head(out, state);
  for (const wire::SlotStatus& slot : slots)
    for (const wire::SlotState candidate : states)
      sample(out, state,
             str(label("slot", slot.slot), ',', label("state", slot_state_name(candidate))),
             slot.state == candidate ? 1 : 0);
  head(out, images);
  for (const wire::SlotStatus& slot : slots)
    sample(out, images,
           str(label("slot", slot.slot), ',', label("repo", slot.repo), ',',
               label("commit", slot.commit)),
           slot.images);
}

void add_outlooks(std::string& out, const Outlooks& outlooks) {
  constexpr Metric metric{
      "slot_implementation", "gauge",
      "1 for what a process on this machine would run for a slot: an implementation, or none."};
  if (outlooks.rows.empty())
    return;
  head(out, metric);
  for (const Outlook& row : outlooks.rows)
    sample(out, metric,
           str(label("slot", row.slot), ',',
               label("gpu", row.gpu ? std::to_string(row.gpu->number) : std::string{}), ',',
               label("implementation", row.obstacle ? "none" : row.implementation)),
           1);
}

void add_counters(std::string& out, const wire::Counters& counters) {
  single(out, {"resolve_calls_total", "counter", "Calls of Resolve."}, counters.resolve_calls);
  constexpr Metric outcome{"resolve_outcomes_total", "counter",
                           "Calls of Resolve by where the image was found."};
  head(out, outcome);
  sample(out, outcome, label("found", "memory"), counters.resolve_memory_hits);
  sample(out, outcome, label("found", "store"), counters.resolve_store_hits);
  sample(out, outcome, label("found", "nowhere"), counters.resolve_misses);
  single(out, {"fetches_started_total", "counter", "Fetches begun."}, counters.fetches_started);
  single(out, {"fetches_done_total", "counter", "Fetches that ended well."}, counters.fetches_done);
  single(out, {"fetches_failed_total", "counter", "Fetches that failed."}, counters.fetches_failed);
  single(out, {"fetched_bytes_total", "counter", "Bytes downloaded."}, counters.fetched_bytes);
  single(out, {"adopted_bytes_total", "counter", "Bytes copied from a Hugging Face cache."},
         counters.adopted_bytes);
  single(out, {"quarantined_files_total", "counter", "Files found damaged and set aside."},
         counters.quarantined_files);
  single(out, {"refused_calls_total", "counter", "Calls that the peer was not allowed to make."},
         counters.refused_calls);
  single(out, {"connections", "gauge", "Connections open now."}, counters.connections);
  single(out, {"connections_accepted_total", "counter", "Connections that were served."},
         counters.connections_accepted);
  single(out, {"connections_refused_total", "counter", "Connections beyond a limit."},
         counters.connections_refused);
  single(out, {"memory_images", "gauge", "Device images held in sealed memory."},
         counters.images_in_memory);
  single(out, {"memory_images_bytes", "gauge", "Bytes of these images."},
         counters.images_in_memory_bytes);
}

}  // namespace

std::string prometheus(const wire::StatusReply& status, const Outlooks& outlooks) {
  std::string out;
  add_service(out, status);
  add_store(out, status.store);
  add_pins(out, status);
  add_slots(out, status.slots);
  add_outlooks(out, outlooks);
  add_counters(out, status.counters);
  return out;
}

}  // namespace lyk::cli
