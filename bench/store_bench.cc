// The life of tasks through the real store, in process: the cases of the floor (a hash map, B-trees and a plain log
// with nothing around them), with conditions, stream records, TTL and books. bench/table.py runs both, in
// turn.
//
//   store_bench steady|deep|drain|preload|open DIR SYNC GROUP N
//   store_bench grow DIR SYNC GROUP N [TURNS]
//   store_bench pauses SECONDS
//
// grow does the same work at every start; TURNS is a file for how long each turn took beyond syncs and waiting for a
// processor, in us, one a line. pauses tells how long this machine keeps a thread that does nothing but look at the
// clock from doing so.
//
// SYNC 1: fdatasync at every commit; GROUP: operations in one commit. Time is simulated (1 ms a task), the disk is
// real. As in the daemon a large commit syncs beside the next one's operations; here the next commit waits for it, so
// that each sync covers one group.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <filesystem>
#include <fstream>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "bench/timed_files.h"
#include "tables/engine/embedded.h"

namespace freshet {
namespace {

// The processor time of this thread: without the time of others on a shared machine, and without waiting for disks.
double cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// The kernel's part of it, and the pages that it provided; and how long this thread was ready to run while others had
// the processors (Documentation/scheduler/sched-stats.rst of Linux).
struct KernelWork {
  double cpu_s = 0;
  long faults = 0;
  double queued_s = 0;
};
KernelWork kernel_work() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  static const int schedule = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  char text[64] = "";
  unsigned long long queued_ns = 0;
  if (::pread(schedule, text, sizeof text - 1, 0) <= 0 || std::sscanf(text, "%*u %llu", &queued_ns) != 1) queued_ns = 0;
  return {static_cast<double>(usage.ru_stime.tv_sec) + static_cast<double>(usage.ru_stime.tv_usec) * 1e-6,
          usage.ru_minflt, static_cast<double>(queued_ns) * 1e-9};
}

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "store_bench: %s\n", why.c_str());
  std::exit(1);
}

// The daemon's sync thread, for which one can wait.
class BenchSync final : public BackgroundSync {
 public:
  void begin(File& file) override {
    thread_->begin(file);
    running_ = true;
  }
  bool over() const override { return thread_->over(); }
  Result<void> end() override {
    wait();
    return thread_->end();
  }
  void wait() {
    if (std::exchange(running_, false)) over_.acquire();
  }

 private:
  bool running_ = false;  // And not waited for.
  std::binary_semaphore over_{0};
  std::unique_ptr<BackgroundSync> thread_ = make_sync_thread([this] { over_.release(); });
};

// As much of a loop as the store needs: nothing waits here.
class BenchLoop final : public Scheduler {
 public:
  explicit BenchLoop(SimClock& clock) : clock_(clock) {}
  void post(Work work) override { posted_.push_back(std::move(work)); }
  TimerId call_at(BootTime, Work) override { return 0; }
  void cancel(TimerId) override {}
  const Clock& clock() const override { return clock_; }

 private:
  SimClock& clock_;
  std::deque<Work> posted_;
};

class Latencies {
 public:
  void add(double s) { us_.push_back(static_cast<float>(s * 1e6)); }
  void clear() { us_.clear(); }
  size_t size() const { return us_.size(); }
  // One a line, in the order in which they were added; before `report`, which sorts them.
  bool write(const char* path) const {
    std::ofstream out(path);
    for (const float us : us_) out << us << '\n';
    return static_cast<bool>(out.flush());
  }
  void report(const char* name) {
    if (us_.empty()) return;
    std::sort(us_.begin(), us_.end());
    const size_t n = us_.size();
    std::printf("  %s n=%zu p50=%.1f p99=%.1f p99.9=%.1f max=%.0f us\n", name, n, us_[n / 2], us_[n * 99 / 100],
                us_[n * 999 / 1000], us_[n - 1]);
  }

 private:
  std::vector<float> us_;
};

