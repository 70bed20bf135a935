#include "app/demo/contestant.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "app/demo/queue_client.h"
#include "app/lab/real/child.h"
#include "base/out_file.h"
#include "base/text_file.h"

namespace freshet::demo {

namespace {

constexpr int kSlots = 8;  // As `freshet serve` has by default.

class ServedQueue final : public Contestant {
 public:
  ServedQueue(std::string folder, std::string handler, const RunOptions& options)
      : folder_(std::move(folder)), handler_(std::move(handler)), options_(options) {}

  Result<void> launch() override {
    child_.reset();
    std::error_code ignored;
    std::filesystem::remove(ready(), ignored);
    // Settings for the daemons of the user are not for this one.
    std::vector<std::string> argv = {"env"};
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string text = *variable;
      if (text.starts_with("FRESHET_")) argv.insert(argv.end(), {"-u", text.substr(0, text.find('='))});
    }
    argv.insert(argv.end(), {options_.binary, "serve", kQueueName, "--to", handler_});
    for (const auto& words : {serve_options(), options_.serve}) argv.insert(argv.end(), words.begin(), words.end());
    argv.insert(argv.end(), {"--data", folder_ + "/store", "--listen", "127.0.0.1:0", "--ready-file", ready(),
                             "--log-level", "warn", "--durability", options_.durability});
    auto started = lab::Child::start(argv, folder_ + "/log", false);
    if (!started) return fail(started.error());
    child_.emplace(std::move(*started));
    return {};
  }
  void kill() override { child_.reset(); }
  bool is_ready() override { return !url().empty(); }
  bool has_ended() override { return !child_ || child_->has_ended(); }
  std::string url() const override {
    const auto text = std::filesystem::exists(ready()) ? read_text_file(ready()) : Result<std::string>("");
    return text ? text->substr(0, text->find_last_not_of("\n/") + 1) : "";
  }
  Error gone(const std::string& what) const override {
    return lab::gone_with_log(what, child_ ? &*child_ : nullptr, folder_ + "/log");
  }

 private:
  std::string ready() const { return folder_ + "/ready"; }

  const std::string folder_;
  const std::string handler_;
  const RunOptions& options_;
  std::optional<lab::Child> child_;
};

class Rival final : public Contestant {
 public:
  Rival(std::string folder, std::string handler, const RunOptions& options, const Story& story,
        const std::vector<StoryTask>& tasks)
      : folder_(std::move(folder)), handler_(std::move(handler)), options_(options), story_(story), tasks_(tasks) {}

  Result<void> launch() override {
    child_.reset();
    ready_ = false;
    const std::string arrivals = folder_ + "/arrivals";
    const std::string data = folder_ + "/data";
    std::error_code error;
    std::filesystem::create_directories(data, error);
    if (error) return fail(ErrorCode::kIo, "cannot make '" + data + "': " + error.message());
    std::ofstream out(arrivals);
    const auto ms = [](nanoseconds time) { return std::chrono::duration<double, std::milli>(time).count(); };
    for (const StoryTask& task : tasks_) {
      out << fmt::format("{:.3f} {:.3f} {}\n", ms(task.at), ms(task.deadline()), task.quiet ? "quiet" : "loud");
    }
    if (!out.flush()) return fail(ErrorCode::kIo, cannot_write(arrivals));
    auto started = lab::Child::start(
        {"/usr/bin/env", "LAB_HANDLER=" + handler_, "LAB_ARRIVALS=" + arrivals, "LAB_DATA=" + data,
         fmt::format("LAB_SLOTS={}", kSlots), fmt::format("LAB_RATE={:g}", story_.limiter().plan.front().rate),
         "/bin/sh", "-c", "exec " + options_.rival},
        folder_ + "/log", true);
    if (!started) return fail(started.error());
    child_.emplace(std::move(*started));
    return {};
  }
  void kill() override { child_.reset(); }
  bool is_ready() override {
    ready_ = ready_ || (child_ && child_->read_line() == "ready");
    return ready_;
  }
  bool has_ended() override { return !child_ || child_->has_ended(); }
  void begin(WallTime origin) override { child_->write_line(fmt::format("start {}", epoch_ms(origin))); }
  Error gone(const std::string& what) const override {
    return lab::gone_with_log(options_.name + ": " + what, child_ ? &*child_ : nullptr, folder_ + "/log");
  }

 private:
  const std::string folder_;
  const std::string handler_;
  const RunOptions& options_;
  const Story& story_;
  const std::vector<StoryTask>& tasks_;
  std::optional<lab::Child> child_;
  bool ready_ = false;
};

}  // namespace

std::unique_ptr<Contestant> make_served_queue(std::string folder, std::string handler, const RunOptions& options) {
  return std::make_unique<ServedQueue>(std::move(folder), std::move(handler), options);
}

std::unique_ptr<Contestant> make_rival(std::string folder, std::string handler, const RunOptions& options,
                                       const Story& story, const std::vector<StoryTask>& tasks) {
  return std::make_unique<Rival>(std::move(folder), std::move(handler), options, story, tasks);
}

}  // namespace freshet::demo
