#include "functions/priority/record.h"

#include <fmt/format.h>

#include <charconv>

#include "base/limits.h"
#include "functions/priority/policy/order.h"
#include "functions/priority/timestamp.h"

namespace freshet::priority {
namespace {

// The limit of versions, counters and queue numbers is far from where adding one overflows.
constexpr int64_t kMostCount = int64_t{1} << 53;

std::string key_text(const Value& value) {
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (const auto* number = value.get_if<Decimal>()) return number->to_string();
  const auto* binary = value.get_if<Binary>();
  return binary != nullptr ? binary->bytes : std::string();
}

Result<Value> key_value(std::string_view text, const KeyAttribute& key, const std::string& id) {
  if (text.empty()) return invalid("id '" + id + "': the part for '" + key.name + "' is empty");
  if (key.type == Type::kString) return Value(std::string(text));
  if (key.type == Type::kBinary) return Value(Binary{std::string(text)});
  auto number = Decimal::parse(text);
  if (!number) return invalid("id '" + id + "': '" + key.name + "' is a number (N): " + number.error().message);
  return Value(*number);
}

// Reads one attribute after the other; remembers the first that is wrong.
class Reader {
 public:
  Reader(const std::string& id, int64_t now_ms) : id_(id), now_ms_(now_ms) {}

