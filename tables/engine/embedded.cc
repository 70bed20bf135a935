#include "tables/engine/embedded.h"

#include <algorithm>
#include <cstdio>
#include <tuple>

#include "base/check.h"
#include "tables/engine/backup_store.h"
#include "tables/engine/clock_mark.h"
#include "tables/engine/committer.h"
#include "tables/engine/compactor.h"
#include "tables/engine/embedded_traits.h"
#include "tables/engine/plan.h"
#include "tables/engine/prefetch.h"
#include "tables/engine/read.h"
#include "tables/engine/recovery.h"
#include "tables/engine/transactions.h"
#include "tables/engine/ttl_sweeper.h"
#include "tables/log/segment.h"

namespace freshet {
namespace {

std::string stream_label(WallTime at) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()));
  return text;
}

std::optional<WallTime> time_of_label(const std::string& label) {
  int year = 0;
  unsigned month = 0, day = 0, hour = 0, minute = 0, second = 0, millis = 0;
  const int read =
      std::sscanf(label.c_str(), "%4d-%2u-%2uT%2u:%2u:%2u.%3u", &year, &month, &day, &hour, &minute, &second, &millis);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (read != 7 || !date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) + seconds(second) +
         milliseconds(millis);
}

constexpr size_t kBulk = 16;                       // From this number on, the writes of one request count as bulk.
constexpr uint64_t kTableMemory = 4096;            // Approximate, for a table without items.
constexpr uint64_t kSkippedBeforeAnswer = 10'000;  // Records.
constexpr uint64_t kTurnEffort = 8u << 20;         // For one request, before other work gets its turn.

tl::unexpected<Error> no_such_table(const std::string& name) {
  return fail(ErrorCode::kResourceNotFound, "Requested resource not found: Table: " + name + " not found");
}

tl::unexpected<Error> table_in_use(const char* being, const std::string& name) {
  return fail(ErrorCode::kResourceInUse, std::string("Attempt to change a resource which is still in use: Table is ") +
                                             "being " + being + ": " + name);
}

template <class Input>
bool is_unhurried(const Input& input) {
  if constexpr (requires { input.unhurried; }) return input.unhurried;
  return false;
}
bool is_unhurried(const WriteInput& input) {
  return std::visit([](const auto& one) { return is_unhurried(one); }, input);
}

EmbeddedOptions checked(EmbeddedOptions options) {
  // A bound on the data leaves room for the open segment, the reserve and compaction.
  constexpr uint64_t kSmallestSegment = 4096;
  if (options.max_data_bytes != 0) {
    const uint64_t share = std::max(options.max_data_bytes / 16, kSmallestSegment);
    options.segment_bytes = std::min(options.segment_bytes, share);
    options.stream_max_bytes = std::min(options.stream_max_bytes, options.max_data_bytes / 4);
  }
  // Change records of items that are gone leave room for new ones.
  if (options.max_memory_bytes != 0) {
    options.stream_memory_bytes = std::min<size_t>(options.stream_memory_bytes, options.max_memory_bytes / 4);
  }
  options.max_batch_bytes = std::min<size_t>(options.max_batch_bytes, options.segment_bytes / 4);
  return options;
}

class Engine final : public EmbeddedTables {
 public:
  Engine(Scheduler& scheduler, Random& random, EmbeddedOptions options)
      : scheduler_(scheduler),
        random_(random),
        options_(checked(std::move(options))),
        catalog_(options_.stream_memory_bytes),
        committer_(scheduler, catalog_, options_),
        wall_guard_(scheduler.clock(), {options_.wall_jump, options_.wall_jump_pause, options_.clock_sync,
                                        [this](const WallDoubt& doubt) { doubts(doubt); }}),
        transactions_(scheduler.clock(), wall_guard_, random, catalog_, committer_, cache_),
        ttl_(scheduler.clock(), wall_guard_, catalog_, committer_, options_),
        compactor_(scheduler.clock(), wall_guard_, catalog_, committer_, options_),
        backups_(scheduler.clock(), random, catalog_, committer_, options_) {}

  Result<void> open(Files* files);

  const StoreTraits& traits() const override { return kEmbeddedTraits; }
  Async<Result<TableDescription>> create_table(TableDefinition definition) override;
  Async<Result<TableDescription>> describe_table(std::string table) override;
  Async<Result<TableDescription>> delete_table(std::string table) override;
  Async<Result<TableDescription>> alter_table(TableDefinition definition) override;
  Async<Result<std::vector<std::string>>> list_tables() override;

