#include "runtime/definitions/shared_definitions.h"

#include <algorithm>
#include <iterator>

#include "runtime/definitions/shared_code.h"
#include "runtime/invoke/codec.h"
#include "runtime/invoke/function_qualifiers.h"
#include "streams/arn.h"
#include "streams/fifo_record.h"
#include "streams/system_table.h"
#include "streams/topic_records.h"

namespace freshet {

namespace {

// An item of the system table that is a copy of the fleet's. A change that a daemon makes alone removes the mark.
constexpr std::string_view kShared = "shared";

constexpr seconds kLookAgain{30};  // For code that could not be brought.

// In the order in which items are followed, as later ones need earlier ones.
constexpr std::string_view kKinds[] = {kTopicKind, kFunctionKind, kQualifiersKind, kSubscriptionKind};

size_t order_of(std::string_view kind) {
  return static_cast<size_t>(std::find(std::begin(kKinds), std::end(kKinds), kind) - std::begin(kKinds));
}
bool is_shared_kind(std::string_view kind) {
  return order_of(kind) < std::size(kKinds);
}

DefinitionKey key_of(const Item& item) {
  return {std::string(item.string_or("kind")), std::string(item.string_or("id"))};
}
DefinitionKey key_of(const WriteInput& write) {
  if (const auto* put = std::get_if<PutItemInput>(&write)) return key_of(put->item);
  if (const auto* gone = std::get_if<DeleteItemInput>(&write)) return key_of(gone->key);
  return {};
}

Item marked(Item item) {
  item.set(kShared, Value::boolean(true));
  return item;
}
// The name of the folder with the function's uploaded code; empty: it has none.
std::string code_folder(const Item& item) {
  if (item.string_or("kind") != kFunctionKind || !item.contains("codeSha256")) return {};
  const std::string_view code = item.string_or("code");
  return std::string(code.substr(code.rfind('/') + 1));
}

// Each daemon has uploaded code in a folder of its own, so only its name is shared.
Item as_shared(Item item) {
  item.erase(kShared);
  if (std::string folder = code_folder(item); !folder.empty()) item.set("code", Value(std::move(folder)));
  return item;
}

// Adds the condition that the code is there which the write names.
void add_check(const WriteInput& write, std::set<std::string>& checked, std::vector<WriteInput>& checks) {
  const auto* put = std::get_if<PutItemInput>(&write);
  std::string folder = put ? code_folder(put->item) : std::string();
  if (folder.empty() || !checked.insert(folder).second) return;
  checks.emplace_back(is_there(folder));
}

std::set<std::string> names_in(const Item& item, std::string_view member) {
  std::set<std::string> names;
  const Value* value = item.find(member);
  const List* list = value ? value->get_if<List>() : nullptr;
  if (!list) return names;
  for (const Value& one : list->elements) {
    if (const auto* text = one.get_if<std::string>()) names.insert(*text);
  }
  return names;
}

WriteInput put_shared(Item item) {
  PutItemInput put;
  put.table = kDefinitionsTable;
  put.item = as_shared(std::move(item));
  return put;
}

// The write of the shared table that stands beside one of the system table.
WriteInput beside(const WriteInput& write) {
  if (const auto* put = std::get_if<PutItemInput>(&write)) return put_shared(put->item);
  DeleteItemInput gone = std::get<DeleteItemInput>(write);
  gone.table = kDefinitionsTable;
  return gone;
}

size_t bytes_of(const WriteInput& write) {
  const auto* put = std::get_if<PutItemInput>(&write);
  return put ? billed_size(put->item) : 0;
}

GetItemInput get_shared(const DefinitionKey& key) {
  GetItemInput get = get_system_item(key.kind, key.id);
  get.table = kDefinitionsTable;
  return get;
}

}  // namespace

SharedDefinitions::SharedDefinitions(DefinitionSharing sharing, Tables& own, Scheduler& scheduler, Random& random,
                                     EventLog log, DefinitionFollower& follower)
    : sharing_(std::move(sharing)),
      own_(own),
      scheduler_(scheduler),
      random_(random),
      log_(std::move(log)),
      follower_(follower) {}

std::string SharedDefinitions::cannot_read(const Error& error) {
  return "the definitions of the fleet cannot be read at the moment, try again: " + error.message;
}

// Versions, aliases and policies are the function's.
DefinitionName SharedDefinitions::owner_of(const DefinitionKey& key) {
  if (key.kind == kFunctionKind) return function_by_name(std::string(plain_name(key.id)));
  if (key.kind == kQualifiersKind) return function_by_name(key.id);
  return {key.kind, key.id};
}

Item SharedDefinitions::as_own(Item item) const {
  const std::string folder = code_folder(item);
  if (!folder.empty() && sharing_.code) item.set("code", Value(sharing_.code->path_of(folder)));
  return marked(std::move(item));
}

bool SharedDefinitions::TemplateNames::has(const DefinitionName& what) const {
  if (what.kind == kTopicKind) return topics.contains(what.name);
  if (what.kind != kSubscriptionKind) return functions.contains(what.name);
  const size_t colon = what.name.rfind(':');
  if (colon == std::string::npos) return false;
  return subscriptions.contains(topic_name(what.name.substr(0, colon)) + what.name.substr(colon));
}

// A deployment writes its record before it changes anything (runtime/deploy/apply.cc).
Async<Result<SharedDefinitions::TemplateNames>> SharedDefinitions::template_names() {
  GetItemInput get = get_system_item("deployment", "current");
  auto record = co_await own_.get_item(std::move(get));
  if (!record) co_return fail(std::move(record.error()));
  if (!*record) co_return TemplateNames();
  const Item item = record->decode();
  TemplateNames names;
  names.functions = names_in(item, "functions");
  names.topics = names_in(item, "topics");
  names.subscriptions = names_in(item, "subscriptions");
  co_return names;
}

Async<Result<bool>> SharedDefinitions::is_of_template(DefinitionName what) {
  auto names = co_await template_names();
  if (!names) co_return fail(std::move(names.error()));
  co_return names->has(what);
}

Async<Result<void>> SharedDefinitions::write(DefinitionName what, std::vector<WriteInput> writes) {
  auto names = co_await template_names();
  if (!names) co_return fail(std::move(names.error()));
  const bool is_own = names->has(what);
  if (!is_own && !may_write_) {
    co_return fail(ErrorCode::kUnavailable, "a deployment has changed what the template defines meanwhile: try again");
  }
  std::vector<WriteInput> shared;
  for (WriteInput& write : writes) {
    const DefinitionKey key = key_of(write);
    if (is_own || !is_shared_kind(key.kind) || names->has(owner_of(key))) continue;
    shared.push_back(beside(write));
    if (auto* put = std::get_if<PutItemInput>(&write)) put->item = marked(std::move(put->item));
  }
  if (shared.empty()) {
    auto alone = co_await write_together(own_, std::move(writes));
    co_return alone;
  }
  uint64_t version = version_;
  auto written = co_await write_shared(std::move(shared), version);
  if (!written) co_return written;
  auto kept = co_await write_together(own_, std::move(writes));
  if (!kept) co_return kept;  // The next change or read follows what was written.
  version_ = version;
  announce();
  if (what.kind == kFunctionKind) sweep_code_later();
  co_return kept;
}

// In groups, in their order. After an error, the first ones may be written: they are followed like those of others.
Async<Result<void>> SharedDefinitions::write_shared(std::vector<WriteInput> shared, uint64_t& version) {
  for (size_t next = 0; next < shared.size();) {
    DefinitionChange change{version + 1, random_.uuid(), {}};
    std::vector<WriteInput> group;
    std::vector<WriteInput> checks;
    std::set<std::string> checked;
    for (size_t bytes = 0; next < shared.size() && group.size() + checks.size() + 1 < kMaxDefinitionWrites; ++next) {
      bytes += bytes_of(shared[next]);
      if (!group.empty() && bytes > kMaxDefinitionBytes) break;
      add_check(shared[next], checked, checks);
      change.keys.push_back(key_of(shared[next]));
      group.push_back(std::move(shared[next]));
    }
    auto making =
        change_definitions(sharing_.engine, scheduler_, std::move(change), std::move(group), std::move(checks));
    auto made = co_await making;
    if (!made) co_return fail(std::move(made.error()));
    if (!*made) {
      is_stale_ = true;
      co_return fail(ErrorCode::kConflict, "another daemon of the fleet has changed definitions meanwhile");
    }
    ++version;
  }
  co_return Result<void>();
}

void SharedDefinitions::announce() {
  if (sharing_.announce) sharing_.announce();
}

Async<Result<void>> SharedDefinitions::compare() {
  std::function<Async<Result<void>>()> in_turn = [this] { return compare_now(); };
  return turns_.run<Result<void>>(std::move(in_turn));
}

Async<Result<void>> SharedDefinitions::refresh() {
  std::function<Async<Result<void>>()> in_turn = [this] { return catch_up(); };
  auto following = turns_.run<Result<void>>(std::move(in_turn));
  auto followed = co_await following;
  if (!followed) co_return fail(ErrorCode::kUnavailable, cannot_read(followed.error()));
  co_return followed;
}

bool SharedDefinitions::lacks(const DefinitionName& what) const {
  return std::any_of(lacking_.begin(), lacking_.end(), [&](const DefinitionKey& key) {
    const DefinitionName owner = owner_of(key);
    return owner.kind == what.kind && owner.name == what.name;
  });
}

bool SharedDefinitions::must_look_again() const {
  return !lacking_.empty() && scheduler_.clock().boot() >= look_again_;
}

void SharedDefinitions::newest_is(uint64_t version) {
  newest_ = std::max(newest_, version);
  if ((newest_ <= version_ && !must_look_again()) || std::exchange(is_following_, true)) return;
  scope_.spawn(follow_newest());
}

// After an error, the next one that reads the newest version tries again.
Async<void> SharedDefinitions::follow_newest() {
  std::string trouble;
  while ((newest_ > version_ || must_look_again()) && trouble.empty()) {
    std::function<Async<Result<void>>()> in_turn = [this] { return catch_up(); };
    auto following = turns_.run<Result<void>>(std::move(in_turn));
    auto followed = co_await following;
    if (!followed) trouble = followed.error().message;
  }
  if (!trouble.empty() && trouble != trouble_) log_.warn("DEFINITIONS_NOT_FOLLOWED", {{"message", trouble}});
  trouble_ = std::move(trouble);
  is_following_ = false;
}

Async<Result<void>> SharedDefinitions::catch_up() {
  if (!is_compared_) co_return co_await compare_now();
  auto changes = co_await definition_changes(sharing_.engine, version_);
  if (!changes) co_return fail(std::move(changes.error()));
  uint64_t version = version_;
  std::set<DefinitionKey> keys;
  for (const DefinitionChange& change : *changes) {
    if (change.version != ++version) co_return co_await compare_now();  // It has missed too many.
    keys.insert(change.keys.begin(), change.keys.end());
  }
  if (must_look_again()) {
    keys.insert(lacking_.begin(), lacking_.end());
    look_again_ = scheduler_.clock().boot() + kLookAgain;
  }
  if (keys.empty()) co_return Result<void>();
  std::vector<GetItemInput> reads;
  for (const DefinitionKey& key : keys) reads.push_back(get_shared(key));
  auto items = co_await sharing_.engine.read_many(std::move(reads));
  std::vector<Found> found;
  for (size_t i = 0; const DefinitionKey& key : keys) {
    auto& read = items[i++];
    if (!read) co_return fail(std::move(read.error()));
    Found one{key};
    if (read->item) one.item = read->item.decode();
    found.push_back(std::move(one));
  }
  const size_t count = found.size();
  auto followed = co_await follow(std::move(found));
  if (!followed) co_return followed;
  version_ = version;
  log_.info("DEFINITIONS_FOLLOWED", {{"version", version}, {"items", count}});
  co_return followed;
}

Async<Result<void>> SharedDefinitions::compare_now() {
  Result<void> done;
  is_stale_ = true;
  for (int tries = 0; tries < kMostTries && is_stale_; ++tries) {
    is_stale_ = false;
    done = co_await compare_once();
  }
  co_return done;
}

Async<Result<void>> SharedDefinitions::compare_once() {
  is_compared_ = false;
  const auto newest = co_await newest_definitions(sharing_.engine);
  if (!newest) co_return fail(newest.error());
  auto names = co_await template_names();
  if (!names) co_return fail(std::move(names.error()));
  std::vector<Found> found;
  std::vector<Item> mine;
  for (const std::string_view kind : kKinds) {
    auto items = co_await load_items_of(sharing_.engine, kDefinitionsTable, std::string(kind), "");
    if (!items) co_return fail(std::move(items.error()));
    std::set<DefinitionKey> there;
    for (const ItemRef& ref : *items) {
      Found one{key_of(ref.decode()), ref.decode()};
      there.insert(one.key);
      found.push_back(std::move(one));
    }
    auto own = co_await load_system_items(own_, std::string(kind));
    if (!own) co_return fail(std::move(own.error()));
    for (const ItemRef& ref : *own) {
      Item item = ref.decode();
      const DefinitionKey key = key_of(item);
      if (there.contains(key) || names->has(owner_of(key))) continue;
      if (item.contains(kShared)) {
        found.push_back({key});
      } else {
        mine.push_back(std::move(item));
      }
    }
  }
  auto followed = co_await follow(std::move(found));
  if (!followed) co_return followed;
  version_ = *newest;
  is_compared_ = true;
  sweep_code_later();
  if (mine.empty()) co_return followed;
  auto brought = co_await bring_along(std::move(mine));
  if (!brought) is_compared_ = false;
  co_return brought;
}

Async<Result<void>> SharedDefinitions::bring_along(std::vector<Item> items) {
  auto giving = with_code(std::move(items));
  auto given = co_await giving;
  if (!given) co_return fail(std::move(given.error()));
  if (given->empty()) co_return Result<void>();
  std::vector<WriteInput> shared;
  std::vector<WriteInput> marks;
  for (Item& item : *given) {
    shared.push_back(put_shared(item));
    marks.emplace_back(put_system_item(marked(std::move(item))));
  }
  const size_t count = shared.size();
  uint64_t version = version_;
  auto written = co_await write_shared(std::move(shared), version);
  if (written) written = co_await write_together(own_, std::move(marks));
  if (!written) co_return written;
  version_ = version;
  announce();
  log_.info("DEFINITIONS_BROUGHT", {{"version", version}, {"items", count}});
  co_return written;
}

// The fleet has the code first. A function whose code is lost stays this daemon's own.
Async<Result<std::vector<Item>>> SharedDefinitions::with_code(std::vector<Item> items) {
  std::vector<Item> given;
  for (Item& item : items) {
    std::string folder = code_folder(item);
    if (!folder.empty() && sharing_.code) {
      const std::string function(item.string_or("id"));
      auto giving = sharing_.code->give(std::move(folder));
      auto gave = co_await giving;
      const bool is_lost = !gave && gave.error().code == ErrorCode::kNotFound;
      if (is_lost) log_.warn("DEFINITION_LEFT", {{"function", function}, {"message", gave.error().message}});
      if (is_lost) continue;
      if (!gave) co_return fail(std::move(gave.error()));
    }
    given.push_back(std::move(item));
  }
  co_return given;
}

// A little later than code may be removed that was just written.
void SharedDefinitions::sweep_code_later() {
  must_sweep_ = true;
  if (sharing_.code && !std::exchange(is_sweeping_, true)) scope_.spawn(sweep_code());
}

Async<void> SharedDefinitions::sweep_code() {
  while (std::exchange(must_sweep_, false)) {  // Code of a change meanwhile is too new this time.
    co_await sleep_for(scheduler_, kCodeIsNewFor + seconds(5));
    std::function<Async<Result<size_t>>()> in_turn = [this] { return sweep_code_now(); };
    auto sweeping = turns_.run<Result<size_t>>(std::move(in_turn));
    const auto swept = co_await sweeping;  // After an error, the next change of a function or the next start does it.
    if (swept && *swept > 0) log_.info("DEFINITIONS_CODE_REMOVED", {{"archives", *swept}});
  }
  is_sweeping_ = false;
}

Async<Result<size_t>> SharedDefinitions::sweep_code_now() {
  auto followed = co_await catch_up();
  if (!followed) co_return fail(std::move(followed.error()));
  auto functions = co_await load_items_of(sharing_.engine, kDefinitionsTable, std::string(kFunctionKind), "");
  if (!functions) co_return fail(std::move(functions.error()));
  std::set<std::string> used;
  for (const ItemRef& ref : *functions) used.insert(code_folder(ref.decode()));
  auto removing = remove_unused_code(sharing_.engine, scheduler_, std::move(used), version_);
  co_return co_await removing;
}

// First what is there, then what is gone, the other way round.
Async<Result<void>> SharedDefinitions::follow(std::vector<Found> found) {
  auto names = co_await template_names();
  if (!names) co_return fail(std::move(names.error()));
  std::erase_if(found,
                [&](const Found& one) { return !is_shared_kind(one.key.kind) || names->has(owner_of(one.key)); });
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    if (a.item.has_value() != b.item.has_value()) return a.item.has_value();
    const size_t first = order_of(a.key.kind);
    const size_t second = order_of(b.key.kind);
    return a.item ? first < second : first > second;
  });
  for (Found& one : found) {
    auto followed = co_await follow_one(std::move(one));
    if (!followed) co_return followed;
  }
  co_return Result<void>();
}