  void text(const Value* value, const std::string& path, std::string& into) {
    if (value == nullptr) return;
    if (const auto* text = value->get_if<std::string>()) {
      into = *text;
    } else {
      wrong(path, *value, "a string (S)");
    }
  }
  template <class Into>
  void number(const Value* value, const std::string& path, Into& into, int64_t least = 0, int64_t most = kMostCount) {
    if (value == nullptr) return;
    const auto* decimal = value->get_if<Decimal>();
    bool fits = false;
    const int64_t whole = decimal != nullptr ? decimal->to_int64(fits) : 0;
    if (decimal == nullptr) {
      wrong(path, *value, "a number (N)");
    } else if (!fits || whole < least || whole > most) {
      fail_with(path, "is " + decimal->to_string() + "; it must be a whole number from " + std::to_string(least) +
                          " to " + std::to_string(most));
    } else {
      into = whole;
    }
  }
  // true and 1 are the same, as the sample's mapper has it.
  void flag(const Value* value, const std::string& path, bool& into) {
    if (value == nullptr) return;
    if (const auto* flag = value->get_if<bool>()) {
      into = *flag;
      return;
    }
    const auto* decimal = value->get_if<Decimal>();
    if (decimal != nullptr && (*decimal == Decimal(0) || *decimal == Decimal(1))) {
      into = *decimal == Decimal(1);
    } else {
      wrong(path, *value, "a boolean (BOOL), or 0 or 1 (N)");
    }
  }
  void time_ms(const Value* value, const std::string& path, std::optional<int64_t>& into) {
    std::optional<int64_t> read;
    number(value, path, read);
    if (!read || error_) return;
    if (*read < kLeastMs || *read > kMostMs) {
      fail_with(path, "is " + std::to_string(*read) + ", which is not in milliseconds since 1970; now is " +
                          std::to_string(now_ms_));
    } else {
      into = read;
    }
  }
  void wrong(const std::string& path, const Value& value, std::string_view right) {
    fail_with(path, "has the type " + std::string(type_name(value.type())) + "; it must be " + std::string(right));
  }
  void fail_with(const std::string& path, const std::string& why) {
    if (!error_) error_ = Error{ErrorCode::kValidation, path + " of item '" + id_ + "' " + why, nullptr};
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  const std::string& id_;
  const int64_t now_ms_;
  std::optional<Error> error_;
};

RecordPlace place_of(const RecordFacts& facts, const Numbers& numbers) {
  if (facts.number) {
    if (*facts.number == numbers.ready) return facts.selected ? RecordPlace::kInFlight : RecordPlace::kReady;
    if (*facts.number == numbers.in_flight) return RecordPlace::kInFlight;
    if (*facts.number == numbers.delayed) return RecordPlace::kDelayed;
    return RecordPlace::kElsewhere;
  }
  if (facts.dead_number) return *facts.dead_number == numbers.dead ? RecordPlace::kDead : RecordPlace::kElsewhere;
  return RecordPlace::kOutside;
}

void read_info(const Map& map, const std::string& at, Reader& read, RecordFacts& facts) {
  const auto path = [&](std::string_view name) { return at + "." + std::string(name); };
  const Value* version = map.find(info::kVersion);
  if (version == nullptr) {
    read.fail_with(path(info::kVersion), "is missing");
    return;
  }
  read.number(version, path(info::kVersion), facts.version);
  if (const Value* created = map.find(info::kCreated); created != nullptr && created->is(Type::kString)) {
    facts.created = *created->get_if<std::string>();
  }
  read.text(map.find(info::kStatus), path(info::kStatus), facts.status);
  read.text(map.find(info::kUpdated), path(info::kUpdated), facts.last_updated);
  read.flag(map.find(info::kSelected), path(info::kSelected), facts.selected);
  bool in_queue = false;
  read.flag(map.find(info::kQueued), path(info::kQueued), in_queue);
  read.text(map.find(info::kReceipt), path(info::kReceipt), facts.receipt);
  read.number(map.find(info::kPeeks), path(info::kPeeks), facts.peeks);
  read.number(map.find(info::kFailures), path(info::kFailures), facts.failures);
  if (facts.selected) read.time_ms(map.find(info::kPeekedMs), path(info::kPeekedMs), facts.peeked_ms);
  if (facts.selected && !read.error() && !facts.peeked_ms) {
    read.fail_with(path(info::kPeekedMs), "is missing, and " + path(info::kSelected) + " says that it was peeked");
  }
  // A receipt outlives its peek until the next one: a consumer that is late may settle what nobody has got since.
  if (!facts.selected) {
    std::optional<int64_t> last;
    read.number(map.find(info::kPeekedMs), path(info::kPeekedMs), last);
    facts.peeked_ms = last;
  }
}

}  // namespace

int64_t RecordFacts::due_ms(const Settings& settings) const {
  if (!selected && visible_ms) return *visible_ms;
  // A peek by the sample leaves visible_at as an earlier peek of ours has set it.
  const int64_t by_peek = peeked_ms.value_or(0) + settings.visibility.count();
  if (!visible_ms || *visible_ms < peeked_ms.value_or(0)) return by_peek;
  return *visible_ms;
}

std::string id_of(const Item& key, const KeySchema& keys, char separator) {
  const Value* partition = key.find(keys.partition.name);
  std::string id = partition != nullptr ? key_text(*partition) : std::string();
  if (!keys.sort) return id;
  const Value* sort = key.find(keys.sort->name);
  return id + separator + (sort != nullptr ? key_text(*sort) : std::string());
}

Item key_in(const ItemRef& item, const KeySchema& keys) {
  Item key;
  if (const auto partition = item.find(keys.partition.name)) key.set(keys.partition.name, partition->decode());
  if (keys.sort) {
    if (const auto sort = item.find(keys.sort->name)) key.set(keys.sort->name, sort->decode());
  }
  return key;
}

std::string id_of(const ItemRef& item, const KeySchema& keys, char separator) {
  return id_of(key_in(item, keys), keys, separator);
}

// For two keys: the length of the first one stands before the id, because the first key may contain the separator.
std::string place_of(const Item& key, const KeySchema& keys, char separator) {
  const std::string id = id_of(key, keys, separator);
  const Value* partition = key.find(keys.partition.name);
  if (!keys.sort || partition == nullptr) return id;
  return std::to_string(key_text(*partition).size()) + ":" + id;
}

Result<Item> key_at(const std::string& place, const KeySchema& keys, char separator) {
  if (!keys.sort) return key_of(place, keys, separator);
  size_t length = 0;
  const char* last = place.data() + place.size();
  const auto [end, error] = std::from_chars(place.data(), last, length);
  if (error != std::errc{} || end == last || *end != ':') return invalid("no length");
  const std::string_view rest(end + 1, last);
  if (rest.size() <= length || rest[length] != separator) return invalid("wrong length");
  Item key;
  for (const auto& [text, attribute] :
       {std::pair(rest.substr(0, length), &keys.partition), {rest.substr(length + 1), &*keys.sort}}) {
    auto value = key_value(text, *attribute, place);
    if (!value) return fail(value.error());
    key.set(attribute->name, std::move(*value));
  }
  return key;
}

Result<Item> key_of(const std::string& id, const KeySchema& keys, char separator) {
  std::string_view partition = id;
  std::string_view sort;
  if (keys.sort) {
    const size_t at = id.find(separator);
    if (at == std::string::npos) {
      return invalid("id '" + id + "': the table has a sort key too: " + keys.partition.name + separator +
                     keys.sort->name);
    }
    partition = std::string_view(id).substr(0, at);
    sort = std::string_view(id).substr(at + 1);
  }
  if (partition.size() > limits::kMaxPartitionKeyBytes || sort.size() > limits::kMaxSortKeyBytes) {
    return invalid("the id is longer than a key may be");
  }
  Item key;
  auto value = key_value(partition, keys.partition, id);
  if (!value) return fail(value.error());
  key.set(keys.partition.name, std::move(*value));
  if (!keys.sort) return key;
  value = key_value(sort, *keys.sort, id);
  if (!value) return fail(value.error());
  key.set(keys.sort->name, std::move(*value));
  return key;
}

Result<RecordFacts> read_facts(const ItemRef& item, const KeySchema& keys, const Settings& settings, int64_t now_ms) {
  RecordFacts facts;
  facts.item = item;
  facts.id = id_of(item, keys, settings.key_separator);
  facts.status = settings.states.initial;
  const Names& names = settings.names;
  const auto top = [&](const std::string& name) -> std::optional<Value> {
    const auto found = item.find(name);
    return found ? std::optional(found->decode()) : std::nullopt;
  };
  Reader read(facts.id, now_ms);
  const auto partition = keys.sort ? top(keys.partition.name) : std::nullopt;
  if (partition && key_text(*partition).find(settings.key_separator) != std::string::npos) {
    read.fail_with(keys.partition.name, std::string("has a '") + settings.key_separator +
                                            "' in it, which separates the keys in ids: no id names this item");
  }
  const auto number = [&](const std::string& name, std::optional<int64_t>& into) {
    const auto value = top(name);
    read.number(value ? &*value : nullptr, name, into);
  };
  number(names.queued, facts.number);
  number(names.dead, facts.dead_number);
  // Where it does not order the queue it may be anything of the item's own.
  if (const auto priority = settings.order != Order::kTimestamp ? top(names.priority) : std::nullopt) {
    read.number(&*priority, names.priority, facts.priority, -kLargestPriority, kLargestPriority);
  }
  if (const auto visible = top(names.visible_at)) read.time_ms(&*visible, names.visible_at, facts.visible_ms);
  const auto system_info = top(names.system_info);
  if (system_info) {
    facts.has_info = true;
    if (const auto* map = system_info->get_if<Map>()) {
      read_info(*map, names.system_info, read, facts);
    } else {
      read.wrong(names.system_info, *system_info, "a map (M)");
    }
  }
  facts.place = place_of(facts, settings.numbers);
  if (facts.place == RecordPlace::kInFlight && !facts.selected) {
    read.fail_with(names.system_info + "." + std::string(info::kSelected),
                   "is not true although '" + names.queued + "' says that it is in flight");
  }
  if (facts.place == RecordPlace::kDelayed && !facts.visible_ms) {
    read.fail_with(names.visible_at, "is missing although '" + names.queued + "' says that it is delayed");
  }
  if (read.error()) return fail(*read.error());
  return facts;
}

size_t largest_bytes(const RecordFacts& facts, const Settings& settings) {
  const std::string timestamp = format_timestamp(0);
  const Names& names = settings.names;
  Item item = facts.item.decode();
  Map system_info;
  if (const Value* there = item.find(names.system_info); there != nullptr && there->is(Type::kMap)) {
    system_info = *there->get_if<Map>();
  }
  std::string status = facts.status;
  for (const auto& state : {settings.states.ready, settings.states.processing, settings.states.dead}) {
    if (settings.states.used && state.size() > status.size()) status = state;
  }
  system_info.set(info::kId, Value(facts.id));
  system_info.set(info::kStatus, Value(std::move(status)));
  for (const auto name :
       {info::kCreated, info::kUpdated, info::kEnqueued, info::kAdded, info::kPeeked, info::kRemoved, info::kDead}) {
    system_info.set(name, Value(timestamp));
  }
  for (const auto name : {info::kVersion, info::kPeeks, info::kFailures}) {
    system_info.set(name, Value::number(kMostCount - 1));
  }
  system_info.set(info::kQueued, Value::number(1));
  system_info.set(info::kSelected, Value::boolean(true));
  system_info.set(info::kPeekedMs, Value::number(kMostMs));
  system_info.set(info::kReceipt, Value(make_receipt(kMostMs, 0)));
  item.set(names.system_info, Value(std::move(system_info)));
  item.set(names.last_updated, Value(timestamp));
  item.set(names.queued, Value::number(kLargestNumber));
  item.set(names.dead, Value::number(kLargestNumber));
  item.set(names.visible_at, Value::number(kMostMs));
  if (settings.order != Order::kTimestamp || !item.contains(names.priority)) {
    item.set(names.priority, Value::number(1 - kLargestPriority));
  }
  if (settings.order == Order::kBoth) item.set(names.order, Value(order_text(settings, 0, timestamp)));
  return billed_size(item);
}

bool holds_receipt(const RecordFacts& facts, std::string_view receipt) {
  // A peek by the sample changes the time alone.
  return !facts.receipt.empty() && receipt == facts.receipt && facts.peeked_ms &&
         receipt.substr(0, receipt.find('-')) == std::to_string(*facts.peeked_ms);
}

std::string make_receipt(int64_t peeked_ms, uint64_t random) {
  return fmt::format("{}-{:016x}", peeked_ms, random);
}

std::string RecordUpdate::name(std::string_view attribute) {
  for (const auto& [placeholder, known] : placeholders_.names) {
    if (known == attribute) return placeholder;
  }
  std::string placeholder = "#n" + std::to_string(placeholders_.names.size());
  placeholders_.names.emplace_back(placeholder, std::string(attribute));
  return placeholder;
}

std::string RecordUpdate::value(Value value) {
  std::string placeholder = ":v" + std::to_string(placeholders_.values.size());
  placeholders_.values.set(placeholder, std::move(value));
  return placeholder;
}

RecordUpdate& RecordUpdate::set(const std::string& attribute, Value v) {
  sets_ += (sets_.empty() ? "" : ", ") + name(attribute) + " = " + value(std::move(v));
  return *this;
}

RecordUpdate& RecordUpdate::remove(const std::string& attribute) {
  removes_ += (removes_.empty() ? "" : ", ") + name(attribute);
  return *this;
}

RecordUpdate& RecordUpdate::set_info(std::string_view inner, Value v) {
  if (!facts_.has_info) {
    fresh_.set(inner, std::move(v));
    return *this;
  }
  const std::string path = name(settings_.names.system_info) + "." + name(inner);
  sets_ += (sets_.empty() ? "" : ", ") + path + " = " + value(std::move(v));
  return *this;
}

RecordUpdate& RecordUpdate::remove_info(std::string_view inner) {
  if (!facts_.has_info) return *this;
  removes_ += (removes_.empty() ? "" : ", ") + name(settings_.names.system_info) + "." + name(inner);
  return *this;
}

RecordUpdate& RecordUpdate::stamp(const std::string& now, bool place) {
  set_info(info::kUpdated, Value(now));
  if (place) set(settings_.names.last_updated, Value(now));
  return *this;
}

UpdateItemInput RecordUpdate::finish(Item key) && {
  UpdateItemInput input;
  input.table = settings_.states_in();
  input.key = std::move(key);
  const std::string info_name = name(settings_.names.system_info);
  if (facts_.has_info) {
    const std::string version = info_name + "." + name(info::kVersion);
    input.condition = version + " = " + value(Value::number(facts_.version));
    if (!facts_.created.empty()) {
      input.condition += " AND " + info_name + "." + name(info::kCreated) + " = " + value(Value(facts_.created));
    }
    input.update = "ADD " + version + " " + value(Value::number(1));
  } else {
    fresh_.set(info::kId, Value(facts_.id));
    fresh_.set(info::kVersion, Value::number(1));
    if (!fresh_.contains(info::kCreated)) fresh_.set(info::kCreated, Value(fresh_.string_or(info::kUpdated)));
    if (!fresh_.contains(info::kSelected)) fresh_.set(info::kSelected, Value::boolean(false));
    if (!fresh_.contains(info::kQueued)) fresh_.set(info::kQueued, Value::number(0));
    input.condition = "attribute_not_exists(" + info_name + ")";
    sets_ += (sets_.empty() ? "" : ", ") + info_name + " = " + value(Value(std::move(fresh_)));
  }
  if (!removes_.empty()) input.update += (input.update.empty() ? "REMOVE " : " REMOVE ") + removes_;
  if (!sets_.empty()) input.update += (input.update.empty() ? "SET " : " SET ") + sets_;
  input.placeholders = std::move(placeholders_);
  input.return_values = ReturnValues::kAllNew;
  input.cause = Cause::kQueue;
  return input;
}

}  // namespace freshet::priority