void report_memory(const char* tag) {
  std::FILE* status = std::fopen("/proc/self/status", "r");
  char line[256];
  long anon = 0;
  long peak = 0;
  while (std::fgets(line, sizeof line, status)) {
    std::sscanf(line, "RssAnon: %ld", &anon);
    std::sscanf(line, "VmHWM: %ld", &peak);
  }
  std::fclose(status);
  std::printf("  rss[%s] anon=%ldMB peak=%ldMB\n", tag, anon >> 10, peak >> 10);
}

class Bench {
 public:
  Bench(std::string directory, bool sync, int group, uint64_t seed = random_seed())
      : directory_(std::move(directory)), group_(group), random_(seed) {
    options_.directory = directory_;
    options_.durability.mode = sync ? DurabilityMode::kSync : DurabilityMode::kNone;
    options_.sync_beside = &beside_;
    options_.log_chores = chores_thread_.get();
    options_.stream_max_bytes = 64u << 20;
  }

  void fresh() {
    std::filesystem::remove_all(directory_);
    open();
    TableDefinition d;
    d.name = "Queue";
    d.keys.partition = {"taskId", Type::kString};
    IndexDefinition index;
    index.name = "task-status-created-index";
    index.keys.partition = {"taskStatus", Type::kString};
    index.keys.sort = KeyAttribute{"taskCreated", Type::kNumber};
    d.indexes.push_back(index);
    d.stream = StreamView::kKeysOnly;
    d.ttl_attribute = "ttl";
    d.books = BooksDefinition{};
    if (auto made = store_->create_table(d).take(); !made) die(made.error().message);
    end_turn();
  }
  void open() {
    auto opened = open_embedded(&files_, loop_, random_, options_);
    if (!opened) die(opened.error().message);
    store_ = std::move(*opened);
    turn_begin_ = now_s();
    turn_begin_cpu_ = cpu_s();
  }
  void close() { store_.reset(); }
  void skip(nanoseconds time) { clock_.advance(time); }

