#include "functions/ordered/replay.h"

#include <algorithm>

#include "functions/ordered/replay_world.h"
#include "tables/value/json.h"

namespace freshet::ordered {
namespace {

using Outcomes = std::map<std::string, uint64_t>;
using Items = std::map<std::string, std::string>;

std::string key_text(const Item& key) {
  std::string out;
  append_item_json(out, key);
  return out;
}

// Reads a record of a table with ordered writes, or of another one, as a write.
class RecordReader {
 public:
  RecordReader(const Fixture& fixture, const Settings& settings)
      : fixture_(fixture),
        settings_(settings),
        keys_(fixture.header.keys),
        start_(fixture.header.start),
        world_(settings, keys_, start_, 1) {}

  // Empty for what TTL removed: tombstones expire by themselves.
  Result<std::optional<Record>> read(const ChangeRecord& change, size_t number) {
    if (change.by_ttl) return std::optional<Record>();
    Record record;
    record.number = number;
    record.place = fixture_.place_of_record(number - 1);
    record.key = change.keys;
    record.arrived = change.at;
    record.write = write_of(change);
    auto stamp = std::visit([this](const auto& write) { return stamp_of(write); }, record.write);
    if (auto* no = std::get_if<Refusal>(&stamp)) return invalid(record.place + ": " + no->why);
    record.stamp = std::get<Value>(stamp);
    std::visit([&](auto& write) { write.timestamp = record.stamp; }, record.write);
    record.stamped = settings_.has_clock() ? time_of(record.stamp, settings_.unit) : start_;
    if (auto near = check_times(record); !near) return fail(near.error());
    return std::optional<Record>(std::move(record));
  }

 private:
  std::variant<Value, Refusal> stamp_of(const OrderedPut& put) { return world_.table().stamp_of_put(put); }
  std::variant<Value, Refusal> stamp_of(const OrderedDelete& erase) { return world_.table().stamp_of_delete(erase); }
  std::variant<Value, Refusal> stamp_of(const OrderedUpdate& update) { return world_.table().stamp_of_update(update); }

  // The clock goes through all the time between them. So far off a timestamp is most likely in another unit.
  Result<void> check_times(const Record& record) const {
    constexpr milliseconds kFarthest{2LL * 365 * 86'400'000};
    const auto is_near = [&](WallTime time) { return time - start_ <= kFarthest && start_ - time <= kFarthest; };
    if (is_near(record.stamped) && is_near(record.arrived)) return {};
    const std::string which = record.place + ": its ";
    const std::string off = " is more than two years from the fixture's start";
    if (is_near(record.stamped)) return invalid(which + "ApproximateCreationDateTime" + off);
    const auto refusal = check_age(record.stamp, settings_, start_);
    return invalid(which + "timestamp" + off + (refusal ? ": " + refusal->why : ""));
  }

  std::optional<Value> arrival_of(const ChangeRecord& change) const {
    if (!settings_.has_clock()) return {};
    return freshet::ordered::stamp_of(change.at, settings_.unit);
  }
  static std::optional<Value> found(const Item& image, const std::string& name) {
    const Value* value = image.find(name);
    return value != nullptr ? std::optional(*value) : std::nullopt;
  }

  std::variant<OrderedPut, OrderedDelete, OrderedUpdate> write_of(const ChangeRecord& change) const {
    const Names& n = settings_.names;
    if (!change.after) return OrderedDelete{change.keys, arrival_of(change)};
    Item image = change.after.decode();
    if (is_tombstone(change.after, settings_)) return OrderedDelete{change.keys, found(image, n.timestamp)};
    auto updated = found(image, n.update_timestamp);
    if (updated && !settings_.update_attributes.empty()) return update_of(change, image, std::move(updated));
    auto stamp = found(image, n.timestamp);
    for (const auto* name : {&n.tie, &n.update_tie, &n.ttl}) image.erase(*name);
    if (!stamp && settings_.timestamp_path.empty()) stamp = arrival_of(change);
    if (stamp) image.erase(n.timestamp);
    return OrderedPut{std::move(image), std::move(stamp)};
  }
  OrderedUpdate update_of(const ChangeRecord& change, Item& image, std::optional<Value> stamp) const {
    OrderedUpdate update{change.keys, {}, {}, std::move(stamp)};
    for (const std::string& name : settings_.update_attributes) {
      if (Value* value = image.find(name)) {
        update.set.set(name, std::move(*value));
      } else {
        update.remove.push_back(name);
      }
    }
    return update;
  }

