#include "app/engines/copier.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "app/engines/digest.h"
#include "app/engines/known_items.h"
#include "tables/lease/fleet_tables.h"
#include "tables/traits.h"
#include "tables/value/billed.h"
#include "tables/value/json.h"
#include "wire/store/merge.h"
#include "wire/store/remote_tables.h"

namespace freshet::engines {

namespace {

constexpr std::string_view kOwnIndexPrefix = "freshet-";  // A queue makes these indexes where it is opened.

constexpr uint32_t kPageItems = 1'000;
constexpr int kWriteTries = 5;  // How often a put is sent whose outcome stays unknown.
constexpr milliseconds kCapacityWait{500};
constexpr std::string_view kState = "taskStatus";

std::string key_text(const ItemRef& item, const KeySchema& keys) {
  std::string out;
  for (const auto* attribute : keys.attributes()) {
    const auto value = item.find(attribute->name);
    if (!value) continue;
    out += std::to_string(value->encoded().size()) + ":";
    out += value->encoded();
  }
  return out;
}

// The key for a person: "id = a".
std::string shown_key(const ItemRef& item, const KeySchema& keys) {
  std::string out;
  for (const auto* attribute : keys.attributes()) {
    const auto value = item.find(attribute->name);
    if (!value) continue;
    std::string text;
    append_plain_json(text, *value);
    out += (out.empty() ? "" : ", ") + attribute->name + " = " + text;
  }
  return out;
}

Item key_of(const ItemRef& item, const KeySchema& keys) {
  Item key;
  for (const auto* attribute : keys.attributes()) {
    if (const auto value = item.find(attribute->name)) key.set(attribute->name, value->decode());
  }
  return key;
}

// True if the table has the index, or one of Freshet's own that differs in its attributes only: a queue makes and uses
// them with all attributes or with few (docs/lifecycle.md, "Layouts"), and makes them anew if they have too few.
bool serves(const TableDefinition& there, const IndexDefinition& index) {
  if (remote::has_same_index(there, index)) return true;
  const IndexDefinition* found = there.index(index.name);
  return found && index.name.starts_with(kOwnIndexPrefix) && found->keys == index.keys && found->local == index.local;
}

bool is_throttled(const Error& error) {
  return error.code == ErrorCode::kThroughputExceeded || error.code == ErrorCode::kRequestLimitExceeded;
}

class TableCopy {
 public:
  TableCopy(Tables& from, Tables& to, const CopyOptions& options, std::string table)
      : from_(from), to_(to), options_(options), known_(options.most_known) {
    out_.table = std::move(table);
  }
  TableCopy(const TableCopy&) = delete;
  TableCopy& operator=(const TableCopy&) = delete;

  // Before anything is copied: reads the definition, and says what the target cannot have.
  Async<Result<void>> prepare() {
    auto described = co_await from_.describe_table(out_.table);
    if (!described) co_return fail(described.error());
    definition_ = std::move(described->definition);
    const bool in_milliseconds = definition_.ttl_attribute && definition_.ttl_in_milliseconds;
    if (in_milliseconds && !to_.traits().has(Trait::kPromptTtl)) {
      co_return conflict(
          "its ttl is in milliseconds, which an engine does not know: its items would never expire there. Deploy it "
          "without TtlInMilliseconds before the copy, and with it once it is back");
    }
    if (!to_.traits().has(Trait::kBooks)) definition_.books.reset();
    // The protocol has no words for them, or other accounts have other ones.
    definition_.settings.tags.clear();
    definition_.settings.point_in_time_recovery = false;
    co_return Result<void>();
  }

  Async<Result<CopiedTable>> run() {
    if (!options_.only_count) {
      auto made = co_await make_table();
      if (!made) co_return fail(made.error());
      if (!out_.created) {
        auto known = co_await read_known();
        if (!known) co_return fail(known.error());
      }
    }
    auto copied = co_await copy_items();
    if (!copied) co_return fail(copied.error());
    if (options_.only_count) co_return std::move(out_);
    auto equal = co_await compare();
    if (!equal) co_return fail(equal.error());
    auto finished = co_await finish();
    if (!finished) co_return fail(finished.error());
    co_return std::move(out_);
  }

 private:
  tl::unexpected<Error> conflict(const std::string& what) const {
    return fail(ErrorCode::kConflict, "table '" + out_.table + "': " + what);
  }