  void create(int64_t ttl_s) {
    clock_.advance(milliseconds(1));
    PutItemInput input;
    input.table = "Queue";
    char id[33];
    std::snprintf(id, sizeof id, "%016llx%016llx", static_cast<unsigned long long>(random_.next()),
                  static_cast<unsigned long long>(random_.next()));
    input.item.reserve(5);
    input.item.set("payload", Value(payload_));
    input.item.set("taskCreated", Value::number(epoch_ms(clock_.wall())));
    input.item.set("taskId", Value(std::string(id, 32)));
    input.item.set("taskStatus", Value("PENDING"));
    input.item.set("ttl", Value::number(epoch_s(clock_.wall()) + ttl_s));
    input.condition = "attribute_not_exists(taskId)";
    input.cause = Cause::kQueue;
    if (auto done = store_->put_item(std::move(input)).take(); !done) die(done.error().message);
    operation();
  }
  // The ids of up to ten newest pending tasks.
  const std::vector<std::string>& head() {
    const double begin = now_s();
    QueryInput input;
    input.table = "Queue";
    input.index = "task-status-created-index";
    input.key_condition = "taskStatus = :s";
    input.placeholders.values.append_sorted(":s", Value("PENDING"));
    input.forward = false;
    input.limit = 10;
    auto page = store_->query(std::move(input)).take();
    if (!page) die(page.error().message);
    heads.add(now_s() - begin);
    ids_.clear();
    for (const auto& item : page->items) ids_.emplace_back(item.find("taskId")->bytes());
    if (item_bytes_ == 0 && !page->items.empty()) item_bytes_ = page->items[0].encoded().size();
    return ids_;
  }
  void move(const std::string& id, const char* from, const char* to) {
    UpdateItemInput input;
    input.table = "Queue";
    input.key.set("taskId", Value(id));
    input.update = "SET taskStatus = :to";
    input.condition = "taskStatus = :from";
    input.placeholders.values.reserve(2);
    input.placeholders.values.append_sorted(":from", Value(from));
    input.placeholders.values.append_sorted(":to", Value(to));
    input.cause = Cause::kQueue;
    if (auto done = store_->update_item(std::move(input)).take(); !done) die(done.error().message);
    operation();
  }
  void end_turn() {
    const double worked = now_s();
    const double worked_cpu = cpu_s();
    store_->run_due();
    const double begin = now_s();
    const double begin_cpu = cpu_s();
    wait_for_last();
    store_->commit();
    const double end = now_s();
    commits.add(end - begin);
    const double waits = files_.times.sync_s - synced_before_ + waited_s_;
    const KernelWork kernel = kernel_work();
    const double ours = end - turn_begin_ - waits - (kernel.queued_s - kernel_before_.queued_s);
    turns.add(end - turn_begin_ - waits);
    turns_running.add(ours);
    if (ours > longest_) {
      longest_ = ours;
      std::snprintf(longest_text_, sizeof longest_text_,
                    "operations %.1f, upkeep %.1f, commit beyond the sync %.1f ms; of all that CPU %.1f, writes %.1f, "
                    "other work of files %.1f, others had the processors for %.1f",
                    (worked - turn_begin_) * 1e3, (begin - worked) * 1e3, (end - begin - waits) * 1e3,
                    (cpu_s() - turn_begin_cpu_) * 1e3, (files_.times.write_s - written_before_) * 1e3,
                    (files_.times.other_s - other_before_) * 1e3, (kernel.queued_s - kernel_before_.queued_s) * 1e3);
    }
    waited_s_ = 0;
    const double cpu = cpu_s();
    turns_cpu.add(cpu - turn_begin_cpu_);
    if (cpu - turn_begin_cpu_ > longest_cpu_) {
      longest_cpu_ = cpu - turn_begin_cpu_;
      std::snprintf(longest_cpu_text_, sizeof longest_cpu_text_,
                    "operations %.1f, upkeep %.1f, commit %.1f ms; in the kernel %.1f ms, %ld page faults; turn %zu",
                    (worked_cpu - turn_begin_cpu_) * 1e3, (begin_cpu - worked_cpu) * 1e3, (cpu - begin_cpu) * 1e3,
                    (kernel.cpu_s - kernel_before_.cpu_s) * 1e3, kernel.faults - kernel_before_.faults,
                    turns_cpu.size());
    }
    turns_own.add(std::max(0.0, cpu - turn_begin_cpu_ - (kernel.cpu_s - kernel_before_.cpu_s)));
    kernel_before_ = kernel;
    turn_begin_cpu_ = cpu_s();
    turn_begin_ = end;
    synced_before_ = files_.times.sync_s;
    written_before_ = files_.times.write_s;
    other_before_ = files_.times.other_s;
    done_ = 0;
  }
  // Until all of it is durable.
  void end() {
    end_turn();
    beside_.wait();
    store_->commit();
  }
  void set_group(int group) { group_ = group; }
  void report(bool with_turns = true) {
    commits.report("commit");
    heads.report("head10");
    if (with_turns) turns.report("turn beyond the sync");
    if (with_turns) turns_running.report("and beyond waiting for a processor");
    if (with_turns) turns_cpu.report("turn, CPU alone");
    if (with_turns) turns_own.report("turn, CPU without the kernel's");
    if (with_turns) std::printf("  longest turn since the start: %s\n", longest_text_);
    if (with_turns) std::printf("  longest by the CPU: %s\n", longest_cpu_text_);
    const EmbeddedStats s = store_->stats();
    std::printf("  item=%zu B, log=%lluMB live=%lluMB appended=%lluMB moved=%lluMB expired=%llu estimate=%lluMB\n",
                item_bytes_, as_mb(s.log_bytes), as_mb(s.live_bytes), as_mb(s.appended_bytes), as_mb(s.moved_bytes),
                static_cast<unsigned long long>(s.expired), as_mb(s.memory_bytes));
    report_memory("end");
    if (auto books = store_->books("Queue").take(); !check_balance(*books)) die("the books do not balance");
  }

  Latencies commits;
  Latencies heads;
  Latencies turns;
  Latencies turns_running;
  Latencies turns_cpu;
  Latencies turns_own;

 private:
  static unsigned long long as_mb(uint64_t bytes) { return bytes >> 20; }
  void operation() {
    if (++done_ >= group_) end_turn();
  }
  void wait_for_last() {
    const double begin = now_s();
    const double queued = kernel_work().queued_s;
    beside_.wait();
    waited_s_ += now_s() - begin;
    kernel_before_.queued_s += kernel_work().queued_s - queued;  // Counts as the wait for the sync.
  }

