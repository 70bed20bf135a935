#include "runtime/definitions/shared_definitions.h"

#include <algorithm>

#include "runtime/definitions/definition_items.h"
#include "runtime/definitions/shared_code.h"
#include "runtime/invoke/codec.h"
#include "runtime/invoke/function_qualifiers.h"
#include "streams/arn.h"
#include "streams/fifo_record.h"
#include "streams/system_table.h"
#include "streams/topic_records.h"

namespace freshet {

namespace {

constexpr seconds kLookAgain{30};  // For what could not be followed.

}  // namespace

SharedDefinitions::SharedDefinitions(DefinitionSharing sharing, Tables& own, Scheduler& scheduler, Random& random,
                                     EventLog log, DefinitionFollower& follower)
    : sharing_(std::move(sharing)),
      own_(own),
      scheduler_(scheduler),
      random_(random),
      log_(std::move(log)),
      follower_(follower) {
  if (sharing_.code) sharing_.code->on_given = [this] { sweep_code_later(); };
}

SharedDefinitions::~SharedDefinitions() {
  if (sharing_.code) sharing_.code->on_given = nullptr;
}

std::string SharedDefinitions::cannot_read(const Error& error) {
  return "the definitions of the fleet cannot be read at the moment, try again: " + error.message;
}

Item SharedDefinitions::as_own(Item item) const {
  const std::string folder = code_folder(item);
  if (!folder.empty() && sharing_.code) item.set("code", Value(sharing_.code->path_of(folder)));
  return marked(std::move(item));
}

bool SharedDefinitions::TemplateNames::has(const DefinitionName& what) const {
  if (what.kind == kTopicKind) return topics.contains(what.name);
  if (what.kind == kMappingKind) return mappings.contains(what.name);
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
  names.mappings = names_in(item, "mappings");
  co_return names;
}

Async<Result<bool>> SharedDefinitions::is_of_template(DefinitionName what) {
  auto names = co_await template_names();
  if (!names) co_return fail(std::move(names.error()));
  co_return names->has(what);
}

namespace {

// If the writes make the fleet's function the template's, its versions, aliases and policies go here: adds that to the
// writes. Returns their keys. The writes outlive it.
Async<Result<std::vector<DefinitionKey>>> leave_function(Tables& own, std::string name,
                                                         std::vector<WriteInput>& writes) {
  std::vector<DefinitionKey> gone;
  const DefinitionKey latest{std::string(kFunctionKind), name};
  const bool puts = std::any_of(writes.begin(), writes.end(), [&](const WriteInput& write) {
    return std::holds_alternative<PutItemInput>(write) && key_of(write) == latest;
  });
  if (!puts) co_return gone;
  GetItemInput get = get_system_item(kFunctionKind, name);
  auto before = co_await own.get_item(std::move(get));
  if (!before) co_return fail(std::move(before.error()));
  if (!*before || !is_marked(before->decode())) co_return gone;
  auto versions = co_await load_items_of(own, std::string(kSystemTable), std::string(kFunctionKind), name + ":");
  if (!versions) co_return fail(std::move(versions.error()));
  for (const ItemRef& version : *versions) gone.push_back(key_of(version.decode()));
  gone.push_back({std::string(kQualifiersKind), name});
  for (const DefinitionKey& key : gone) writes.emplace_back(delete_system_item(key.kind, key.id));
  co_return gone;
}

}  // namespace

Async<Result<void>> SharedDefinitions::write(DefinitionName what, std::vector<WriteInput> writes) {
  auto names = co_await template_names();
  if (!names) co_return fail(std::move(names.error()));
  const bool is_own = names->has(what);
  if (!is_own && !may_write_) {
    co_return fail(ErrorCode::kUnavailable, "a deployment has changed what the template defines meanwhile: try again");
  }
  // The template's subscription is counted by its topic. A client's topic stays as the fleet has it.
  if (is_own) {
    std::erase_if(writes, [&](const WriteInput& write) {
      const DefinitionKey key = key_of(write);
      return std::holds_alternative<PutItemInput>(write) && is_shared_kind(key.kind) && !names->has(owner_of(key));
    });
  }
  std::vector<DefinitionKey> gone;
  if (is_own && what.kind == kFunctionKind) {
    auto leaving = leave_function(own_, what.name, writes);
    auto left = co_await leaving;
    if (!left) co_return fail(std::move(left.error()));
    gone = std::move(*left);
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
    for (const DefinitionKey& key : gone) {
      if (alone) follower_.follow(key, nullptr);
    }
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

namespace {

bool is_new_owner(const std::vector<WriteInput>& writes, size_t at) {
  return at > 0 && owner_of(key_of(writes[at])) != owner_of(key_of(writes[at - 1]));
}

// False: the writes of one owner that begin there fit into a group of their own, but not into one that has so much.
bool fits(const std::vector<WriteInput>& writes, size_t begin, size_t count, size_t bytes) {
  const size_t before = bytes;
  size_t more = 0;
  for (size_t at = begin; at < writes.size() && (at == begin || !is_new_owner(writes, at)); ++at) {
    more += 2;  // With the check of its code.
    if (at > begin) bytes += bytes_of(writes[at]);
  }
  const size_t own_bytes = bytes - before + bytes_of(writes[begin]);
  const bool fits_alone = more + 1 < kMaxDefinitionWrites && own_bytes <= kMaxDefinitionBytes;
  return !fits_alone || (count + more + 1 < kMaxDefinitionWrites && bytes <= kMaxDefinitionBytes);
}

}  // namespace

// In groups, in their order; what belongs together is in one group if it fits. After an error, the first ones may be
// written: they are followed like those of others.
Async<Result<void>> SharedDefinitions::write_shared(std::vector<WriteInput> shared, uint64_t& version) {
  for (size_t next = 0; next < shared.size();) {
    DefinitionChange change{version + 1, random_.uuid(), {}};
    std::vector<WriteInput> group;
    std::vector<WriteInput> checks;
    std::set<std::string> checked;
    for (size_t bytes = 0; next < shared.size() && group.size() + checks.size() + 1 < kMaxDefinitionWrites; ++next) {
      bytes += bytes_of(shared[next]);
      if (!group.empty() && bytes > kMaxDefinitionBytes) break;
      if (is_new_owner(shared, next) && !fits(shared, next, group.size() + checks.size(), bytes)) break;
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
  const Promise<Result<void>> done(scheduler_);
  refreshing_.push_back(done);
  if (refreshing_.size() == 1) scope_.spawn(refresh_in_turn());
  return within<Result<void>>(kLongestWait, done, Result<void>(has_waited()));
}

Async<void> SharedDefinitions::refresh_in_turn() {
  std::function<Async<Result<void>>()> in_turn = [this] { return refresh_now(); };
  auto refreshing = turns_.run<Result<void>>(std::move(in_turn));
  co_await refreshing;
}

Async<Result<void>> SharedDefinitions::refresh_now() {
  const std::vector<Promise<Result<void>>> waiting = std::exchange(refreshing_, {});
  auto followed = co_await catch_up();
  Result<void> out;
  if (!followed) out = fail(ErrorCode::kUnavailable, cannot_read(followed.error()));
  for (const auto& one : waiting) one.set(out);
  co_return out;
}

Async<void> SharedDefinitions::look_for_new() {
  const Promise<bool> done(scheduler_);
  looking_.push_back(done);
  if (looking_.size() == 1) scope_.spawn(look_in_time());
  co_await within<bool>(kLongestLook, done, false);
}

Async<void> SharedDefinitions::begin_in_time(std::shared_ptr<Begin> begin) {
  const Promise<bool> done = begin->done;
  const bool has_begun = co_await within<bool>(kLongestWait, done, false);
  begin->is_given_up = !has_begun;
}

Async<void> SharedDefinitions::look_in_time() {
  co_await sleep_until(scheduler_, may_look_);
  may_look_ = scheduler_.clock().boot() + kLookPause;
  const std::vector<Promise<bool>> waiting = std::exchange(looking_, {});
  auto looking = refresh();
  co_await looking;
  for (const auto& one : waiting) one.set(true);
}

tl::unexpected<Error> SharedDefinitions::has_waited() {
  return fail(ErrorCode::kUnavailable, "it waits for others, or for the fleet's store: try again");
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
    const uint64_t before = version_;
    auto following = turns_.run<Result<void>>(std::move(in_turn));
    auto followed = co_await following;
    if (!followed) trouble = followed.error().message;
    if (!followed || newest_ <= version_ || version_ != before) continue;
    is_compared_ = false;  // The log does not have what is newer: the next read compares.
    break;
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
  auto followed = co_await follow(std::move(found));
  if (!followed) co_return fail(std::move(followed.error()));
  const bool is_newer = std::exchange(version_, version) != version;
  if (is_newer || followed->count > 0) {
    log_.info("DEFINITIONS_FOLLOWED", {{"version", version}, {"items", followed->count}});
  }
  co_return Result<void>();
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

// First what is there, then what is gone, the other way round. One that cannot be followed does not hold up the others.
Async<Result<SharedDefinitions::Followed>> SharedDefinitions::follow(std::vector<Found> found) {
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    if (a.item.has_value() != b.item.has_value()) return a.item.has_value();
    const size_t first = order_of(a.key.kind);
    const size_t second = order_of(b.key.kind);
    return a.item ? first < second : first > second;
  });
  Followed all;
  for (Found& one : found) {
    const DefinitionKey key = one.key;
    auto followed = co_await follow_one(std::move(one));
    if (followed) {
      lacking_.erase(key);
      all.count += *followed ? 1 : 0;
      continue;
    }
    if (is_passing(followed.error()) && !all.passing) all.passing = followed.error();
    if (lacking_.insert(key).second) log_left(key, followed.error());
    look_again_ = scheduler_.clock().boot() + kLookAgain;
  }
  co_return all;
}

void SharedDefinitions::log_left(const DefinitionKey& key, const Error& error) const {
  log_.warn("DEFINITION_LEFT", {{owner_of(key).kind, key.id}, {"message", error.message}});
}

// False: it is the template's. A deployment may take the name over while code is brought.
Async<Result<bool>> SharedDefinitions::follow_one(Found found) {
  if (!is_shared_kind(found.key.kind)) co_return false;
  std::shared_ptr<const void> code;  // The folder stays until the function names it.
  for (const bool may_bring : {true, false}) {
    auto own = co_await is_of_template(owner_of(found.key));
    if (!own) co_return fail(std::move(own.error()));
    if (*own) co_return false;
    std::string folder = found.item && sharing_.code ? code_folder(*found.item) : std::string();
    if (!may_bring || folder.empty()) break;
    auto bringing = sharing_.code->bring(std::move(folder));
    auto brought = co_await bringing;
    if (!brought) co_return fail(std::move(brought.error()));
    code = std::move(*brought);
  }
  GetItemInput get = get_system_item(found.key.kind, found.key.id);
  auto before = co_await own_.get_item(std::move(get));
  if (!before) co_return fail(std::move(before.error()));
  std::vector<WriteInput> writes;
  if (found.item) {
    found.item = as_own(std::move(*found.item));
    if (!*before || !(before->decode() == *found.item)) writes.emplace_back(put_system_item(*found.item));
    if (found.key.kind == kTopicKind && found.key.id.ends_with(kFifoSuffix)) {
      auto there = co_await ensure_deduplication_table(own_);
      if (!there) co_return fail(std::move(there.error()));
    }
  } else {
    if (*before) writes.emplace_back(delete_system_item(found.key.kind, found.key.id));
    if (*before && found.key.kind == kTopicKind) {
      writes.emplace_back(delete_system_item(kSequenceKind, found.key.id));
    }
  }
  if (!writes.empty()) {
    auto written = co_await write_together(own_, std::move(writes));
    if (!written) co_return fail(std::move(written.error()));
  }
  follower_.follow(found.key, found.item ? &*found.item : nullptr);
  co_return true;
}

}  // namespace freshet
