#include "runtime/replay/replay.h"

#include <algorithm>

#include "runtime/deploy/apply.h"
#include "runtime/replay/replay_world.h"

namespace freshet {
namespace {

constexpr seconds kMaxWait{600};

// The parts of one replay, in the order in which they are built; they are destroyed in reverse order.
class Replay {
 public:
  Replay(const Fixture& fixture, const Deployment& deployment, ReplayProgram& program, const ReplayOptions& options)
      : fixture_(fixture),
        deployment_(deployment),
        program_(program),
        options_(options),
        clock_(fixture.header.start),
        loop_(clock_),
        random_(options.seed),
        journal_(clock_),
        http_(loop_.loop(), journal_, options_),
        spawner_(loop_.loop(), journal_, options_) {
    loop_.give_up_after(options.most_turns);
  }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  ~Replay() {
    runtime_.reset();
    if (services_) program_.end();
    if (watch_) loop_.loop().remove(*watch_);
    if (tables_) loop_.loop().remove(*tables_);
  }

  Result<std::string> run();

 private:
  template <class T>
  Result<T> wait(Async<Result<T>> work) {
    if (!loop_.run_until([&] { return work.is_ready(); }, kMaxWait)) {
      return fail(ErrorCode::kTimeout, "a step of the replay does not end");
    }
    return work.take();
  }

  Result<const TableDefinition*> check() const;
  Result<void> open();
  Result<void> load_snapshot(TableDefinition table);
  Result<void> start(const TableDefinition& table);
  Result<void> apply(const ChangeRecord& record, size_t number, const TableDefinition& table);
  // Why the record is left out; empty if it is not.
  std::string_view reason_to_skip(const ChangeRecord& record, const TableDefinition& table) const;
  Result<void> write_ends();
  // Checks that no work is left.
  Result<void> check_rest() const;