  const std::string directory_;
  int group_;
  EmbeddedOptions options_;
  TimedFiles files_;
  BenchSync beside_;
  std::unique_ptr<BackgroundWork> chores_thread_ = make_work_thread([] {});
  SimClock clock_{std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now())};
  BenchLoop loop_{clock_};
  Random random_;
  std::unique_ptr<EmbeddedTables> store_;
  const std::string payload_ = R"({"fn":"resizeImage","tenant":"acme-042","src":"s3://bucket/key/0011223344556677"})";
  std::vector<std::string> ids_;
  size_t item_bytes_ = 0;
  int done_ = 0;
  double turn_begin_ = 0;
  double turn_begin_cpu_ = 0;
  double synced_before_ = 0;
  double written_before_ = 0;
  double other_before_ = 0;
  double waited_s_ = 0;
  double longest_ = 0;
  char longest_text_[240] = "";
  KernelWork kernel_before_;
  double longest_cpu_ = 0;
  char longest_cpu_text_[160] = "";
};

constexpr int64_t kFar = 10LL * 365 * 86400;

double cap_s() {
  const char* cap = std::getenv("CAP");
  return cap ? std::atof(cap) : 75;
}

void steady(const std::string& dir, bool sync, int group, long n) {
  Bench bench(dir, sync, 1000);
  bench.fresh();
  for (int i = 0; i < 1000; ++i) bench.create(kFar);
  bench.end_turn();
  bench.set_group(group);
  bench.turns.clear();
  bench.turns_running.clear();
  bench.turns_cpu.clear();
  bench.turns_own.clear();
  bench.commits.clear();
  std::deque<std::string> taken;
  const double begin = now_s();
  for (long i = 0; i < n; ++i) {
    bench.create(50);
    taken.push_back(bench.head().at(0));
    bench.move(taken.back(), "PENDING", "TAKEN");
    if (taken.size() >= 8) {
      bench.move(taken.front(), "TAKEN", "SUCCESS");
      taken.pop_front();
    }
    if (now_s() - begin > cap_s()) n = i + 1;
  }
  bench.end();
  const double took = now_s() - begin;
  std::printf("steady sync=%d G=%d: %.0f tasks/s (%ld tasks, %.2fs)\n", sync, group, n / took, n, took);
  bench.report();
}

void preload(const std::string& dir, long n) {
  Bench bench(dir, false, 1024);
  bench.fresh();
  const double begin = now_s();
  for (long i = 0; i < n; ++i) bench.create(kFar);
  bench.end();
  const double took = now_s() - begin;
  std::printf("preload %ld: %.2fs = %.0f creates/s\n", n, took, n / took);
  bench.head();
  bench.heads.clear();
  bench.report();
  bench.close();
}

void open(const std::string& dir) {
  Bench bench(dir, true, 1);
  const double begin = now_s();
  bench.open();
  const double opened = now_s();
  const size_t found = bench.head().size();
  std::printf("open: open=%.1fms firsthead=%.2fms n=%zu\n", (opened - begin) * 1e3, (now_s() - opened) * 1e3, found);
  report_memory("after-open");
  std::fflush(stdout);
  std::_Exit(0);
}

void deep(const std::string& dir, bool sync, int group, long n) {
  Bench bench(dir, sync, group);
  bench.skip(std::chrono::hours(2));  // Newer than what preload made.
  bench.open();
  const double begin = now_s();
  long i = 0;
  for (; i < n && now_s() - begin < cap_s(); ++i) {
    bench.create(kFar);
    const std::string id = bench.head().at(0);
    bench.move(id, "PENDING", "TAKEN");
    bench.move(id, "TAKEN", "SUCCESS");
  }
  bench.end();
  const double took = now_s() - begin;
  std::printf("deep sync=%d G=%d: %ld tasks %.2fs = %.0f tasks/s\n", sync, group, i, took, i / took);
  bench.report();
}