  // While items are copied, the table has no TTL, stream or books: nothing expires, and no function runs for them.
  TableDefinition quiet() const {
    TableDefinition quiet = definition_;
    quiet.stream.reset();
    quiet.ttl_attribute.reset();
    quiet.ttl_in_milliseconds = false;
    quiet.books.reset();
    return quiet;
  }

  // A table that was there gets what it lacks, and loses nothing.
  TableDefinition wanted_at_end() const {
    if (!there_) return definition_;
    TableDefinition wanted = *there_;
    if (!wanted.stream) wanted.stream = definition_.stream;
    if (!wanted.ttl_attribute) {
      wanted.ttl_attribute = definition_.ttl_attribute;
      wanted.ttl_in_milliseconds = definition_.ttl_in_milliseconds;
    }
    return wanted;
  }

  // Switches on what was off while items were copied. The ttl comes last, as an engine may refuse it for an hour.
  Async<Result<void>> finish() {
    TableDefinition wanted = wanted_at_end();
    TableDefinition before = wanted;
    before.ttl_attribute = there_ ? there_->ttl_attribute : std::nullopt;
    const bool needs_ttl = before.ttl_attribute != wanted.ttl_attribute;
    auto begun = co_await to_.alter_table(std::move(before));
    if (!begun) co_return fail(begun.error().code, whole("its stream could not be switched on", begun.error()));
    if (needs_ttl) {
      auto done = co_await to_.alter_table(std::move(wanted));
      if (!done)
        out_.without_ttl = Error{done.error().code, whole("its ttl could not be switched on", done.error()), nullptr};
    }
    auto durable = co_await to_.durable();
    co_return durable;
  }

  std::string whole(const std::string& lack, const Error& why) const {
    return "table '" + out_.table + "': all items are copied and equal, but " + lack + ": " + why.message +
           ". Run the same command again later: it copies nothing anew";
  }

  // Waits if the error passes by itself; false if it does not.
  Async<bool> wait_for_capacity(Error error) {
    if (!is_throttled(error) || options_.scheduler == nullptr || (options_.is_stopped && options_.is_stopped()))
      co_return false;
    if (options_.on_progress) {
      options_.on_progress(out_.table, "seen; waiting until the store has capacity", out_.items);
    }
    co_await sleep_for(*options_.scheduler, kCapacityWait);
    co_return true;
  }

  Async<Result<void>> make_table() {
    auto there = co_await to_.describe_table(out_.table);
    if (!there && there.error().code != ErrorCode::kResourceNotFound) co_return fail(there.error());
    if (!there) {
      TableDefinition wanted = quiet();
      auto made = co_await to_.create_table(std::move(wanted));
      if (!made) co_return fail(made.error());
      out_.created = true;
      co_return Result<void>();
    }
    there_ = there->definition;
    const TableDefinition& is = *there_;
    if (is.keys != definition_.keys) co_return conflict("it is there with other keys");
    for (const IndexDefinition& index : definition_.indexes) {
      if (index.name.starts_with(kOwnIndexPrefix) || serves(is, index)) continue;
      co_return conflict("it is there without the index '" + index.name +
                         "': add that, or delete the table, so that the copy makes it");
    }
    // An engine may still be making it, for a copy that was ended: this waits, and changes nothing.
    TableDefinition same = is;
    auto ready = co_await to_.alter_table(std::move(same));
    if (!ready) co_return fail(ready.error());
    co_return Result<void>();
  }

  // Reads the items of a store, a page at a time, until `visit` says that it has seen enough.
  using Visit = std::function<Async<Result<bool>>(std::vector<ItemRef>)>;
  Async<Result<void>> each_page(Tables& store, Visit visit) {
    Item start;
    do {
      ScanInput scan;
      scan.table = out_.table;
      scan.limit = kPageItems;
      scan.consistent = true;
      scan.exclusive_start_key = std::move(start);
      ScanInput again = scan;
      auto page = co_await store.scan(std::move(scan));
      while (!page) {
        const bool goes_on = co_await wait_for_capacity(page.error());
        if (!goes_on) co_return fail(page.error());
        ScanInput same = again;
        page = co_await store.scan(std::move(same));
      }
      start = std::move(page->last_evaluated_key);
      auto work = visit(std::move(page->items));
      auto visited = co_await work;
      if (!visited) co_return fail(visited.error());
      if (!*visited) break;
      if (options_.is_stopped && options_.is_stopped()) co_return fail(ErrorCode::kCancelled, "stopped");
    } while (!start.empty());
    co_return Result<void>();
  }

