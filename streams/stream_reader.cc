#include "streams/stream_reader.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <tuple>

namespace freshet {

namespace {

// In a token: "the oldest record at the time of reading".
constexpr uint64_t kFromHorizon = 0;

uint64_t token_sum(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

struct Token {
  std::string arn;
  uint64_t from = 0;
  WallTime made{};
};

std::optional<uint64_t> parse_hex(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "ARN|1|" and three numbers of 16 hex digits: place, time, checksum of all before.
Result<Token> parse_token(const std::string& text) {
  constexpr size_t kNumbers = 48;
  const auto bad = [] { return invalid("Invalid ShardIterator"); };
  if (text.size() < kNumbers + 3) return bad();
  const size_t numbers = text.size() - kNumbers;
  const std::string_view view = text;
  if (view.substr(numbers - 3, 3) != "|1|") return bad();
  const auto from = parse_hex(view.substr(numbers, 16));
  const auto made = parse_hex(view.substr(numbers + 16, 16));
  const auto sum = parse_hex(view.substr(numbers + 32, 16));
  constexpr uint64_t kLatest = uint64_t{1} << 50;  // In milliseconds; no clock shows a later time.
  if (!from || !made || *made > kLatest || !sum || *sum != token_sum(view.substr(0, numbers + 32))) return bad();
  return Token{text.substr(0, numbers - 3), *from, WallTime(milliseconds(static_cast<int64_t>(*made)))};
}

auto no_such_stream(const std::string& arn) {
  return fail(ErrorCode::kResourceNotFound, fmt::format("Requested resource not found: Stream: {} not found", arn));
}

Result<uint64_t> start_of(const ShardIteratorInput& input, const StreamBounds& bounds) {
  const bool numbered =
      input.type == IteratorType::kAtSequenceNumber || input.type == IteratorType::kAfterSequenceNumber;
  if (!numbered) {
    if (!input.sequence_number.empty()) {
      return invalid("A SequenceNumber must not be given with ShardIteratorType TRIM_HORIZON or LATEST");
    }
    return input.type == IteratorType::kTrimHorizon ? kFromHorizon : bounds.next;
  }
  if (input.sequence_number.empty()) {
    return invalid("A SequenceNumber is required with ShardIteratorType AT_SEQUENCE_NUMBER or AFTER_SEQUENCE_NUMBER");
  }
  const auto given = parse_sequence_number(input.sequence_number);
  if (!given) return invalid(fmt::format("Invalid SequenceNumber: \"{}\" is not a number", input.sequence_number));
  // An empty shard says that it starts at the number of the next record, so both types begin with that record.
  if (*given == bounds.next) return bounds.next;
  if (*given > bounds.next) {
    return invalid(fmt::format("Invalid SequenceNumber: {} is not in the stream", input.sequence_number));
  }
  const uint64_t from = *given + (input.type == IteratorType::kAfterSequenceNumber ? 1 : 0);
  if (from < bounds.oldest) {
    return fail(ErrorCode::kTrimmedDataAccess,
                fmt::format("The sequence number {} is beyond the trim point of the stream: the oldest is {}",
                            input.sequence_number, sequence_number(bounds.oldest)));
  }
  return from;
}

// When the stream was switched on: its label is that time.
std::optional<WallTime> time_of_label(const std::string& label) {
  int year = 0;
  unsigned month = 0, day = 0, hours = 0, minutes = 0, secs = 0, millis = 0;
  if (std::sscanf(label.c_str(), "%4d-%2u-%2uT%2u:%2u:%2u.%3u", &year, &month, &day, &hours, &minutes, &secs,
                  &millis) != 7) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(hours) + std::chrono::minutes(minutes) + seconds(secs) +
         milliseconds(millis);
}

}  // namespace

std::optional<IteratorType> parse_iterator_type(std::string_view name) {
  if (name == "TRIM_HORIZON") return IteratorType::kTrimHorizon;
  if (name == "LATEST") return IteratorType::kLatest;
  if (name == "AT_SEQUENCE_NUMBER") return IteratorType::kAtSequenceNumber;
  if (name == "AFTER_SEQUENCE_NUMBER") return IteratorType::kAfterSequenceNumber;
  return std::nullopt;
}

StreamReader::StreamReader(Tables& tables, const Clock& clock, Account account)
    : tables_(tables), clock_(clock), account_(std::move(account)) {}

std::string StreamReader::token(const std::string& arn, uint64_t from) const {
  std::string text = fmt::format("{}|1|{:016x}{:016x}", arn, from, static_cast<uint64_t>(epoch_ms(clock_.wall())));
  text += fmt::format("{:016x}", token_sum(text));
  return text;
}

Async<Result<StreamDescription>> StreamReader::stream_of(std::string table) {
  auto described = co_await tables_.describe_table(table);
  if (!described) co_return fail(std::move(described.error()));
  const TableDefinition& definition = described->definition;
  if (!definition.stream || definition.system) {
    co_return fail(ErrorCode::kResourceNotFound,
                   fmt::format("Requested resource not found: Table: {} has no stream", table));
  }
  auto bounds = co_await tables_.stream_bounds(table);
  if (!bounds) co_return fail(std::move(bounds.error()));
  StreamDescription stream;
  stream.source = {account_, stream_arn(account_, table, described->stream_label), *definition.stream};
  stream.table = table;
  stream.label = described->stream_label;
  stream.keys = definition.keys;
  stream.created = time_of_label(stream.label).value_or(described->created);
  stream.bounds = *bounds;
  co_return stream;
}

Async<Result<StreamDescription>> StreamReader::closed_stream(std::string stream_arn, std::string table,
                                                             std::string label) {
  auto all = co_await tables_.closed_streams();
  if (!all) co_return fail(std::move(all.error()));
  const auto found = std::find_if(all->begin(), all->end(), [&](const ClosedStream& closed) {
    return closed.table == table && closed.label == label;
  });
  if (found == all->end() || freshet::stream_arn(account_, table, label) != stream_arn) {
    co_return no_such_stream(stream_arn);
  }
  StreamDescription stream;
  stream.source = {account_, std::move(stream_arn), found->view};
  stream.table = std::move(table);
  stream.keys = found->keys;
  stream.created = time_of_label(label).value_or(found->closed);
  stream.label = std::move(label);
  stream.bounds = found->bounds;
  stream.closed = true;
  co_return stream;
}

Async<Result<StreamDescription>> StreamReader::describe(std::string stream_arn) {
  auto name = parse_stream_arn(stream_arn);
  if (!name) co_return invalid(fmt::format("Invalid StreamArn: \"{}\"", stream_arn));
  auto stream = co_await stream_of(name->table);
  if (!stream && stream.error().code != ErrorCode::kResourceNotFound) co_return stream;
  if (stream && stream->source.arn == stream_arn) co_return stream;
  auto closed = co_await closed_stream(std::move(stream_arn), std::move(name->table), std::move(name->label));
  co_return closed;
}

Async<Result<std::vector<StreamList::Stream>>> StreamReader::streams_of(std::vector<std::string> tables, size_t most) {
  std::vector<StreamList::Stream> streams;
  const auto add = [&](const std::string& table, const std::string& label) {
    streams.push_back({stream_arn(account_, table, label), table, label});
  };
  for (const std::string& name : tables) {
    if (streams.size() == most) break;
    std::string copy = name;
    auto described = co_await tables_.describe_table(std::move(copy));
    if (!described && described.error().code != ErrorCode::kResourceNotFound) co_return fail(described.error());
    if (!described || described->definition.system || !described->definition.stream) continue;
    add(name, described->stream_label);
  }
  auto closed = co_await tables_.closed_streams();
  if (!closed) co_return fail(std::move(closed.error()));
  for (const ClosedStream& stream : *closed) add(stream.table, stream.label);
  std::sort(streams.begin(), streams.end(),
            [](const auto& a, const auto& b) { return std::tie(a.table, a.label) < std::tie(b.table, b.label); });
  co_return streams;
}

Async<Result<StreamList>> StreamReader::list(ListStreamsInput input) {
  std::optional<StreamName> after;
  if (!input.after.empty() && !(after = parse_stream_arn(input.after))) {
    co_return invalid(fmt::format("Invalid StreamArn: \"{}\"", input.after));
  }
  std::vector<std::string> names{input.table};
  bool there = true;
  if (input.table.empty()) {
    auto all = co_await tables_.list_tables();
    if (!all) co_return fail(std::move(all.error()));
    names = std::move(*all);
    // Describing each takes time, so the streams of earlier pages are left out.
    if (after) names.erase(names.begin(), std::lower_bound(names.begin(), names.end(), after->table));
  } else {
    std::string copy = input.table;
    auto described = co_await tables_.describe_table(std::move(copy));
    if (!described && described.error().code != ErrorCode::kResourceNotFound) co_return fail(described.error());
    there = described && !described->definition.system;
  }
  // The table with the last page's stream may have further streams; one more stream shows if there are more.
  auto streams = co_await streams_of(std::move(names), size_t{input.limit} + 2);
  if (!streams) co_return fail(std::move(streams.error()));
  StreamList list;
  bool any = false;
  for (auto& stream : *streams) {
    if (!input.table.empty() && stream.table != input.table) continue;
    any = true;
    if (after && std::tie(stream.table, stream.label) <= std::tie(after->table, after->label)) continue;
    if (list.streams.size() == input.limit) {
      list.more = true;
      break;
    }
    list.streams.push_back(std::move(stream));
  }
  if (!there && !any) {
    co_return fail(ErrorCode::kResourceNotFound,
                   fmt::format("Requested resource not found: Table: {} not found", input.table));
  }
  co_return list;
}

Async<Result<std::string>> StreamReader::shard_iterator(ShardIteratorInput input) {
  auto stream = co_await describe(input.stream_arn);
  if (!stream) co_return fail(std::move(stream.error()));
  if (input.shard_id != kShardId) {
    co_return fail(ErrorCode::kResourceNotFound,
                   fmt::format("Requested resource not found: Shard: {} in Stream: {} not found", input.shard_id,
                               input.stream_arn));
  }
  auto from = start_of(input, stream->bounds);
  if (!from) co_return fail(std::move(from.error()));
  co_return token(input.stream_arn, *from);
}

Async<Result<StreamRecords>> StreamReader::records(std::string iterator, uint32_t limit) {
  if (limit < 1 || limit > 1000) co_return invalid(fmt::format("Limit: {} is not in 1..1000", limit));
  auto parsed = parse_token(iterator);
  if (!parsed) co_return fail(std::move(parsed.error()));
  if (parsed->made - clock_.wall() > kIteratorLife) co_return invalid("Invalid ShardIterator");
  if (clock_.wall() - parsed->made > kIteratorLife) {
    co_return fail(ErrorCode::kExpiredIterator, "Iterator expired: it is good for 15 minutes; get a new one");
  }
  auto stream = co_await describe(parsed->arn);
  if (!stream) co_return fail(std::move(stream.error()));
  ReadStreamInput read;
  read.table = stream->table;
  if (stream->closed) read.label = stream->label;
  read.from = parsed->from == kFromHorizon ? stream->bounds.oldest : parsed->from;
  read.limit = limit;
  auto page = co_await tables_.read_stream(std::move(read));
  if (!page) co_return fail(std::move(page.error()));
  StreamRecords records;
  records.source = std::move(stream->source);
  records.records = std::move(page->records);
  const bool ended = stream->closed && page->next >= stream->bounds.next;
  if (!ended) records.next_iterator = token(parsed->arn, page->next);
  co_return records;
}

}  // namespace freshet