  Async<Result<WriteOutput>> put_item(PutItemInput input) override { return write(input); }
  Async<Result<WriteOutput>> update_item(UpdateItemInput input) override { return write(input); }
  Async<Result<WriteOutput>> delete_item(DeleteItemInput input) override { return write(input); }
  Async<std::vector<Result<WriteOutput>>> write_many(std::vector<WriteInput> inputs) override;
  Async<std::vector<Result<WriteOutput>>> edit_many(std::vector<EditItemInput> inputs) override {
    Results<WriteOutput> outputs;
    outputs.reserve(inputs.size());
    begin_bulk(inputs);
    for (auto& input : inputs) outputs.push_back(write(input));
    return outputs;
  }
  Async<std::vector<Result<WriteOutput>>> edit_alike(EditItemInput edit, std::vector<ItemRef> seen) override;
  Async<Result<TransactWriteOutput>> transact_write(TransactWriteInput input) override {
    return transactions_.write(input);
  }

  Async<Result<ItemRef>> get_item(GetItemInput input) override { return read_item(catalog_, cache_, input); }
  Async<std::vector<Result<ReadOutput>>> read_many(std::vector<GetItemInput> inputs) override;
  Async<Result<std::vector<ReadOutput>>> transact_get(std::vector<GetItemInput> inputs) override {
    return transactions_.read(inputs);
  }
  Async<Result<Page>> query(QueryInput input) override { return read_query(catalog_, cache_, places_, input); }
  Async<Result<Page>> scan(ScanInput input) override { return read_scan(catalog_, cache_, places_, input); }

  Async<Result<StreamPage>> read_stream(ReadStreamInput input) override;
  Async<Result<StreamBounds>> stream_bounds(std::string table) override;
  Async<Result<std::vector<ClosedStream>>> closed_streams() override;
  Async<Result<Books>> books(std::string table) override;
  Backups* backups() override { return &backups_; }
  Async<Result<void>> durable() override { return committer_.durable(); }
  Async<void> lull(BootTime latest) override { return committer_.lull(latest); }

  void run_due() override;
  void commit() override { committer_.commit(); }
  BootTime next_due() const override;

  EmbeddedStats stats() const override;
  WallGuard& wall_guard() override { return wall_guard_; }
  Result<void> keep_images(const std::string& table, bool keep) override;
  void watch_moves(MoveWatcher* watcher) override { committer_.watch_moves(watcher); }

 private:
  template <class Output>
  using Results = std::vector<Result<Output>>;
  template <class Input>
  Result<WriteOutput> write(Input& input);
  template <class Input>
  Result<WriteOutput> write(Input& input, Effort& effort);
  template <class Input>
  void begin_bulk(const std::vector<Input>& inputs);
  void go_on(std::vector<WriteInput>& inputs, Results<WriteOutput>& outputs);
  void go_on(std::vector<GetItemInput>& inputs, Results<ReadOutput>& outputs);
  template <class Input, class Output>
  Async<Results<Output>> finish(std::vector<Input> inputs, Results<Output> outputs);
  Result<void> begin_clock(Files& files, WallTime last_commit);
  void doubts(const WallDoubt& doubt);
  Result<Table*> streaming(const std::string& name) const;
  std::string new_label(const std::string& table);
  void close_stream(Table& table);
  bool is_kept(const ClosedEntry& entry);
  Result<StreamPage> read_ready(const ReadStreamInput& input);
  Result<StreamPage> read_open(const ReadStreamInput& input);
  Async<Result<StreamPage>> wait_stream(ReadStreamInput input);

  Scheduler& scheduler_;
  Random& random_;
  const EmbeddedOptions options_;
  ExpressionCache cache_;
  PagePlaces places_;
  Catalog catalog_;
  Committer committer_;
  ClockMark clock_mark_;
  WallGuard wall_guard_;
  Transactions transactions_;
  TtlSweeper ttl_;
  Compactor compactor_;
  BackupStore backups_;
  bool catching_up_ = false;
  const BootTime opened_ = scheduler_.clock().boot();
};

// The id of the log's last segment; 0 if there is none yet.
uint32_t last_segment(Files& files, const std::string& directory) {
  uint32_t last = 0;
  const auto names = files.list(directory);
  if (!names) return last;
  for (const std::string& name : *names) last = std::max(last, log_detail::parse_segment_name(name).value_or(0));
  return last;
}