void drain(const std::string& dir, bool sync, int group, long n) {
  Bench bench(dir, sync, group);
  bench.open();
  const double begin = now_s();
  double tenth_begin = begin;
  double tenth_begin_cpu = cpu_s();
  long done = 0;
  for (long next = n / 10; done < n && now_s() - begin < cap_s();) {
    const auto ids = bench.head();
    if (ids.empty()) break;
    for (const auto& id : ids) bench.move(id, "PENDING", "TAKEN");
    for (const auto& id : ids) bench.move(id, "TAKEN", "SUCCESS");
    done += static_cast<long>(ids.size());
    if (done < next) continue;
    const double tenth = static_cast<double>(n) / 10;
    std::printf("  @%ld (%.0f tasks/s, %.0f per CPU second)", done, tenth / (now_s() - tenth_begin),
                tenth / (cpu_s() - tenth_begin_cpu));
    bench.heads.report("head10");
    bench.heads.clear();
    next += n / 10;
    tenth_begin = now_s();
    tenth_begin_cpu = cpu_s();
  }
  bench.end();
  const double took = now_s() - begin;
  std::printf("drain sync=%d G=%d: %ld tasks %.2fs = %.0f tasks/s\n", sync, group, done, took, done / took);
  bench.report();
}

// Any, so that a turn of one run can be compared with the same one of another: what is slow in itself is so in both.
constexpr uint64_t kSameWork = 5;

// From empty to n pending tasks at full load: of two tasks that are made one is done, and expires a little later; so
// the log is compacted all the while.
void grow(const std::string& dir, bool sync, int group, long n, const char* turns_file) {
  Bench bench(dir, sync, group, kSameWork);
  bench.fresh();
  bench.turns.clear();
  bench.turns_running.clear();
  bench.turns_cpu.clear();
  bench.turns_own.clear();
  const double begin = now_s();
  for (long i = 0; i < n; ++i) {
    bench.create(kFar);
    bench.create(50);
    const std::string id = bench.head().at(0);
    bench.move(id, "PENDING", "TAKEN");
    bench.move(id, "TAKEN", "SUCCESS");
  }
  bench.end();
  const double took = now_s() - begin;
  std::printf("grow sync=%d G=%d: %ld tasks %.2fs = %.0f tasks/s\n", sync, group, 2 * n, took, 2 * n / took);
  if (turns_file && !bench.turns_running.write(turns_file)) die("cannot write " + std::string(turns_file));
  bench.report();
}

void pauses(double seconds) {
  double longest = 0;
  double longest_cpu = 0;  // Time that a hypervisor takes away counts as this thread's.
  const double begin = now_s();
  double last_cpu = cpu_s();
  for (double last = begin; last - begin < seconds;) {
    const double now = now_s();
    const double cpu = cpu_s();
    longest = std::max(longest, now - last);
    longest_cpu = std::max(longest_cpu, cpu - last_cpu);
    last = now;
    last_cpu = cpu;
  }
  std::printf("pauses: longest=%.0f us, longest by the CPU=%.0f us in %.0f s\n", longest * 1e6, longest_cpu * 1e6,
              seconds);
}

}  // namespace
}  // namespace freshet

int main(int argc, char** argv) {
  using namespace freshet;
  if (argc == 3 && std::string(argv[1]) == "pauses") {
    pauses(std::atof(argv[2]));
    return 0;
  }
  if (argc < 6) die("usage: store_bench steady|deep|drain|grow|preload|open DIR SYNC GROUP N [TURNS]");
  const std::string what = argv[1];
  const std::string dir = argv[2];
  const bool sync = std::atoi(argv[3]) != 0;
  const int group = std::max(1, std::atoi(argv[4]));
  const long n = std::atol(argv[5]);
  if (what == "steady")
    steady(dir, sync, group, n);
  else if (what == "preload")
    preload(dir, n);
  else if (what == "open")
    open(dir);
  else if (what == "deep")
    deep(dir, sync, group, n);
  else if (what == "grow")
    grow(dir, sync, group, n, argc > 6 ? argv[6] : nullptr);
  else if (what == "drain")
    drain(dir, sync, group, n);
  else
    die("no such case: " + what);
  return 0;
}
