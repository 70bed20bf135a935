#include "app/engines/doctor.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/http_date.h"
#include "tables/index_difference.h"
#include "tables/traits.h"

namespace freshet::engines {

namespace {

constexpr milliseconds kPatience{2'000};
constexpr seconds kClocksMayDiffer{60};  // Signatures may be five minutes old, deadlines may not.
constexpr int kRoundTrips = 10;
constexpr int kDropTries = 60;
constexpr milliseconds kDropWait{1'000};
constexpr int kProbeTries = 3;  // How often a question is asked whose answer does not come.
constexpr int kLagProbes = 10;
constexpr seconds kLongestLag{10};
constexpr milliseconds kLagStep{2};
constexpr milliseconds kReadStep{200};  // A shard may be read five times a second.
constexpr int kSlots = 64;              // Writes that are under way at once where speed is measured.
constexpr int kWritesOfATask = 3;       // Created, taken, completed.
constexpr const char* kAmazon = ".amazonaws.com";
// By its documentation: a partition takes 1,000 write units a second, and all waiting tasks are in one of the index.
constexpr const char* kCeilingOfAmazon =
    "500 tasks a second, whatever the speed: each task enters and leaves one partition of the index of waiting tasks, "
    "which takes 1,000 write units a second. With LAYOUT=sample 125 a second for tasks of 4 KB, with LAYOUT=fleet 500 "
    "for any size";
constexpr size_t kTaskBytes = 1'000;
constexpr const char* kIndex = "by-state";

using State = Finding::State;

std::string ms(nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f ms", std::chrono::duration<double, std::milli>(time).count());
  return text;
}

nanoseconds median(std::vector<nanoseconds> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

bool is_unsupported(const Error& error) {
  return error.code == ErrorCode::kUnknownOperation || error.code == ErrorCode::kInternal;
}

// The engine has said nothing about itself.
bool is_no_answer(const Error& error) {
  return error.code == ErrorCode::kUnknownOutcome || error.code == ErrorCode::kTimeout ||
         error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kThroughputExceeded ||
         error.code == ErrorCode::kRequestLimitExceeded || error.code == ErrorCode::kTransactionConflict;
}

// "id (S)", or "kind (S) and id (S)": the partition key comes first.
std::string text_of(const KeySchema& keys) {
  std::string out;
  for (const KeyAttribute* key : keys.attributes()) {
    const char* type = key->type == Type::kString ? "S" : key->type == Type::kNumber ? "N" : "B";
    out += (out.empty() ? "" : " and ") + key->name + " (" + type + ")";
  }
  return out;
}

// Names the first kind of difference between a table that is there and the wanted one; empty if there is none.
std::string difference(const TableDefinition& is, const TableDefinition& wanted) {
  if (is.keys != wanted.keys) return "it has other keys";
  const std::string indexes = lacking_indexes(is, wanted);
  if (!indexes.empty()) return "it lacks, or has in another form: " + indexes;
  if (wanted.stream && is.stream != wanted.stream) return "its stream is off, or has another view";
  if (wanted.ttl_attribute && is.ttl_attribute != wanted.ttl_attribute)
    return "its ttl is off, or has another attribute";
  return {};
}

class Doctor {
 public:
  Doctor(remote::Caller& caller, remote::RemoteTables& tables, DoctorOptions options)
      : caller_(caller), tables_(tables), options_(std::move(options)) {}
  Doctor(const Doctor&) = delete;
  Doctor& operator=(const Doctor&) = delete;

  Async<std::vector<Finding>> run() {
    // First: a clock that is off is why a signature is refused.
    const bool answers = co_await compare_clocks();
    if (!answers) co_return std::move(findings_);
    const bool reached = co_await reach();
    if (!reached) co_return std::move(findings_);
    co_await compare_wanted();
    if (options_.writes) {
      const bool made = co_await make_table();
      if (made) co_await probe();
      if (made) co_await drop_table();
    }
    co_return std::move(findings_);
  }

 private:
  Scheduler& scheduler() { return caller_.scheduler(); }
  BootTime now() { return scheduler().clock().boot(); }

  void begin(const std::string& what) {
    if (options_.on_progress) options_.on_progress(what);
  }
  void found(State state, std::string what, std::string said = {}) {
    findings_.push_back({state, std::move(what), std::move(said)});
  }
  void failed(std::string what, const Error& error, const std::string& doing = {}) {
    found(is_no_answer(error) ? State::kUnsure : State::kBad, std::move(what), doing + error.message);
  }

  // Asks again if the answer does not come. Only for what does no harm when it is carried out twice.
  template <class Output>
  Async<Result<Output>> asked(std::function<Async<Result<Output>>()> ask) {
    for (int tries = 1;; ++tries) {
      auto question = ask();
      auto answer = co_await question;
      if (answer || !is_no_answer(answer.error()) || tries == kProbeTries || is_stopped()) co_return answer;
      co_await caller_.back_off(tries);
    }
  }

  // A put that is carried out once. If its answer does not come, the item says what became of it.
  Async<Result<WriteOutput>> put_once(PutItemInput put) {
    for (int tries = 1;; ++tries) {
      PutItemInput sent = put;
      auto written = co_await tables_.put_item(std::move(sent));
      // An earlier sending may have come late.
      const bool may_be_there = tries > 1 && !written && written.error().code == ErrorCode::kConditionalCheckFailed;
      if (written || !(may_be_there || is_no_answer(written.error()))) co_return written;
      GetItemInput get;
      get.table = put.table;
      get.key = Item{{"id", *std::as_const(put.item).find("id")}};
      auto there = co_await tables_.get_item(std::move(get));
      if (there && *there && there->same_bytes(ItemRef::encode(put.item))) co_return WriteOutput{};
      if (tries == kProbeTries || is_stopped()) co_return written;
      co_await caller_.back_off(tries);
    }
  }

  Async<bool> reach() {
    begin("endpoint");
    std::vector<nanoseconds> times;
    for (int i = 0; i < kRoundTrips; ++i) {
      const BootTime sent = now();
      auto listed = co_await tables_.list_tables();
      if (!listed) {
        found(State::kBad, listed.error().code == ErrorCode::kAccessDenied ? "access key" : "endpoint",
              listed.error().message);
        co_return false;
      }
      times.push_back(now() - sent);
    }
    found(State::kOk, "endpoint", "it answers within " + ms(median(std::move(times))) + " (median of ListTables)");
    found(State::kOk, "access key", "accepted");
    co_return true;
  }

  // False if nothing answers: the calls of the store would be repeated for minutes.
  Async<bool> compare_clocks() {
    if (options_.http == nullptr) co_return true;
    HttpRequest request;
    request.method = "GET";
    std::string url = options_.url;
    auto answer = co_await options_.http->send(std::move(url), std::move(request), kPatience);
    if (!answer) {
      found(State::kBad, "endpoint", answer.error().message);
      co_return false;
    }
    const auto theirs = parse_http_date(std::string(header(answer->headers, "Date")));
    if (!theirs) {
      found(State::kLacks, "clock", "it does not say what time it is");
      co_return true;
    }
    const auto off = std::chrono::duration_cast<seconds>(*theirs - scheduler().clock().wall());
    const std::string said = "it is " + std::to_string(std::chrono::abs(off).count()) +
                             (off < seconds(0) ? " s behind" : " s ahead of") + " this machine's (to the second)";
    found(std::chrono::abs(off) > kClocksMayDiffer ? State::kBad : State::kOk, "clock", said);
    co_return true;
  }

  Async<void> compare_wanted() {
    for (const TableDefinition& wanted : options_.wanted) {
      begin("table " + wanted.name);
      auto described = co_await tables_.describe_table(wanted.name);
      const std::string what = "table '" + wanted.name + "'";
      if (!described && described.error().code == ErrorCode::kResourceNotFound) {
        found(State::kLacks, what, "it is not there yet; its key: " + text_of(wanted.keys));
      } else if (!described) {
        failed(what, described.error());
      } else if (const auto text = difference(described->definition, wanted); !text.empty()) {
        found(State::kBad, what, text);
      } else {
        found(State::kOk, what, "as it is wanted");
      }
      if (described && options_.streams && options_.read.contains(wanted.name)) co_await try_to_read(wanted.name);
      if (wanted.ttl_attribute && wanted.ttl_in_milliseconds) {
        found(State::kLacks, what + ": ttl in milliseconds", "it is read as seconds, so that such items never expire");
      }
    }
  }

  // Returns, for each open shard, an iterator that begins after its newest change.
  Async<Result<std::vector<std::string>>> latest_iterators(std::string table) {
    auto stream = co_await options_.streams->stream_of(std::move(table));
    if (!stream) co_return fail(std::move(stream.error()));
    if (!stream->open) co_return fail(ErrorCode::kResourceNotFound, "the stream is off");
    std::vector<std::string> iterators;
    std::string after;
    do {
      auto page = co_await options_.streams->shards(stream->arn, std::move(after));
      if (!page) co_return fail(std::move(page.error()));
      for (const ListedShard& shard : page->shards) {
        if (shard.closed) continue;
        auto iterator = co_await options_.streams->iterator(stream->arn, shard.id, ShardStart::kLatest, std::string());
        if (!iterator) co_return fail(std::move(iterator.error()));
        iterators.push_back(std::move(*iterator));
      }
      after = std::move(page->last);
    } while (!after.empty());
    co_return iterators;
  }

  // One round: true if there is a change. Iterators move on.
  Async<Result<bool>> read_once(std::vector<std::string>& iterators) {
    bool any = false;
    for (std::string& iterator : iterators) {
      if (iterator.empty()) continue;  // The shard has ended.
      auto page = co_await options_.streams->records(iterator);
      if (!page) co_return fail(std::move(page.error()));
      any = any || !page->records.empty();
      iterator = std::move(page->next);
    }
    co_return any;
  }

  void not_readable(std::string what, const Error& error) {
    if (is_unsupported(error)) return found(State::kLacks, std::move(what), "no function can read a table");
    failed(std::move(what), error);
  }

  Async<void> try_to_read(std::string table) {
    const std::string what = "stream of table '" + table + "'";
    begin(what);
    auto iterators = co_await latest_iterators(std::move(table));
    if (!iterators && iterators.error().code == ErrorCode::kResourceNotFound) co_return;  // It is off, as said above.
    if (!iterators) co_return not_readable(what, iterators.error());
    const size_t shards = iterators->size();
    auto read = co_await read_once(*iterators);
    if (!read) co_return not_readable(what, read.error());
    found(State::kOk, what, "it can be read; open shards: " + std::to_string(shards));
  }

  // One change, read as the mapping of a function reads it.
  Async<void> probe_reading() {
    const std::string what = "reading a stream";
    begin(what);
    auto iterators = co_await latest_iterators(options_.table);
    // A new stream may have no shard for a while.
    for (const BootTime began = now(); iterators && iterators->empty() && now() - began < kLongestLag;) {
      co_await sleep_for(scheduler(), kReadStep);
      iterators = co_await latest_iterators(options_.table);
    }
    if (!iterators) co_return not_readable(what, iterators.error());
    if (iterators->empty()) co_return found(State::kUnsure, what, "it has no shard within ten seconds");
    auto put = put_of("read", 1);
    auto written = co_await put_once(std::move(put));
    if (!written) co_return failed(what, written.error());
    const BootTime answered = now();
    while (now() - answered < kLongestLag && !is_stopped()) {
      auto read = co_await read_once(*iterators);
      if (!read) co_return not_readable(what, read.error());
      if (*read) co_return found(State::kOk, what, "a change is there after " + ms(now() - answered));
      co_await sleep_for(scheduler(), kReadStep);
    }
    if (!is_stopped()) found(State::kBad, what, "a change is not there within ten seconds");
  }

  TableDefinition definition() const {
    TableDefinition d;
    d.name = options_.table;
    d.keys.partition = {"id", Type::kString};
    IndexDefinition index;
    index.name = kIndex;
    index.keys.partition = {"state", Type::kString};
    index.keys.sort = KeyAttribute{"n", Type::kNumber};
    d.indexes.push_back(index);
    return d;
  }

  Async<bool> make_table() {
    begin("a table with an index");
    const BootTime sent = now();
    auto wanted = definition();
    auto made = co_await tables_.create_table(std::move(wanted));
    if (!made) {
      failed("tables", made.error(), is_no_answer(made.error()) ? "" : "none can be made: ");
      // It may be there all the same.
      auto there = co_await tables_.describe_table(options_.table);
      if (there || there.error().code != ErrorCode::kResourceNotFound) co_await drop_table();
      co_return false;
    }
    found(State::kOk, "tables", "one with an index was ready after " + ms(now() - sent));
    co_return true;
  }

  Async<void> drop_table() {
    begin("the table's end");
    auto dropped = co_await tables_.delete_table(options_.table);
    for (int tries = 1; !dropped && dropped.error().code == ErrorCode::kResourceInUse && tries < kDropTries; ++tries) {
      co_await sleep_for(scheduler(), kDropWait);  // A change of it is under way.
      dropped = co_await tables_.delete_table(options_.table);
    }
    if (!dropped && dropped.error().code != ErrorCode::kResourceNotFound) {
      found(State::kBad, "tables", "'" + options_.table + "' could not be dropped: " + dropped.error().message);
    }
  }

  bool is_stopped() const { return options_.is_stopped && options_.is_stopped(); }

  Async<void> probe() {
    co_await probe_conditions();
    if (!is_stopped()) co_await probe_transactions();
    if (!is_stopped()) co_await probe_lag();
    if (!is_stopped()) co_await probe_changes();
    if (!is_stopped()) co_await probe_speed();
    if (is_stopped()) found(State::kBad, "stopped", "not all was examined");
  }

  PutItemInput put_of(std::string id, int64_t n) const {
    PutItemInput put;
    put.table = options_.table;
    put.item = Item{{"id", Value(std::move(id))}, {"state", Value("NEW")}, {"n", Value::number(n)}};
    put.only_new = true;
    put.return_item_on_failure = true;
    return put;
  }

  Async<void> probe_conditions() {
    begin("conditional writes");
    auto put = put_of("one", 1);
    auto first = co_await put_once(std::move(put));
    if (!first) co_return failed("conditional writes", first.error());
    std::function same = [this] { return tables_.put_item(put_of("one", 2)); };
    auto second = co_await asked<WriteOutput>(std::move(same));
    if (second) {
      found(State::kBad, "conditional writes", "a condition that does not hold was ignored");
    } else if (second.error().code != ErrorCode::kConditionalCheckFailed) {
      failed("conditional writes", second.error());
    } else {
      const bool has_item = std::dynamic_pointer_cast<const ConditionFailed>(second.error().detail) != nullptr;
      found(State::kOk, "conditional writes");
      found(has_item ? State::kOk : State::kLacks, "the item in a refusal",
            has_item ? "" : "a refused write costs one more read");
    }
  }

  Async<void> probe_transactions() {
    begin("transactions");
    std::function ask = [this] {
      TransactWriteInput both;
      both.actions.emplace_back(put_of("two", 1));
      both.actions.emplace_back(put_of("one", 2));
      return tables_.transact_write(std::move(both));
    };
    auto refused = co_await asked<TransactWriteOutput>(std::move(ask));
    if (refused) {
      found(State::kBad, "transactions", "one was carried out although a condition does not hold");
    } else if (refused.error().code == ErrorCode::kTransactionCanceled) {
      found(State::kOk, "transactions");
    } else if (is_unsupported(refused.error())) {
      found(State::kLacks, "transactions", "filtered queues, counters and priority queues need them");
    } else {
      failed("transactions", refused.error());
    }
  }

  Async<Result<bool>> index_shows(int64_t n) {
    QueryInput query;
    query.table = options_.table;
    query.index = kIndex;
    query.key_condition = "#s = :s AND n = :n";
    query.placeholders.names = {{"#s", "state"}};
    query.placeholders.values.set(":s", Value("NEW"));
    query.placeholders.values.set(":n", Value::number(n));
    auto page = co_await tables_.query(std::move(query));
    if (!page) co_return fail(page.error());
    co_return page->count > 0;
  }

  Async<void> probe_lag() {
    begin("the lag of an index");
    std::vector<nanoseconds> lags;
    for (int i = 0; i < kLagProbes; ++i) {
      const int64_t n = 100 + i;
      auto put = put_of("lag-" + std::to_string(i), n);
      auto written = co_await put_once(std::move(put));
      if (!written) co_return failed("indexes", written.error());
      const BootTime answered = now();
      for (bool shown = false; !shown;) {
        auto look = co_await index_shows(n);
        if (!look) co_return failed("indexes", look.error());
        shown = *look;
        if (!shown && now() - answered > kLongestLag) {
          co_return found(State::kBad, "indexes", "one does not show a write within ten seconds");
        }
        if (!shown) co_await sleep_for(scheduler(), kLagStep);
      }
      lags.push_back(now() - answered);
    }
    const auto longest = *std::max_element(lags.begin(), lags.end());
    found(State::kOk, "indexes",
          "one shows a write after " + ms(median(std::move(lags))) + ", at most " + ms(longest) + ", a query included");
  }

  // Stream and ttl, each switched on.
  Async<void> probe_changes() {
    begin("stream and ttl");
    auto with_stream = definition();
    with_stream.stream = StreamView::kNewAndOldImages;
    std::function stream = [this, with_stream] { return tables_.alter_table(with_stream); };
    auto streamed = co_await asked<TableDescription>(std::move(stream));
    const bool has_stream = streamed && !streamed->stream_label.empty();
    if (!streamed && !is_unsupported(streamed.error())) co_return failed("change streams", streamed.error());
    found(has_stream ? State::kOk : State::kLacks, "change streams",
          has_stream ? "" : "tasks that SDK clients put are found by scans alone");
    if (has_stream && options_.streams) co_await probe_reading();
    auto with_ttl = std::move(with_stream);
    if (!has_stream) with_ttl.stream.reset();
    with_ttl.ttl_attribute = "ttl";
    std::function ttl = [this, with_ttl] { return tables_.alter_table(with_ttl); };
    auto expiring = co_await asked<TableDescription>(std::move(ttl));
    const bool has_ttl = expiring && expiring->definition.ttl_attribute.has_value();
    if (!expiring && !is_unsupported(expiring.error())) co_return failed("ttl", expiring.error());
    found(has_ttl ? State::kOk : State::kLacks, "ttl", has_ttl ? "" : "ended tasks stay until they are purged");
  }

  Async<void> write_until(BootTime end, std::string name, uint64_t& written, std::optional<Error>& fault) {
    for (int64_t i = 0; now() < end && !fault; ++i) {
      auto put = put_of(name + std::to_string(i), 1'000 + i);
      put.item.set("payload", Value(std::string(kTaskBytes, 'x')));
      auto done = co_await tables_.put_item(std::move(put));
      if (done) {
        ++written;
      } else if (done.error().code != ErrorCode::kUnknownOutcome) {
        fault = done.error();
      }
    }
  }

  Async<double> writes_a_second(int slots, std::optional<Error>& fault) {
    uint64_t written = 0;
    const BootTime began = now();
    std::vector<Async<void>> running;
    for (int i = 0; i < slots; ++i) {
      std::string name = std::to_string(slots) + "-" + std::to_string(i) + "-";
      running.push_back(write_until(began + options_.measured_for, std::move(name), written, fault));
    }
    for (auto& one : running) co_await one;
    const double time = std::chrono::duration<double>(now() - began).count();
    co_return time > 0 ? static_cast<double>(written) / time : 0;
  }

  Async<void> probe_speed() {
    begin("speed");
    std::optional<Error> fault;
    const double alone = co_await writes_a_second(1, fault);
    const double many = co_await writes_a_second(kSlots, fault);
    if (fault) co_return failed("speed", *fault);
    if (many == 0) co_return found(State::kUnsure, "speed", "no write was answered in time");
    char text[200];
    std::snprintf(text, sizeof(text),
                  "%.0f conditional writes of 1 KB a second one after the other, %.0f with %d at a time: at most %.0f "
                  "tasks a second, as each takes three writes",
                  alone, many, kSlots, many / kWritesOfATask);
    found(State::kOk, "speed", text);
    if (options_.url.find(kAmazon) != std::string::npos) found(State::kOk, "a queue's ceiling", kCeilingOfAmazon);
  }

  remote::Caller& caller_;
  remote::RemoteTables& tables_;
  const DoctorOptions options_;
  std::vector<Finding> findings_;
};

}  // namespace

Async<std::vector<Finding>> examine(remote::Caller& caller, remote::RemoteTables& tables, DoctorOptions options) {
  Doctor doctor(caller, tables, std::move(options));
  auto findings = co_await doctor.run();
  co_return findings;
}

}  // namespace freshet::engines
