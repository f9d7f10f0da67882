#include "cli/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "cli/output.hpp"
#include "cli/state_names.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

constexpr Moment rate_window{5'000};
constexpr Moment rate_least{500};
// Faster than this nobody reads, and a slow terminal would hold up the transfer.
constexpr Moment redraw_interval{100};

// The bar's width follows from the terminal's alone, so that it stands still while numbers change.
std::size_t bar_columns(std::size_t columns) {
  if (columns >= 100)
    return 24;
  if (columns >= 79)
    return 12;
  return columns >= 60 ? 8 : 0;
}

std::string bar(std::uint64_t done, std::uint64_t total, std::size_t columns) {
  const std::size_t inner = columns - 2;
  // In floating point: the product of bytes and columns may not fit into 64 bits.
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(inner));
  std::string out = "[" + std::string(filled, '=');
  if (filled < inner)
    out += '>' + std::string(inner - filled - 1, ' ');
  return out + ']';
}

std::string cut_to(std::string text, std::size_t columns) {
  while (display_width(text) > columns) {
    // A whole code point from the end.
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0U) == 0x80U)
      text.pop_back();
    text.pop_back();
  }
  return text;
}

// In four columns.
std::string percent(const ProgressState& state) {
  const double share =
      static_cast<double>(state.bytes_done) / static_cast<double>(state.bytes_total);
  const std::string text = str(static_cast<int>(std::min(1.0, share) * 100), '%');
  return std::string(4 - text.size(), ' ') + text;
}

// Rounded up, so that nothing is "0:00 left" before it is done.
std::uint64_t seconds_for(std::uint64_t bytes, std::uint64_t bytes_per_second) {
  return bytes / bytes_per_second + (bytes % bytes_per_second != 0 ? 1 : 0);
}

// The parts after the name, most important first.
std::vector<std::string> parts_of(const ProgressState& state, std::size_t columns) {
  std::vector<std::string> parts;
  if (state.bytes_total != 0) {
    if (const std::size_t width = bar_columns(columns); width != 0)
      parts.push_back(bar(state.bytes_done, state.bytes_total, width));
    parts.push_back(percent(state));
    parts.push_back(str(human_bytes(state.bytes_done), " of ", human_bytes(state.bytes_total)));
  } else if (state.bytes_done != 0) {
    parts.push_back(human_bytes(state.bytes_done));
  }
  if (state.bytes_per_second && *state.bytes_per_second != 0) {
    parts.push_back(str(human_bytes(*state.bytes_per_second), "/s"));
    if (state.bytes_total > state.bytes_done)
      parts.push_back(str(
          clock_time(seconds_for(state.bytes_total - state.bytes_done, *state.bytes_per_second)),
          " left"));
  }
  if (state.files_total > 1)
    parts.push_back(
        str("file ", std::min(state.files_done + 1, state.files_total), " of ", state.files_total));
  return parts;
}

}  // namespace

void Rate::add(Moment now, std::uint64_t bytes_done) {
  // A new file or a transfer that started over: what was measured is of no use.
  if (!samples_.empty() && bytes_done < samples_.back().bytes_done)
    samples_.clear();
  samples_.push_back({now, bytes_done});
  while (samples_.size() > 2 && now - samples_[1].at >= rate_window)
    samples_.pop_front();
}

std::optional<std::uint64_t> Rate::bytes_per_second() const {
  if (samples_.empty())
    return std::nullopt;
  const Moment span = samples_.back().at - samples_.front().at;
  if (span < rate_least)
    return std::nullopt;
  const std::uint64_t bytes = samples_.back().bytes_done - samples_.front().bytes_done;
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * 1000 /
                                    static_cast<double>(span.count()));
}

std::string clock_time(std::uint64_t seconds) {
  constexpr std::uint64_t shown_max = 99ULL * 3600;
  if (seconds > shown_max)
    return "--:--";
  const auto two = [](std::uint64_t n) { return str(n < 10 ? "0" : "", n); };
  const std::uint64_t hours = seconds / 3600;
  const std::uint64_t minutes = seconds / 60 % 60;
  if (hours != 0)
    return str(hours, ':', two(minutes), ':', two(seconds % 60));
  return str(minutes, ':', two(seconds % 60));
}

std::string progress_line(const ProgressState& state, std::size_t columns) {
  // A bar says that something comes; the other actions have to be named.
  const bool has_bar = state.bytes_total != 0 && bar_columns(columns) != 0;
  const bool is_plain = has_bar && state.action == "downloading";
  std::string line = is_plain ? std::string{state.subject} : str(state.subject, "  ", state.action);
  if (display_width(line) >= columns)
    return cut_to(std::move(line), columns);
  for (const std::string& part : parts_of(state, columns)) {
    if (display_width(line) + 2 + display_width(part) > columns)
      break;
    line += str("  ", part);
  }
  return line;
}

void ProgressPrinter::show(const wire::FetchProgress& progress, Moment now) {
  if (style_ == ProgressStyle::none)
    return;
  const std::string subject = printable(progress.slot);
  const std::string file = printable(progress.file.value_or(""));
  if (style_ == ProgressStyle::redraw) {
    redraw({.subject = subject,
            .action = fetch_step_name(progress.step),
            .bytes_done = progress.bytes_done,
            .bytes_total = progress.bytes_total,
            .files_done = progress.files_done,
            .files_total = progress.files_total,
            .bytes_per_second = std::nullopt},
           now);
    return;
  }
  const std::string line =
      str(subject, ": ", fetch_step_name(progress.step), file.empty() ? "" : " ", file);
  if (line == last_line_)
    return;
  last_line_ = line;
  write(line + '\n');
}

void ProgressPrinter::show(const wire::VerifyProgress& progress, Moment now) {
  if (style_ == ProgressStyle::redraw)
    redraw({.subject = "store",
            .action = "verifying",
            .bytes_done = progress.bytes_done,
            .bytes_total = progress.bytes_total,
            .files_done = progress.files_done,
            .files_total = progress.files_total,
            .bytes_per_second = std::nullopt},
           now);
}

void ProgressPrinter::redraw(ProgressState state, Moment now) {
  const std::string rated = str(state.subject, ' ', state.action);
  if (rated != rated_) {
    rated_ = rated;
    rate_ = Rate{};
    drawn_at_.reset();
  }
  rate_.add(now, state.bytes_done);
  if (drawn_at_ && now - *drawn_at_ < redraw_interval)
    return;
  drawn_at_ = now;
  state.bytes_per_second = rate_.bytes_per_second();
  // One column stays free: a line as wide as the terminal would wrap.
  last_line_ = progress_line(state, columns_ > 1 ? columns_ - 1 : 1);
  write(str("\r\x1b[K", last_line_));
}

void ProgressPrinter::show_step(std::string_view line) {
  if (style_ != ProgressStyle::redraw)
    return;
  last_line_ = cut_to(std::string{line}, columns_ > 1 ? columns_ - 1 : 1);
  write(str("\r\x1b[K", last_line_));
}

void ProgressPrinter::clear() {
  if (style_ != ProgressStyle::redraw || last_line_.empty())
    return;
  write("\r\x1b[K");
  last_line_.clear();
}

void ProgressPrinter::write(std::string_view text) const {
  // Progress that cannot be shown is no reason to stop the work that it tells of.
  [[maybe_unused]] const ssize_t written = ::write(fd_, text.data(), text.size());
}

Moment now() {
  return std::chrono::duration_cast<Moment>(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace lyk::cli
