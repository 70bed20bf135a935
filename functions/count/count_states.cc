#include "functions/count/count_states.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "functions/count/count_settings.h"
#include "functions/count/count_tally.h"
#include "functions/count/counted_table.h"
#include "functions/count/counter_table.h"
#include "functions/count/engine_count.h"
#include "functions/count/first_count.h"
#include "functions/stream_batch.h"
#include "streams/arn.h"

namespace freshet {
namespace {

// One batch. Lives as long as the handler waits for it.
class StateCounter {
 public:
  StateCounter(Context& context, const EventLog& log, const CountSettings& settings, StreamName stream)
      : context_(context),
        log_(log),
        settings_(settings),
        stream_(std::move(stream)),
        counters_(context.services.tables, settings.metrics_table, stream_.table + "#" + settings.attribute) {}

  Async<Result<CountTally>> take(const std::vector<ChangeRecord>& records) {
    auto good = co_await counters_.check();
    if (!good) co_return fail(good.error());
    auto position = co_await counters_.position();
    if (!position) co_return fail(position.error());
    position_ = std::move(*position);
    for (size_t i = 0; i < records.size();) {
      if (follows() && records[i].sequence <= position_->sequence) {
        ++tally_.seen_before;
        ++i;
      } else if (follows() && records[i].sequence == position_->sequence + 1) {
        auto taken = co_await add(records, i);
        if (!taken) co_return fail(taken.error());
        i += *taken;
      } else {
        auto counted = co_await count_table(records[i]);
        if (!counted) co_return fail(counted.error());
        if (*counted) continue;
        tally_.left_out = records.size() - i;
        break;
      }
    }
    co_return tally_;
  }

 private:
  bool follows() const { return position_ && position_->counting.empty() && position_->stream == stream_.label; }

  // As many records from `first` on as one transaction holds; how many they were.
  Async<Result<size_t>> add(const std::vector<ChangeRecord>& records, size_t first) {
    StateChanges changes;
    CountPosition next = *position_;
    size_t i = first;
    while (i < records.size() && records[i].sequence == next.sequence + 1 &&
           changes.size() + kChangesOfRecord <= CounterTable::kMost) {
      if (auto added = changes.add(records[i], settings_.attribute); !added) co_return fail(added.error());
      next.sequence = records[i].sequence;
      next.as_of = records[i].at;
      ++i;
    }
    auto written = co_await counters_.add(std::move(changes), position_, next);
    if (!written) co_return fail(written.error());
    position_ = std::move(next);
    tally_.counted += i - first;
    co_return i - first;
  }

  // The table as it was before that record. False if only another stream of the table can tell that.
  Async<Result<bool>> count_table(const ChangeRecord& record) {
    auto table = co_await counted_table(context_, log_, stream_);
    if (!table) co_return fail(table.error());
    if (!*table) co_return false;
    Services& services = context_.services;
    FirstCountInput input;
    input.keys = (*table)->definition.keys;
    input.table = stream_.table;
    input.label = stream_.label;
    input.before = record.sequence;
    input.attribute = settings_.attribute;
    auto items = co_await count_items(services.tables, services.scheduler, std::move(input));
    if (!items) co_return fail(items.error());
    log_.info("COUNT_TABLE", {{"function", context_.function.name},
                              {"table", stream_.table},
                              {"attribute", settings_.attribute},
                              {"states", items->size()},
                              {"before", record.sequence}});
    CountPosition next{stream_.label, record.sequence - 1, "", record.at};
    std::string id = context_.invocation.request_id;
    auto written = co_await counters_.set_items(std::move(*items), position_, next, std::move(id));
    if (!written) co_return fail(written.error());
    position_ = std::move(next);
    ++tally_.table_counts;
    co_return true;
  }

  Context& context_;
  const EventLog& log_;
  const CountSettings& settings_;
  const StreamName stream_;
  CounterTable counters_;
  std::optional<CountPosition> position_;
  CountTally tally_;
};

Result<StreamName> check_source(const StreamBatch& batch, const CountSettings& settings) {
  auto stream = parse_stream_arn(batch.source.arn);
  if (!stream) return invalid("count_states: '" + batch.source.arn + "' is not the ARN of a table's stream");
  if (batch.source.view != StreamView::kNewAndOldImages) {
    return invalid("count_states needs both images: the stream of table " + stream->table + " is " +
                   std::string(stream_view_name(batch.source.view)) +
                   "; its StreamViewType must be NEW_AND_OLD_IMAGES");
  }
  if (stream->table == settings.metrics_table) {
    return invalid("METRICS_TABLE is '" + settings.metrics_table +
                   "', the table whose stream is counted: it must be another one");
  }
  return *stream;
}

Result<void> check_order(const std::vector<ChangeRecord>& records) {
  for (size_t i = 1; i < records.size(); ++i) {
    if (records[i].sequence == records[i - 1].sequence + 1) continue;
    return invalid("count_states needs all records of the stream in order, and " +
                   sequence_number(records[i].sequence) + " came behind " + sequence_number(records[i - 1].sequence) +
                   ": its event source mapping must have no FilterCriteria and a ParallelizationFactor of 1");
  }
  return {};
}

Async<Result<CountTally>> count(Context& context, const EventLog& log, const CountSettings& settings, StreamName stream,
                                const StreamBatch& batch) {
  if (batch.is_of_engine()) co_return co_await count_on_engine(context, log, settings, std::move(stream), batch);
  if (auto good = check_order(batch.records); !good) co_return fail(good.error());
  StateCounter counter(context, log, settings, std::move(stream));
  co_return co_await counter.take(batch.records);
}

}  // namespace

Async<Result<std::string>> count_states(Context& context, const EventLog& log) {
  auto settings = count_settings(context.function.environment);
  if (!settings) co_return fail(settings.error());
  auto batch = stream_batch(context.invocation.payload, "count_states");
  if (!batch) co_return fail(batch.error());
  auto stream = check_source(**batch, *settings);
  if (!stream) co_return fail(stream.error());
  auto tally = co_await count(context, log, *settings, std::move(*stream), **batch);
  if (!tally) co_return fail(tally.error());
  co_return fmt::format(R"({{"counted":{},"seenBefore":{},"leftOut":{},"tableCounts":{}}})", tally->counted,
                        tally->seen_before, tally->left_out, tally->table_counts);
}

}  // namespace freshet