  Async<Result<void>> read_known() {
    auto read = co_await each_page(to_, [this](std::vector<ItemRef> items) -> Async<Result<bool>> {
      bool goes_on = true;
      for (const ItemRef& item : items) goes_on = known_.add(hash_of_key(item), fingerprint_of(item.encoded()));
      return Result<bool>(goes_on);
    });
    known_.sort();
    co_return read;
  }

  Fingerprint hash_of_key(const ItemRef& item) const { return fingerprint_of(key_text(item, definition_.keys)); }

  Async<Result<void>> copy_items() {
    return each_page(from_, [this](std::vector<ItemRef> items) { return copy_page(std::move(items)); });
  }

  Async<Result<bool>> copy_page(std::vector<ItemRef> items) {
    std::vector<ItemRef> missing;
    std::vector<ItemRef> doubtful;
    for (ItemRef& item : items) {
      const Fingerprint whole = fingerprint_of(item.encoded());
      count(item, whole);
      if (options_.only_count) continue;
      const auto is = known_.look(hash_of_key(item), whole);
      if (is == KnownItems::Is::kThere) ++out_.there;
      if (is == KnownItems::Is::kAbsent) missing.push_back(std::move(item));
      if (is == KnownItems::Is::kUnsure) doubtful.push_back(std::move(item));
    }
    auto more = co_await not_there(std::move(doubtful), out_.there);
    if (!more) co_return fail(more.error());
    missing.insert(missing.end(), more->begin(), more->end());
    auto written = co_await write(std::move(missing));
    if (!written) co_return fail(written.error());
    if (options_.on_progress) options_.on_progress(out_.table, options_.only_count ? "counted" : "copied", out_.items);
    co_return true;
  }

  void count(const ItemRef& item, const Fingerprint& whole) {
    source_.add(whole);
    ++out_.items;
    out_.bytes += billed_size_of_encoded(item.encoded());
    if (const auto state = item.find(kState); state && state->type() == Type::kString) {
      ++out_.states[std::string(state->bytes())];
    }
  }

  PutItemInput put_of(const ItemRef& item) const {
    PutItemInput put;
    put.table = out_.table;
    put.item = item.decode();
    put.only_new = true;
    return put;
  }

  Async<Result<void>> write(std::vector<ItemRef> items) {
    for (int tries = 0; tries < kWriteTries && !items.empty(); ++tries) {
      std::vector<ItemRef> refused;
      std::optional<Error> throttled;
      std::vector<WriteInput> puts;
      for (const ItemRef& item : items) puts.emplace_back(put_of(item));
      auto answers = co_await to_.write_many(std::move(puts));
      std::vector<ItemRef> doubtful;
      for (size_t i = 0; i < answers.size(); ++i) {
        const bool is_there = !answers[i] && answers[i].error().code == ErrorCode::kConditionalCheckFailed;
        const bool unknown = !answers[i] && answers[i].error().code == ErrorCode::kUnknownOutcome;
        if (answers[i]) {
          ++out_.copied;
        } else if (is_there || unknown) {
          doubtful.push_back(items[i]);
        } else if (is_throttled(answers[i].error())) {
          refused.push_back(items[i]);
          throttled = answers[i].error();
        } else {
          co_return fail(answers[i].error().code, "table '" + out_.table + "', item " +
                                                      shown_key(items[i], definition_.keys) + ": " +
                                                      answers[i].error().message);
        }
      }
      if (throttled) {
        const bool goes_on = co_await wait_for_capacity(*throttled);
        if (!goes_on) co_return fail(std::move(*throttled));
        tries = 0;
      }
      auto left = co_await not_there(std::move(doubtful), out_.copied);
      if (!left) co_return fail(left.error());
      items = std::move(*left);
      items.insert(items.end(), refused.begin(), refused.end());
    }
    if (!items.empty())
      co_return fail(ErrorCode::kUnknownOutcome,
                     "the outcome of some writes is unknown: the store did not answer; run the copy again");
    auto durable = co_await to_.durable();
    co_return durable;
  }