Async<Result<void>> SharedDefinitions::follow_one(Found found) {
  GetItemInput get = get_system_item(found.key.kind, found.key.id);
  auto before = co_await own_.get_item(std::move(get));
  if (!before) co_return fail(std::move(before.error()));
  std::vector<WriteInput> writes;
  lacking_.erase(found.key);
  std::shared_ptr<const void> code;  // The folder stays until the function names it.
  if (found.item) {
    if (std::string folder = code_folder(*found.item); !folder.empty() && sharing_.code) {
      auto bringing = sharing_.code->bring(std::move(folder));
      auto brought = co_await bringing;
      if (!brought && is_passing(brought.error())) co_return fail(std::move(brought.error()));
      if (!brought) {
        log_.warn("DEFINITION_LEFT", {{"function", found.key.id}, {"message", brought.error().message}});
        lacking_.insert(found.key);
        look_again_ = scheduler_.clock().boot() + kLookAgain;
        co_return Result<void>();
      }
      code = std::move(*brought);
    }
    found.item = as_own(std::move(*found.item));
    if (!*before || !(before->decode() == *found.item)) writes.emplace_back(put_system_item(*found.item));
    if (found.key.kind == kTopicKind && found.key.id.ends_with(kFifoSuffix)) {
      auto there = co_await ensure_deduplication_table(own_);
      if (!there) co_return there;
    }
  } else {
    if (*before) writes.emplace_back(delete_system_item(found.key.kind, found.key.id));
    if (*before && found.key.kind == kTopicKind) {
      writes.emplace_back(delete_system_item(kSequenceKind, found.key.id));
    }
  }
  if (!writes.empty()) {
    auto written = co_await write_together(own_, std::move(writes));
    if (!written) co_return written;
  }
  follower_.follow(found.key, found.item ? &*found.item : nullptr);
  co_return Result<void>();
}

}  // namespace freshet