Result<void> Engine::open(Files* files) {
  catalog_.counters.hash_seed = random_.next();
  if (options_.directory == kMemoryDirectory) return backups_.open(nullptr);
  FRESHET_CHECK(files != nullptr, "a store on disk needs files");
  LogOptions log_options;
  log_options.directory = options_.directory;
  log_options.segment_bytes = options_.segment_bytes;
  log_options.durability = options_.durability;
  log_options.max_bytes = options_.max_data_bytes;
  log_options.new_log_id = random_.next();
  log_options.beside = options_.sync_beside;
  log_options.beside_bytes = options_.sync_beside_bytes;
  log_options.chores = options_.log_chores;
  log_options.on_cut = options_.on_log_cut;
  log_options.accept_loss = options_.accept_loss;
  Recovery recovery(catalog_);
  const uint32_t last = last_segment(*files, options_.directory);
  uint32_t first = 0;
  auto log = open_log(*files, log_options, [&](const LogBatch& batch) {
    if (first == 0) first = batch.at.segment;
    if (options_.on_reading) options_.on_reading(batch.at.segment - first + 1, std::max(last, first) - first + 1);
    return recovery.visit(batch);
  });
  if (!log) return fail(log.error());
  if (auto ok = recovery.finish(**log); !ok) return ok;
  if (auto set = committer_.set_log(std::move(*log)); !set) return set;
  if (auto begun = begin_clock(*files, recovery.last_commit()); !begun) return begun;
  return backups_.open(files);
}

// Times that the last run wrote while it did not trust the clock prove nothing; its mark has the trusted time.
Result<void> Engine::begin_clock(Files& files, WallTime last_commit) {
  if (auto opened = clock_mark_.open(files, options_.directory); !opened) return opened;
  const WallTime last = std::min(last_commit, clock_mark_.believed().value_or(last_commit));
  const auto behind = std::chrono::floor<milliseconds>(last - scheduler_.clock().wall());
  if (behind > options_.wall_jump && options_.on_clock_behind) options_.on_clock_behind(behind);
  if (!options_.trust_clock && last != WallTime{}) wall_guard_.start_after(last);
  if (committer_.failed()) return fail(*committer_.failure());
  return wall_guard_.doubts() ? Result<void>{} : clock_mark_.clear();
}

void Engine::doubts(const WallDoubt& doubt) {
  const auto marked = doubt.over ? clock_mark_.clear() : clock_mark_.set(scheduler_.clock().wall() - doubt.ahead);
  if (!marked) committer_.report(marked.error());
  if (options_.on_clock) options_.on_clock(doubt);
}

Async<Result<TableDescription>> Engine::create_table(TableDefinition definition) {
  using Out = Result<TableDescription>;
  if (committer_.failed()) return Out(fail(ErrorCode::kInternal, "The store has failed"));
  if (auto ok = validate(definition); !ok) return Out(fail(ok.error()));
  if (catalog_.tables().contains(definition.name)) {
    return Out(fail(ErrorCode::kResourceInUse, "Table already exists: " + definition.name));
  }
  if (auto ok = committer_.admit_record(committer_.room().reserve_bytes()); !ok) return Out(fail(ok.error()));
  if (!definition.system) {
    if (auto ok = committer_.admit_bulk(0, kTableMemory); !ok) return Out(fail(ok.error()));
  }
  TableDescription description;
  description.id = random_.uuid();
  description.created = scheduler_.clock().wall();
  if (definition.stream) description.stream_label = new_label(definition.name);
  description.definition = std::move(definition);
  Table& table = catalog_.add(catalog_.counters.next_table++, std::move(description));
  committer_.log_table(table);
  return Out(table.describe());
}

Async<Result<TableDescription>> Engine::describe_table(std::string name) {
  using Out = Result<TableDescription>;
  const Table* table = catalog_.find_any(name);
  if (!table) return Out(no_such_table(name));
  return Out(table->describe());
}

Async<Result<TableDescription>> Engine::delete_table(std::string name) {
  using Out = Result<TableDescription>;
  if (committer_.failed()) return Out(fail(ErrorCode::kInternal, "The store has failed"));
  Table* table = catalog_.find_any(name);
  if (!table) return Out(no_such_table(name));
  if (table->is_restoring()) return Out(table_in_use("created", name));
  if (backups_.is_backing_up(*table)) return Out(table_in_use("backed up", name));
  if (table->definition().settings.deletion_protection) {
    return Out(
        invalid("Resource cannot be deleted as it is currently protected against deletion. Disable deletion "
                "protection first."));
  }
  TableDescription description = table->describe();
  if (table->definition().stream) close_stream(*table);
  committer_.log_drop(*table);
  catalog_.remove(*table);
  return Out(std::move(description));
}

