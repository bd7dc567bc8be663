#include "desk/cli/progress.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "desk/cli/messages.h"
#include "desk/cli/terminal.h"
#include "shared/base/duration_text.h"

namespace xsp::cli {
namespace {

using experiment::Progress;
using experiment::RunProgress;
using std::chrono::steady_clock;

// Intervals between progress lines in a log, and between redraws on a terminal.
constexpr double kLogSeconds = 15;
constexpr double kRedrawSeconds = 0.1;

// Further lines of a note or a warning begin below the first word after "note: " or "warning: ".
constexpr size_t kNoteIndent = 6, kWarningIndent = 9;

void print(const std::string& text) {
  // If standard error fails, there is no place to report that.
  [[maybe_unused]] const ssize_t written = ::write(2, text.data(), text.size());
}
void print_line(const std::string& text) { print(text + "\n"); }
void print_message(const std::string& text, size_t indent) {
  print(message_lines(terminal_of(2), text, indent));
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f s", seconds);
  return text;
}

const char* state_text(RunProgress::State state) {
  switch (state) {
    case RunProgress::State::kWaiting:
      return "waiting";
    case RunProgress::State::kWarmingUp:
      return "warming up";
    case RunProgress::State::kMeasuring:
      return "measuring";
    case RunProgress::State::kSettled:
      return "narrow enough";
    case RunProgress::State::kFailed:
      return "failed";
  }
  return "";
}

std::string run_name(const RunProgress& run) {
  return run.levels + (run.batch ? ", batch " + std::to_string(*run.batch) : "");
}

std::string latency_so_far(const RunProgress& run) {
  const std::string interval = interval_text(run.latency_ns);
  return std::to_string(run.iterations) + (run.iterations == 1 ? " inference, " : " inferences, ") +
         duration_text(run.latency_ns.mean) + (interval.empty() ? "" : " " + interval);
}

// A line that has no room for the columns has the run's name and its figure, or its state.
std::string run_line(const RunProgress& run, size_t width) {
  constexpr size_t kStateColumn = 28, kLatencyColumn = 44;
  std::string text = run_name(run);
  const std::string name = text + ": ";
  text.resize(std::max(text.size() + 2, kStateColumn), ' ');
  text += state_text(run.state);
  if (run.iterations > 0) {
    text.resize(std::max(text.size() + 2, kLatencyColumn), ' ');
    text += latency_so_far(run);
  }
  if (width_of(text) <= width) return text;
  return name + (run.iterations > 0 ? latency_so_far(run) : state_text(run.state));
}

class Quiet : public experiment::Listener {
 public:
  void step(const std::string&) override {}
  void progress(const Progress&) override {}
  void note(const std::string&) override {}
  void warn(const std::string& text) override { print_message("warning: " + text, kWarningIndent); }
};

class Log : public Quiet {
 public:
  explicit Log(const std::string& subject) { print_line(subject); }
  void step(const std::string& text) override { print_line(text); }
  void note(const std::string& text) override { print_message("note: " + text, kNoteIndent); }
  void progress(const Progress& progress) override {
    if (progress.elapsed_s - logged_s_ < kLogSeconds && progress.elapsed_s >= logged_s_) return;
    logged_s_ = progress.elapsed_s;
    for (const RunProgress& run : progress.runs) {
      print_line("  " + run_line(run, terminal_of(2).width - 2));
    }
  }

 private:
  double logged_s_ = 0;
};

class Live : public experiment::Listener {
 public:
  Live(std::string subject, const Terminal& terminal)
      : subject_(std::move(subject)), terminal_(terminal) {}
  ~Live() override { erase(); }

  void step(const std::string& text) override { draw({headline(text)}); }

  void note(const std::string& text) override {
    erase();
    std::string lines = message_lines(terminal_, "note: " + text, kNoteIndent);
    lines.pop_back();
    print_line(styled(terminal_, Style::kFaint, lines));
  }

  void warn(const std::string& text) override {
    erase();
    const std::string lines = message_lines(terminal_, "warning: " + text, kWarningIndent);
    print(styled(terminal_, Style::kBad, "warning: ") + lines.substr(kWarningIndent));
  }

  void progress(const Progress& progress) override {
    const auto now = steady_clock::now();
    if (lines_ > 1 && std::chrono::duration<double>(now - drawn_).count() < kRedrawSeconds) return;
    drawn_ = now;
    const std::string bound = seconds_text(progress.bound_s), left = seconds_text(progress.left_s);
    const std::string full = "measuring for " + seconds_text(progress.elapsed_s) + " of at most " +
                             bound + ", about " + left + " left";
    const bool has_room = width_of(subject_ + ": " + full) <= usable_width();
    std::vector<std::string> lines = {
        headline(has_room ? full : "about " + left + " of " + bound + " left")};
    for (const RunProgress& run : progress.runs) {
      const std::string line =
          shortened(terminal_, (run.is_current ? "> " : "  ") + run_line(run, usable_width() - 2),
                    usable_width());
      lines.push_back(
          run.state == RunProgress::State::kFailed    ? styled(terminal_, Style::kBad, line)
          : run.state == RunProgress::State::kSettled ? styled(terminal_, Style::kGood, line)
                                                      : line);
    }
    draw(lines);
  }

 private:
  // One column stays free, because some terminals wrap when the last one is written.
  size_t usable_width() const { return terminal_.width > 1 ? terminal_.width - 1 : 1; }

  std::string headline(const std::string& text) const {
    return shortened(terminal_, subject_ + ": " + text, usable_width());
  }

  void draw(const std::vector<std::string>& lines) {
    std::string picture = erasure();
    for (const std::string& line : lines) picture += line + "\n";
    lines_ = lines.size();
    [[maybe_unused]] const ssize_t written = ::write(2, picture.data(), picture.size());
  }

  // Returns the codes that move up over the drawn lines and clear from there.
  std::string erasure() const {
    if (lines_ == 0) return {};
    return "\x1b[" + std::to_string(lines_) + "A\r\x1b[J";
  }

  void erase() {
    const std::string text = erasure();
    lines_ = 0;
    [[maybe_unused]] const ssize_t written = ::write(2, text.data(), text.size());
  }

  std::string subject_;
  Terminal terminal_;
  size_t lines_ = 0;
  steady_clock::time_point drawn_;
};

}  // namespace

std::string interval_text(const statistics::Estimate& latency) {
  const auto width = latency.relative_half_width();
  if (!width) return "";
  char text[32];
  std::snprintf(text, sizeof text, "±%.*f %%", *width < 0.1 ? 1 : 0, *width * 100);
  return text;
}

std::unique_ptr<experiment::Listener> make_progress(const std::string& subject,
                                                    Verbosity verbosity) {
  if (verbosity == Verbosity::kQuiet) return std::make_unique<Quiet>();
  const Terminal terminal = terminal_of(2);
  const char* term = std::getenv("TERM");
  const bool can_redraw = terminal.is_terminal && term != nullptr && std::strcmp(term, "dumb") != 0;
  if (can_redraw) return std::make_unique<Live>(subject, terminal);
  return std::make_unique<Log>(subject);
}

}  // namespace xsp::cli