  const Fixture& fixture_;
  const Settings& settings_;
  const KeySchema& keys_;
  const WallTime start_;
  ReplayWorld world_;  // Knows where timestamps stand.
};

Result<std::vector<Record>> read_records(const Fixture& fixture, const Settings& settings) {
  RecordReader reader(fixture, settings);
  std::vector<Record> out;
  for (size_t i = 0; i < fixture.records.size(); ++i) {
    auto record = reader.read(fixture.records[i], i + 1);
    if (!record) return fail(record.error());
    if (*record) out.push_back(std::move(**record));
  }
  if (out.empty()) return invalid("the fixture has no records to replay");
  return out;
}

bool same_write(const Record& a, const Record& b) {
  if (a.write.index() != b.write.index()) return false;
  if (const auto* put = std::get_if<OrderedPut>(&a.write)) return put->item == std::get<OrderedPut>(b.write).item;
  if (const auto* update = std::get_if<OrderedUpdate>(&a.write)) {
    return update->set == std::get<OrderedUpdate>(b.write).set;
  }
  return true;
}

// By timestamp. kValidation if the order of two different writes is left open.
Result<std::vector<const Record*>> sorted(const std::vector<Record>& records, Ties ties) {
  std::vector<const Record*> out;
  for (const Record& record : records) out.push_back(&record);
  std::stable_sort(out.begin(), out.end(), [](const Record* a, const Record* b) {
    return compare(a->stamp, b->stamp) == std::partial_ordering::less;
  });
  std::map<std::string, const Record*> last;
  for (const Record* record : out) {
    const Record*& before = last[key_text(record->key)];
    const bool equal = before != nullptr && before->stamp == record->stamp;
    if (equal && ties == Ties::kArrival && !same_write(*before, *record)) {
      return invalid(record->place + ": this change and that of " + before->place +
                     " have one key and equal timestamps: which one stays is left to the order of arrival (\"ties\": "
                     "\"content\" decides)");
    }
    before = record;
  }
  return out;
}

class Replay {
 public:
  Replay(const Fixture& fixture, const Settings& settings, const ReplayOptions& options)
      : fixture_(fixture), settings_(settings), options_(options) {}

  Result<ReplayOutput> run() {
    auto records = read_records(fixture_, settings_);
    if (!records) return fail(records.error());
    records_ = std::move(*records);
    auto in_order = sorted(records_, settings_.ties);
    if (!in_order) return fail(in_order.error());
    sorted_ = std::move(*in_order);
    first_ = std::min_element(records_.begin(), records_.end(), stamped_before)->stamped;
    last_ = std::max_element(records_.begin(), records_.end(), stamped_before)->stamped;
    if (auto done = in_order_of_lines(); !done) return fail(done.error());
    Outcomes outcomes;
    uint64_t deliveries = 0;
    uint64_t same = 0;
    for (uint64_t i = 0; i < options_.interleavings && !output_.difference; ++i) {
      auto is_same = interleave(options_.seed + i, outcomes, deliveries);
      if (!is_same) return fail(is_same.error());
      same += *is_same ? 1 : 0;
      if (options_.on_interleaving) options_.on_interleaving(i + 1);
    }
    std::string& out = output_.lines;
    out += R"({"interleavings":)" + std::to_string(options_.interleavings) + R"(,"same":)" + std::to_string(same) +
           R"(,"seed":)" + std::to_string(options_.seed) + R"(,"writers":)" + std::to_string(options_.writers) +
           R"(,"deliveries":)" + std::to_string(deliveries) + R"(,"outcomes":{)";
    bool first = true;
    for (const auto& [name, count] : outcomes) {
      out += (first ? "\"" : ",\"") + name + "\":" + std::to_string(count);
      first = false;
    }
    out += "}}\n";
    return std::move(output_);
  }