Async<Result<TableDescription>> Engine::alter_table(TableDefinition definition) {
  using Out = Result<TableDescription>;
  if (committer_.failed()) return Out(fail(ErrorCode::kInternal, "The store has failed"));
  if (auto ok = validate(definition); !ok) return Out(fail(ok.error()));
  Table* table = catalog_.find_any(definition.name);
  if (!table) return Out(no_such_table(definition.name));
  if (table->is_restoring()) return Out(table_in_use("created", definition.name));
  if (!(table->definition().keys == definition.keys)) {
    return Out(invalid("The key schema of table " + definition.name + " cannot be changed"));
  }
  if (definition == table->definition()) return Out(table->describe());
  // A full store must still accept a deployment; but completions and compaction need most of the remaining space.
  const uint64_t keep = (committer_.room().floor_bytes() + committer_.room().reserve_bytes()) / 2;
  if (auto ok = committer_.admit_record(keep); !ok) return Out(fail(ok.error()));
  if (auto ok = committer_.room().admit_upkeep(table->memory_to_become(definition)); !ok) return Out(fail(ok.error()));
  if (table->definition().stream && definition.stream != table->definition().stream) close_stream(*table);
  const std::string label = definition.stream ? new_label(definition.name) : std::string();
  const bool was_provisioned = table->definition().settings.throughput.has_value();
  if (was_provisioned && !definition.settings.throughput) table->set_by_request_since(scheduler_.clock().wall());
  table->alter(std::move(definition), label);
  catalog_.count(*table);
  catching_up_ = table->is_behind() || catching_up_;
  committer_.log_table(*table);
  return Out(table->describe());
}

Async<Result<std::vector<std::string>>> Engine::list_tables() {
  std::vector<std::string> names;
  for (const auto& [name, table] : catalog_.tables()) names.push_back(name);
  return Result<std::vector<std::string>>(std::move(names));
}

template <class Input>
Result<WriteOutput> Engine::write(Input& input) {
  Effort effort(kMostItemEffort);
  return write(input, effort);
}

template <class Input>
Result<WriteOutput> Engine::write(Input& input, Effort& effort) {
  auto planned = plan(catalog_, cache_, effort, input);
  if (!planned) return fail(planned.error());
  if (planned->change) {
    Mutation mutation;
    mutation.push_back(std::move(*planned->change));
    if (auto ok = committer_.admit(mutation); !ok) return fail(ok.error());
    committer_.apply(std::move(mutation), is_unhurried(input));
  }
  return std::move(planned->output);
}

template <class Input>
void Engine::begin_bulk(const std::vector<Input>& inputs) {
  if (inputs.size() >= kBulk && !is_unhurried(inputs[0])) committer_.expect_bulk();
  if (inputs.size() > 1) prefetch(catalog_, inputs);
}

Async<std::vector<Result<WriteOutput>>> Engine::write_many(std::vector<WriteInput> inputs) {
  Results<WriteOutput> outputs;
  outputs.reserve(inputs.size());
  begin_bulk(inputs);
  go_on(inputs, outputs);
  if (outputs.size() == inputs.size()) return outputs;
  return finish(std::move(inputs), std::move(outputs));
}

Async<std::vector<Result<ReadOutput>>> Engine::read_many(std::vector<GetItemInput> inputs) {
  Results<ReadOutput> outputs;
  outputs.reserve(inputs.size());
  go_on(inputs, outputs);
  if (outputs.size() == inputs.size()) return outputs;
  return finish(std::move(inputs), std::move(outputs));
}

// Work that is long in total lets other work in between: no part of it depends on the rest.
template <class Input, class Output>
Async<std::vector<Result<Output>>> Engine::finish(std::vector<Input> inputs, Results<Output> outputs) {
  while (outputs.size() < inputs.size()) {
    co_await sleep_for(scheduler_, nanoseconds(0));
    go_on(inputs, outputs);
  }
  co_return outputs;
}

// Handles inputs without an output, until the effort of one turn is used up.
void Engine::go_on(std::vector<WriteInput>& inputs, Results<WriteOutput>& outputs) {
  uint64_t spent = 0;
  while (outputs.size() < inputs.size() && spent < kTurnEffort) {
    Effort effort(kMostItemEffort);
    outputs.push_back(std::visit([&](auto& one) { return write(one, effort); }, inputs[outputs.size()]));
    spent += kMostItemEffort - effort.left() + effort.noted();
  }
}