  // Those of the items that are not in the target. One that is there must be equal, and is counted.
  Async<Result<std::vector<ItemRef>>> not_there(std::vector<ItemRef> items, uint64_t& there) {
    std::vector<ItemRef> out;
    while (!items.empty()) {
      auto reads = reads_of(items);
      auto found = co_await to_.read_many(std::move(reads));
      std::vector<ItemRef> unread;
      std::optional<Error> throttled;
      for (size_t i = 0; i < items.size(); ++i) {
        if (!found[i] && !is_throttled(found[i].error())) co_return fail(found[i].error());
        if (!found[i]) {
          throttled = found[i].error();
          unread.push_back(std::move(items[i]));
        } else if (!found[i]->item) {
          out.push_back(std::move(items[i]));
        } else if (found[i]->item.same_bytes(items[i])) {
          ++there;
        } else {
          co_return conflict("the item " + shown_key(items[i], definition_.keys) + " is there with another content");
        }
      }
      items = std::move(unread);
      if (!throttled) continue;
      const bool goes_on = co_await wait_for_capacity(*throttled);
      if (!goes_on) co_return fail(std::move(*throttled));
    }
    co_return out;
  }

  std::vector<GetItemInput> reads_of(const std::vector<ItemRef>& items) const {
    std::vector<GetItemInput> out(items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      out[i].table = out_.table;
      out[i].key = key_of(items[i], definition_.keys);
    }
    return out;
  }

  // Both sides are read again.
  Async<Result<void>> compare() {
    ItemsDigest target;
    auto read = co_await digest(to_, target);
    if (!read) co_return read;
    ItemsDigest again;
    auto reread = co_await digest(from_, again);
    if (!reread) co_return reread;
    if (again != source_)
      co_return conflict("the source has changed meanwhile: copy it while nobody writes and no ttl removes items");
    if (target == source_) co_return Result<void>();
    co_return conflict("the target has " + std::to_string(target.items()) + " items and the source " +
                       std::to_string(source_.items()) +
                       (target.items() == source_.items() ? ", and they differ" : ""));
  }

  Async<Result<void>> digest(Tables& store, ItemsDigest& into) {
    return each_page(store, [this, &into](std::vector<ItemRef> items) -> Async<Result<bool>> {
      for (const ItemRef& item : items) into.add(fingerprint_of(item.encoded()));
      if (options_.on_progress) options_.on_progress(out_.table, "compared", into.items());
      return Result<bool>(true);
    });
  }

  Tables& from_;
  Tables& to_;
  const CopyOptions& options_;
  TableDefinition definition_;
  std::optional<TableDefinition> there_;  // The target's table, if it was there before.
  KnownItems known_;
  ItemsDigest source_;
  CopiedTable out_;
};

// Also the tables that a fleet has in its engine.
bool is_freshets_own(const std::string& name) {
  if (name.starts_with(kSystemTablePrefix)) return true;
  const auto shared = fleet_tables({.queues = true, .schedules = true, .mappings = true});
  return std::any_of(shared.begin(), shared.end(), [&](const auto& table) { return table.name == name; });
}

// Tables that are named are not listed: who may read one table may not list all.
Async<Result<std::vector<std::string>>> chosen(Tables& from, std::vector<std::string> named) {
  for (const std::string& name : named) {
    if (is_freshets_own(name)) co_return invalid("table '" + name + "' is Freshet's own, and stays where it is");
    const auto described = co_await from.describe_table(name);
    if (described) continue;
    const bool missing = described.error().code == ErrorCode::kResourceNotFound;
    if (missing) co_return fail(ErrorCode::kNotFound, "there is no table '" + name + "'");
    co_return fail(described.error());
  }
  if (!named.empty()) co_return named;
  auto all = co_await from.list_tables();
  if (!all) co_return fail(all.error());
  std::erase_if(*all, is_freshets_own);
  co_return std::move(*all);
}

}  // namespace

Async<Result<std::vector<CopiedTable>>> copy_tables(Tables& from, Tables& to, CopyOptions options) {
  auto tables = co_await chosen(from, options.tables);
  if (!tables) co_return fail(tables.error());
  std::sort(tables->begin(), tables->end());
  std::vector<std::unique_ptr<TableCopy>> copies;
  for (const std::string& table : *tables) {
    copies.push_back(std::make_unique<TableCopy>(from, to, options, table));
    auto ready = co_await copies.back()->prepare();
    if (!ready) co_return fail(ready.error());
  }
  std::vector<CopiedTable> out;
  for (auto& copy : copies) {
    auto copied = co_await copy->run();
    if (!copied) co_return fail(copied.error());
    out.push_back(std::move(*copied));
  }
  co_return out;
}

}  // namespace freshet::engines