 private:
  static bool stamped_before(const Record& a, const Record& b) { return a.stamped < b.stamped; }

  // How far records come before their time; what is allowed beyond that would only take simulated years.
  milliseconds ahead() const { return std::min(settings_.max_skew, milliseconds(3'600'000)); }
  WallTime earliest() const { return std::min(fixture_.header.start, first_ - ahead()); }

  // The end of these records in the order of their timestamps, at that time.
  Result<Items> expected(const std::vector<const Record*>& in_order, WallTime end) {
    ReplayWorld world(settings_, fixture_.header.keys, earliest(), 1);
    if (auto filled = world.fill(fixture_); !filled) return fail(filled.error());
    for (const Record* record : in_order) {
      world.advance_to(record->stamped);
      const auto result = world.write(*record);
      if (!result.ok() && result.code != OrderedCode::kOlder) return invalid(refusal_of(*record, result));
    }
    world.advance_to(end);
    return world.items();
  }
  static std::string refusal_of(const Record& record, const OrderedResult& result) {
    return record.place + ": the change is no ordered write: " + std::string(code_name(result.code)) + ": " +
           result.detail;
  }

  // Each line when it arrived, by one writer; the ends are compared of what was not refused.
  Result<void> in_order_of_lines() {
    ReplayWorld world(settings_, fixture_.header.keys, earliest(), 1);
    if (auto filled = world.fill(fixture_); !filled) return fail(filled.error());
    std::vector<const Record*> taken;
    for (const Record& record : records_) {
      world.advance_to(record.arrived);
      const auto result = world.write(record);
      add_line(record, result);
      const bool refused = result.code == OrderedCode::kTooOld || result.code == OrderedCode::kTooFarAhead;
      if (result.ok() || result.code == OrderedCode::kOlder)
        taken.push_back(&record);
      else if (!refused)
        return invalid(refusal_of(record, result));
    }
    std::vector<const Record*> in_order;
    std::copy_if(sorted_.begin(), sorted_.end(), std::back_inserter(in_order),
                 [&](const Record* record) { return std::find(taken.begin(), taken.end(), record) != taken.end(); });
    world.advance_to(last_ + milliseconds(1));
    auto wanted = expected(in_order, world.now());
    if (!wanted) return fail(wanted.error());
    const Items there = world.items();
    for (const auto& [key, item] : there) output_.lines += R"({"end":)" + item + "}\n";
    compare_ends("in the order of the lines", there, *wanted, world.now());
    return {};
  }