// All keys of a table in a batch have the same projection, which is bound once.
void Engine::go_on(std::vector<GetItemInput>& inputs, Results<ReadOutput>& outputs) {
  const auto alike = [](const GetItemInput& a, const GetItemInput& b) {
    return a.projection == b.projection && a.placeholders.names == b.placeholders.names &&
           a.placeholders.values == b.placeholders.values;
  };
  Result<BoundProjection> projection;
  const GetItemInput* bound = nullptr;
  uint64_t spent = 0;
  while (outputs.size() < inputs.size() && spent < kTurnEffort) {
    const GetItemInput& input = inputs[outputs.size()];
    if (!bound || !alike(*bound, input)) {
      projection = bind_projection(cache_, input);
      bound = &input;
    }
    if (!projection) {
      outputs.push_back(fail(projection.error()));
      continue;
    }
    outputs.push_back(read_measured(catalog_, input, *projection));
    if (*projection && outputs.back()) spent += outputs.back()->bytes;
  }
}

Async<std::vector<Result<WriteOutput>>> Engine::edit_alike(EditItemInput edit, std::vector<ItemRef> seen) {
  std::vector<Result<WriteOutput>> outputs;
  outputs.reserve(seen.size());
  if (seen.size() >= kBulk && !edit.unhurried) committer_.expect_bulk();
  if (seen.size() > 1) prefetch(catalog_, edit.table, seen);
  for (auto& item : seen) {
    edit.seen = std::move(item);
    outputs.push_back(write(edit));
  }
  return outputs;
}

Result<Table*> Engine::streaming(const std::string& name) const {
  auto table = catalog_.find(name);
  if (!table) return table;
  if (!(*table)->definition().stream) {
    return fail(ErrorCode::kResourceNotFound, "Requested resource not found: table " + name + " has no stream");
  }
  return table;
}

// The time. If the clock was set back or stands still, a little later than the table's last label instead: readers go
// from one stream to the next by label.
std::string Engine::new_label(const std::string& table) {
  std::string last;
  if (const Table* known = catalog_.find_any(table)) last = known->stream_label();
  for (const auto& entry : catalog_.closed()) {
    if (entry.description.table == table) last = std::max(last, entry.description.label);
  }
  const std::string now = stream_label(scheduler_.clock().wall());
  const auto before = time_of_label(last);
  return now > last || !before ? now : stream_label(*before + milliseconds(1));
}

void Engine::close_stream(Table& table) {
  ClosedEntry& closed = catalog_.close_stream(table, scheduler_.clock().wall());
  closed.closed_at = scheduler_.clock().boot();
  committer_.log_closed(closed);
}

// True if the stream can still be read. The wall clock counts only for streams that earlier runs closed.
bool Engine::is_kept(const ClosedEntry& entry) {
  const nanoseconds passed = scheduler_.clock().boot() - entry.closed_at.value_or(opened_);
  if (passed > options_.stream_retention) return false;
  return entry.closed_at || entry.description.closed >= wall_guard_.earliest() - options_.stream_retention;
}

Async<Result<std::vector<ClosedStream>>> Engine::closed_streams() {
  std::vector<ClosedStream> all;
  for (const auto& entry : catalog_.closed()) {
    if (!is_kept(entry)) continue;
    all.push_back(entry.description);
    all.back().bounds = entry.bounds();
  }
  std::sort(all.begin(), all.end(), [](const ClosedStream& a, const ClosedStream& b) {
    return std::tie(a.table, a.label) < std::tie(b.table, b.label);
  });
  return Result<std::vector<ClosedStream>>(std::move(all));
}

// A failed store answers no stream reads: a reader that got an empty page would ask again at once.
Result<StreamPage> Engine::read_ready(const ReadStreamInput& input) {
  if (const auto& failure = committer_.failure()) return fail(*failure);
  auto page = read_open(input);
  if (page) return page;
  committer_.report_read(page.error());
  return committer_.failure() ? fail(*committer_.failure()) : page;
}