  const Fixture& fixture_;
  const Deployment& deployment_;
  ReplayProgram& program_;
  const ReplayOptions& options_;
  SimClock clock_;
  SimLoop loop_;
  Random random_;
  Journal journal_;
  ReplayHttp http_;
  ReplaySpawner spawner_;
  NativeRegistry installed_;
  NativeRegistry natives_;
  std::unique_ptr<EmbeddedTables> tables_;
  std::unique_ptr<ExpiryWatch> watch_;
  std::unique_ptr<RecordedTables> recorded_tables_;
  std::unique_ptr<RecordedPublisher> recorded_publisher_;
  std::unique_ptr<Services> services_;
  std::unique_ptr<InvocationRecorder> invocations_;
  std::unique_ptr<Runtime> runtime_;
};

std::string show_keys(const KeySchema& keys) {
  auto one = [](const KeyAttribute& key) { return key.name + " (" + std::string(type_name(key.type)) + ")"; };
  return one(keys.partition) + (keys.sort ? ", " + one(*keys.sort) : "");
}

Result<const TableDefinition*> Replay::check() const {
  const FixtureHeader& header = fixture_.header;
  auto table = std::find_if(deployment_.tables.begin(), deployment_.tables.end(),
                            [&](const TableDefinition& one) { return one.name == header.table; });
  if (table == deployment_.tables.end()) {
    return invalid("the fixture is of table " + header.table + ", which the template does not have");
  }
  if (!(table->keys == header.keys)) {
    return invalid("table " + header.table + " has the key " + show_keys(header.keys) + " in the fixture and " +
                   show_keys(table->keys) + " in the template");
  }
  if (!table->stream) return invalid("table " + header.table + " has no stream in the template");
  for (const FunctionDefinition& function : deployment_.functions) {
    if (function.host != "process") continue;
    return invalid(
        "function " + function.name +
        " runs as a program, and a replay in simulated time runs none: give it a native handler, or play the "
        "fixture into a daemon");
  }
  for (size_t i = 0; i < fixture_.records.size(); ++i) {
    const WallTime at = fixture_.records[i].at;
    if (at - header.start <= options_.max_span) continue;
    return invalid(fixture_.place_of_record(i) + ": the change is from " + iso8601(at) + ", more than " +
                   std::to_string(options_.max_span.count()) + " days after the start of the fixture");
  }
  if (auto fits = program_.check(fixture_, deployment_); !fits) return fail(fits.error());
  return &*table;
}

Result<void> Replay::open() {
  EmbeddedOptions options;
  options.directory = std::string(kMemoryDirectory);
  options.ttl_sweep = options_.ttl_sweep;
  auto opened = open_embedded(nullptr, loop_.loop(), random_, std::move(options));
  if (!opened) return fail(std::move(opened.error()));
  tables_ = std::move(*opened);
  loop_.loop().add(*tables_);
  watch_ = std::make_unique<ExpiryWatch>(*tables_, journal_);
  loop_.loop().add(*watch_);
  return {};
}

// Call it before the table has a stream, so that no mapping sees the snapshot, wherever it starts.
Result<void> Replay::load_snapshot(TableDefinition table) {
  const std::string name = table.name;
  table.stream.reset();
  table.ttl_attribute.reset();
  auto created = wait(tables_->create_table(std::move(table)));
  if (!created) return fail(std::move(created.error()));
  for (size_t i = 0; i < fixture_.snapshot.size(); ++i) {
    PutItemInput put;
    put.table = name;
    put.item = fixture_.snapshot[i];
    auto done = wait(tables_->put_item(std::move(put)));
    if (!done) return fail(done.error().code, fixture_.place_of_item(i) + ": " + done.error().message);
  }
  return {};
}

Result<void> Replay::start(const TableDefinition& table) {
  EventLog log(clock_, journal_, options_.log_level);
  RuntimeOptions runtime_options;
  runtime_options.account = options_.account;
  runtime_ = std::make_unique<Runtime>(RuntimePorts{*tables_, loop_.loop(), random_, http_, spawner_, natives_},
                                       std::move(runtime_options));
  recorded_tables_ = std::make_unique<RecordedTables>(*tables_, journal_);
  recorded_publisher_ = std::make_unique<RecordedPublisher>(runtime_->publisher(), journal_);
  services_ = std::unique_ptr<Services>(
      new Services{*recorded_tables_, *recorded_publisher_, loop_.loop(), random_, http_, spawner_});
  program_.install(*services_, installed_, log);
  invocations_ = std::make_unique<InvocationRecorder>(*services_, journal_, options_.whole_events);
  invocations_->add(natives_, installed_);
  if (auto started = wait(runtime_->start()); !started) return started;
  auto plan = wait(apply_deployment(deployment_, *tables_, *runtime_));
  if (!plan) return fail(std::move(plan.error()));
  if (auto kept = tables_->keep_images(table.name, true); !kept) return kept;
  watch_->watch(table.name, table.books ? table.books->status_attribute : "");
  return wait(program_.begin(deployment_));
}

std::string_view Replay::reason_to_skip(const ChangeRecord& record, const TableDefinition& table) const {
  if (!options_.inputs_only || !table.books) return {};
  if (record.by_ttl) return "removed by TTL";
  if (record.kind != ChangeRecord::Kind::kModify || !record.before) return {};
  auto before = record.before.find(table.books->status_attribute);
  auto after = record.after.find(table.books->status_attribute);
  bool moved = before && after && before->encoded() != after->encoded();
  return moved ? "moved between states" : std::string_view();
}

Result<void> Replay::apply(const ChangeRecord& record, size_t number, const TableDefinition& table) {
  if (record.at > clock_.wall()) loop_.run_for(record.at - clock_.wall());
  if (auto rests = check_rest(); !rests) return rests;
  std::string_view reason = reason_to_skip(record, table);
  {
    static constexpr std::string_view kNames[] = {"insert", "modify", "remove"};
    Journal::Line line = journal_.line(reason.empty() ? "apply" : "skip", kNames[static_cast<size_t>(record.kind)]);
    line.number("record", static_cast<int64_t>(number)).item("keys", record.keys);
    if (!reason.empty()) line.text("why", reason);
  }
  if (!reason.empty()) return {};
  Result<WriteOutput> done;
  if (record.kind == ChangeRecord::Kind::kRemove) {
    DeleteItemInput input;
    input.table = table.name;
    input.key = record.keys;
    input.cause = record.by_ttl ? Cause::kTimeToLive : Cause::kClient;
    done = wait(tables_->delete_item(std::move(input)));
  } else {
    PutItemInput input;
    input.table = table.name;
    input.item = record.after.decode();
    done = wait(tables_->put_item(std::move(input)));
  }
  if (!done) return fail(done.error().code, fixture_.place_of_record(number - 1) + ": " + done.error().message);
  loop_.run_ready();
  return check_rest();
}

Result<void> Replay::check_rest() const {
  if (!loop_.is_restless()) return {};
  return fail(ErrorCode::kLimitExceeded,
              "at " + iso8601(clock_.wall()) +
                  " the functions wake each other without end, and no time passes: look "
                  "for one that writes to the table, or publishes to the topic, by which it is invoked");
}

// Writes the final books of every queue.
Result<void> Replay::write_ends() {
  for (const std::string& queue : deployment_.queues) {
    auto books = wait(tables_->books(queue));
    if (!books) return fail(std::move(books.error()));
    if (auto balanced = check_balance(*books); !balanced) return balanced;
    {
      Journal::Line line = journal_.line("stock", queue);
      for (const auto& [status, count] : books->stock) line.number(status, static_cast<int64_t>(count));
    }
    std::map<std::string, uint64_t> flow;
    for (const auto& [arrow, count] : books->flow) flow[arrow.from + "->" + arrow.to] += count;
    Journal::Line line = journal_.line("flow", queue);
    for (const auto& [arrow, count] : flow) line.number(arrow, static_cast<int64_t>(count));
  }
  return {};
}

Result<std::string> Replay::run() {
  auto table = check();
  if (!table) return fail(std::move(table.error()));
  if (auto ok = open(); !ok) return fail(std::move(ok.error()));
  if (auto ok = load_snapshot(**table); !ok) return fail(std::move(ok.error()));
  if (auto ok = start(**table); !ok) return fail(std::move(ok.error()));
  loop_.run_ready();
  if (auto rests = check_rest(); !rests) return fail(std::move(rests.error()));
  size_t number = 0;
  for (const ChangeRecord& record : fixture_.records) {
    if (auto ok = apply(record, ++number, **table); !ok) return fail(std::move(ok.error()));
    if (options_.on_record) options_.on_record(number);
  }
  loop_.run_for(options_.run_on);
  if (auto rests = check_rest(); !rests) return fail(std::move(rests.error()));
  if (auto ok = write_ends(); !ok) return fail(std::move(ok.error()));
  return journal_.text();
}

std::optional<std::string_view> take_line(std::string_view& text) {
  if (text.empty()) return std::nullopt;
  size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

Result<std::string> replay(const Fixture& fixture, const Deployment& deployment, ReplayProgram& program,
                           const ReplayOptions& options) {
  return Replay(fixture, deployment, program, options).run();
}

std::string ReplayDifference::to_string() const {
  return "line " + std::to_string(line) + " differs\n  expected: " + expected.value_or("(nothing more)") +
         "\n  actual:   " + actual.value_or("(nothing more)");
}

std::optional<ReplayDifference> first_difference(std::string_view expected, std::string_view actual) {
  for (int line = 1;; ++line) {
    auto wanted = take_line(expected);
    auto got = take_line(actual);
    if (!wanted && !got) return std::nullopt;
    if (wanted == got) continue;
    ReplayDifference out{line, std::nullopt, std::nullopt};
    if (wanted) out.expected = std::string(*wanted);
    if (got) out.actual = std::string(*got);
    return out;
  }
}

}  // namespace freshet