  void add_line(const Record& record, const OrderedResult& result) {
    std::string& out = output_.lines;
    out += R"({"record":)" + std::to_string(record.number) + R"(,"write":")" + std::string(write_name(record)) +
           R"(","key":)" + key_text(record.key) + R"(,"timestamp":)";
    append_plain_json(out, record.stamp);
    out += R"(,"outcome":")" + std::string(code_name(result.code)) + "\"}\n";
  }

  // True if the ends are the same. Each record arrives once while it is in time, half of them again at any time.
  Result<bool> interleave(uint64_t seed, Outcomes& outcomes, uint64_t& deliveries) {
    Random random(seed);
    const milliseconds in_time = settings_.retention - std::max(settings_.retention / 10, milliseconds(900));
    const WallTime most = last_ + settings_.retention + settings_.retention / 2;
    std::vector<std::vector<Delivery>> of_writers(static_cast<size_t>(options_.writers));
    const auto add = [&](const Record& record, WallTime from, WallTime to) {
      from = std::max(from, earliest());
      const auto span = static_cast<uint64_t>((to - from).count());
      const WallTime at = from + milliseconds(static_cast<int64_t>(random.below(span + 1)));
      of_writers[random.below(of_writers.size())].push_back({&record, at});
      ++deliveries;
    };
    for (const Record& record : records_) {
      const WallTime taken_until = record.stamped + in_time;
      add(record, record.stamped - ahead(), taken_until);
      // Where old writes are carried out, one that comes when tombstones have gone may bring a deleted item back.
      const WallTime latest = settings_.old == Old::kAccept ? taken_until : most;
      while (random.below(2) == 0) add(record, record.stamped - ahead(), latest);
    }
    for (auto& one : of_writers) {
      std::sort(one.begin(), one.end(), [](const Delivery& a, const Delivery& b) { return a.at < b.at; });
    }
    ReplayWorld world(settings_, fixture_.header.keys, earliest(), seed);
    if (auto filled = world.fill(fixture_); !filled) return fail(filled.error());
    // Before or after the tombstones have gone.
    world.deliver(of_writers,
                  last_ + milliseconds(static_cast<int64_t>(
                              random.below(static_cast<uint64_t>(2 * settings_.retention.count())))),
                  outcomes);
    auto wanted = expected(sorted_, world.now());
    if (!wanted) return fail(wanted.error());
    return compare_ends("of the interleaving with seed " + std::to_string(seed), world.items(), *wanted, world.now());
  }

  // Without what may differ. The TTL of a tombstone is that of its time, but of a token's that of its arrival. And an
  // update that arrives when the tombstone before it has expired finds no trace of that delete, where one that came
  // sooner has kept its time: nothing that is so old is taken any more.
  Items comparable(Items items, WallTime end) const {
    const Names& n = settings_.names;
    if (settings_.old == Old::kAccept) drop_old_tombstones(items, end);
    for (auto& [key, text] : items) {
      auto item = parse_item_json(text);
      if (!item) continue;
      const Value* stamp = item->find(n.timestamp);
      if (!settings_.has_clock()) {
        item->erase(n.ttl);
      } else if (stamp != nullptr && item->contains(n.update_timestamp) && stamp->is(Type::kNumber) &&
                 time_of(*stamp, settings_.unit) + settings_.retention <= end) {
        item->erase(n.timestamp);
        item->erase(n.tie);
      }
      text.clear();
      append_item_json(text, *item);
    }
    return items;
  }
  // An import keeps the tombstone of an old delete from its arrival on: where the write came at its time, it is gone.
  void drop_old_tombstones(Items& items, WallTime end) const {
    std::erase_if(items, [&](const auto& entry) {
      const auto item = parse_item_json(entry.second);
      if (!item || !is_tombstone(ItemRef::encode(*item), settings_)) return false;
      const Value* stamp = item->find(settings_.names.timestamp);
      return stamp != nullptr && stamp->is(Type::kNumber) &&
             time_of(*stamp, settings_.unit) + settings_.retention <= end;
    });
  }
  bool compare_ends(const std::string& which, const Items& there, const Items& wanted, WallTime end) {
    const Items is = comparable(there, end);
    const Items should = comparable(wanted, end);
    if (is == should) return true;
    Items keys = is;
    keys.insert(should.begin(), should.end());
    for (const auto& [key, text] : keys) {
      const auto text_in = [&, &k = key](const Items& items) {
        const auto found = items.find(k);
        return found == items.end() ? std::string("not there") : found->second;
      };
      if (text_in(is) == text_in(should)) continue;
      output_.difference = "the end " + which + " is not that of the order of timestamps: " + key + " is\n  " +
                           text_in(is) + "\ninstead of\n  " + text_in(should);
      break;
    }
    return false;
  }

  const Fixture& fixture_;
  const Settings& settings_;
  const ReplayOptions& options_;
  std::vector<Record> records_;
  std::vector<const Record*> sorted_;
  WallTime first_{};  // The first timestamp.
  WallTime last_{};
  ReplayOutput output_;
};

}  // namespace

Result<ReplayOutput> replay(const Fixture& fixture, const Settings& settings, const ReplayOptions& options) {
  Settings own = settings;
  own.table = fixture.header.table;
  if (auto valid = validate(own); !valid) return fail(valid.error());
  TableDefinition table = ordered_table(own, fixture.header.keys);
  if (auto valid = freshet::validate(table); !valid) return fail(valid.error());
  if (auto fits = as_ordered_table(std::move(table), own); !fits) return fail(fits.error());
  return Replay(fixture, own, options).run();
}

}  // namespace freshet::ordered