Result<StreamPage> Engine::read_open(const ReadStreamInput& input) {
  ClosedEntry* closed = input.label.empty() ? nullptr : catalog_.find_closed(input.table, input.label);
  if (closed && is_kept(*closed)) return closed->stream->read(input, committer_.log());
  auto table = streaming(input.table);
  if (!table) return fail(table.error());
  if (!input.label.empty() && input.label != (*table)->stream_label()) {
    return fail(ErrorCode::kResourceNotFound,
                "Requested resource not found: table " + input.table + " has no stream " + input.label);
  }
  return (*table)->stream().read(input, committer_.log());
}

Async<Result<StreamPage>> Engine::read_stream(ReadStreamInput input) {
  auto page = read_ready(input);
  if (!page || !page->records.empty() || scheduler_.clock().boot() >= input.wait_until) return page;
  return wait_stream(std::move(input));
}

Async<Result<StreamPage>> Engine::wait_stream(ReadStreamInput input) {
  struct Timer {
    Scheduler& scheduler;
    TimerId id;
    ~Timer() { scheduler.cancel(id); }
  };
  const uint64_t first = input.from;
  for (;;) {
    auto page = read_ready(input);
    if (!page || !page->records.empty() || scheduler_.clock().boot() >= input.wait_until) co_return page;
    // A closed stream gets nothing more.
    if (!input.label.empty() && catalog_.find_closed(input.table, input.label)) co_return page;
    // The reader needs to know its progress now and then.
    if (page->next >= first + kSkippedBeforeAnswer) co_return page;
    ChangeStream& stream = catalog_.find(input.table).value()->stream();
    // There is more to read, and nothing else would wake the reader for it.
    if (page->next < stream.bounds().next) co_return page;
    input.from = page->next;
    Promise<bool> woken(scheduler_);
    stream.wait(woken);
    Timer end{scheduler_, scheduler_.call_at(input.wait_until, [woken] { woken.set(true); })};
    co_await woken.future();
  }
}

Async<Result<StreamBounds>> Engine::stream_bounds(std::string name) {
  using Out = Result<StreamBounds>;
  auto table = streaming(name);
  if (!table) return Out(fail(table.error()));
  return Out((*table)->stream().bounds());
}

Async<Result<Books>> Engine::books(std::string name) {
  using Out = Result<Books>;
  auto table = catalog_.find(name);
  if (!table) return Out(fail(table.error()));
  if (!(*table)->books()) return Out(invalid("Table " + name + " keeps no books"));
  if ((*table)->is_opening_books()) {
    return Out(fail(ErrorCode::kUnavailable, "The books of table " + name + " are being opened"));
  }
  return Out((*table)->books()->snapshot());
}

void Engine::run_due() {
  ttl_.run_due();
  compactor_.run_due();
  backups_.run_due();
  if (wall_guard_.doubts()) wall_guard_.trusted();  // Reports the end of the doubt.
  if (!catalog_.closed().empty()) {
    catalog_.forget_closed([this](const ClosedEntry& entry) { return is_kept(entry); }, options_.backfill_step);
  }
  if (catalog_.has_removed()) catalog_.bury(options_.backfill_step);
  if (!catching_up_) return;
  catching_up_ = false;
  size_t left = options_.backfill_step;
  for (const auto& [name, table] : catalog_.tables()) {
    if (!table->is_behind()) continue;
    const bool opening = table->is_opening_books();
    left -= table->catch_up(left);
    catalog_.count(*table);
    if (opening && !table->is_opening_books()) committer_.log_table(*table);  // Logs the table with all its flows.
    catching_up_ = catching_up_ || table->is_behind();
  }
}

BootTime Engine::next_due() const {
  if (catching_up_ || catalog_.has_removed()) return scheduler_.clock().boot();
  return std::min(
      {committer_.next_due(), ttl_.next_due(), compactor_.next_due(), backups_.next_due(), wall_guard_.next_look()});
}

EmbeddedStats Engine::stats() const {
  EmbeddedStats stats = committer_.stats();
  stats.ttl_paused = wall_guard_.doubts();
  return stats;
}

Result<void> Engine::keep_images(const std::string& name, bool keep) {
  auto table = catalog_.find(name);
  if (!table) return fail(table.error());
  (*table)->keep_images(keep);
  return {};
}

}  // namespace

Result<std::unique_ptr<EmbeddedTables>> open_embedded(Files* files, Scheduler& scheduler, Random& random,
                                                      EmbeddedOptions options) {
  auto engine = std::make_unique<Engine>(scheduler, random, std::move(options));
  if (auto ok = engine->open(files); !ok) return fail(ok.error());
  return engine;
}

}  // namespace freshet
