#include "tables/owned/owned_tables.h"

#include <algorithm>
#include <utility>

#include "base/points.h"
#include "tables/owned/kept.h"

namespace freshet {

namespace {

StoreTraits with_index_and_books(StoreTraits traits) {
  traits.exact_index = traits.books = traits.whole_items = true;
  return traits;
}

constexpr milliseconds kRoomLook{20};
constexpr seconds kRoomPatience{2};
constexpr seconds kLookLater{10};  // Longer than a store takes for any write that it will still carry out.

template <class Input>
std::vector<std::string> tables_of(const std::vector<Input>& inputs) {
  std::vector<std::string> out;
  for (const auto& input : inputs) {
    if constexpr (std::is_same_v<Input, WriteInput>) {
      out.push_back(std::visit([](const auto& one) { return one.table; }, input));
    } else {
      out.push_back(input.table);
    }
  }
  return out;
}

size_t item_bytes(const EditItemInput& edit) {
  std::string bytes;
  for (const auto& one : edit.edits) {
    if (one.value) append_encoded(bytes, *one.value);
  }
  return edit.seen.encoded().size() + bytes.size();
}

// The size of the item, as far as the input shows it.
size_t item_bytes(const WriteInput& input) {
  std::string bytes;
  if (const auto* put = std::get_if<PutItemInput>(&input)) append_encoded(bytes, put->item);
  if (const auto* update = std::get_if<UpdateItemInput>(&input)) append_encoded(bytes, update->placeholders.values);
  return bytes.size();
}

bool is_check(const EditItemInput& /*edit*/) {
  return false;
}

bool is_create(const EditItemInput& /*edit*/) {
  return false;
}

bool is_check(const WriteInput& input) {
  return std::holds_alternative<ConditionCheckInput>(input);
}

bool is_create(const WriteInput& input) {
  const auto* put = std::get_if<PutItemInput>(&input);
  return put && put->only_new;
}

std::vector<Result<WriteOutput>> refused(size_t writes, const Error& why) {
  return std::vector<Result<WriteOutput>>(writes, Result<WriteOutput>(fail(why)));
}

bool is_unknown(const Result<WriteOutput>& answer) {
  return !answer && answer.error().code == ErrorCode::kUnknownOutcome;
}

bool is_refused(const Result<WriteOutput>& answer) {
  return !answer && answer.error().code == ErrorCode::kConditionalCheckFailed;
}

// Asks each write for an image, in addition to what its caller wants: puts and deletes for the item before, updates for
// the item after.
WriteInput with_images(WriteInput input) {
  if (auto* put = std::get_if<PutItemInput>(&input)) {
    if (!put->only_new) put->return_values = ReturnValues::kAllOld;
  } else if (auto* gone = std::get_if<DeleteItemInput>(&input)) {
    gone->return_values = ReturnValues::kAllOld;
  } else if (auto* update = std::get_if<UpdateItemInput>(&input)) {
    if (update->return_values == ReturnValues::kNone) update->return_values = ReturnValues::kAllNew;
  }
  return input;
}

ReturnValues wanted_by(const WriteInput& input) {
  return std::visit(
      [](const auto& one) {
        if constexpr (requires { one.return_values; }) return one.return_values;
        return ReturnValues::kNone;
      },
      input);
}

// The item after a write that was carried out; empty: the answer does not say.
std::optional<ItemRef> image_after(const WriteInput& input, const WriteOutput& answer) {
  if (const auto* put = std::get_if<PutItemInput>(&input)) return ItemRef::encode(put->item);
  if (std::get_if<DeleteItemInput>(&input)) return ItemRef();
  const auto* update = std::get_if<UpdateItemInput>(&input);
  if (update && update->return_values == ReturnValues::kAllNew) return answer.attributes;
  return std::nullopt;
}

bool names(const std::string& expression, const Placeholders& placeholders, const std::string& attribute) {
  if (expression.find(attribute) != std::string::npos) return true;
  return std::any_of(placeholders.names.begin(), placeholders.names.end(),
                     [&](const auto& name) { return name.second == attribute; });
}

}  // namespace

// Writes in flight. If the caller goes away before the answer, the outcome of its write is unknown.
class OwnedTables::Writing {
 public:
  Writing(OwnedTables& tables, std::vector<Written> writes) : tables_(tables), writes_(std::move(writes)) {
    for (auto& write : writes_) {
      write.call = tables_.recent_.begin_call();
      if (KeptBooks* books = tables_.books_of(write.table)) books->sent(hash_of(write.key));
    }
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  ~Writing() {
    for (; done_ < writes_.size(); ++done_) {
      const Written& write = writes_[done_];
      tables_.has_no_answer(write);
      tables_.over(write, std::nullopt);
    }
  }

  Written& next() { return writes_[done_]; }
  // The next write was answered, and its outcome has been recorded.
  void over() {
    const Written& write = writes_[done_++];
    if (tables_.books_of(write.table) == nullptr) return;
    const auto now = tables_.recent_.find(write.table, write.key);
    tables_.over(write, tables_.place_of(write.table, now ? now : write.before));
  }

 private:
  OwnedTables& tables_;
  std::vector<Written> writes_;
  size_t done_ = 0;
};

// The room that writes in flight have reserved.
class OwnedTables::Room {
 public:
  explicit Room(RecentWrites& recent) : recent_(recent) {}
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  ~Room() { give_back(); }

  void take(size_t bytes) { recent_.take_room(bytes_ = bytes); }
  void give_back() { recent_.give_room(std::exchange(bytes_, 0)); }

 private:
  RecentWrites& recent_;
  size_t bytes_ = 0;
};

uint64_t OwnedTables::hash_of(const Item& key) {
  std::string bytes;
  append_encoded(bytes, key);
  return std::hash<std::string>{}(bytes);
}

OwnedTables::OwnedTables(Tables& store, Tables& memory, Scheduler& scheduler, OwnedOptions options)
    : store_(store),
      scheduler_(scheduler),
      options_(std::move(options)),
      traits_(with_index_and_books(store.traits())),
      recent_(memory, options_.version, options_.recent) {}

OwnedTables::~OwnedTables() {
  scope_.clear();
}

void OwnedTables::over(const Written& write, const std::optional<KeptBooks::At>& now) {
  if (KeptBooks* books = books_of(write.table)) books->over(hash_of(write.key), now);
  wake_counter(write.table);
}

Item OwnedTables::key_in(const Item& item, const std::string& table) const {
  Item key;
  const TableDefinition* definition = recent_.definition(table);
  if (definition == nullptr) return key;
  for (const KeyAttribute* attribute : definition->keys.attributes()) {
    if (const Value* value = item.find(attribute->name)) key.set(attribute->name, *value);
  }
  return key;
}

OwnedTables::Written OwnedTables::written_by(const EditItemInput& input) {
  Written out{input.table, key_in(input.seen.decode(), input.table), recent_.id(input.table)};
  const auto known = recent_.find(input.table, out.key);
  out.before = known ? *known : input.seen;
  out.is_seen_in_index = !known;
  out.cause = input.cause;
  const bool raises = std::any_of(input.edits.begin(), input.edits.end(),
                                  [this](const auto& edit) { return edit.name == options_.version; });
  if (raises) out.seen = input.seen;
  return out;
}

OwnedTables::Written OwnedTables::written_by(const WriteInput& input) {
  Written out;
  std::visit(
      [&](const auto& one) {
        out.table = one.table;
        if constexpr (requires { one.item; }) {
          out.key = key_in(one.item, one.table);
        } else {
          out.key = key_in(one.key, one.table);
        }
        if constexpr (requires { one.cause; }) out.cause = one.cause;
      },
      input);
  out.table_id = recent_.id(out.table);
  out.before = recent_.find(out.table, out.key);
  const auto* put = std::get_if<PutItemInput>(&input);
  if (put && put->only_new) out.is_new = true;
  if (put && put->only_new && !out.before) out.before = ItemRef();
  const auto kept = kept_.find(out.table);
  const auto* update = std::get_if<UpdateItemInput>(&input);
  if (update && kept != kept_.end()) {
    out.may_move = names(update->update, update->placeholders, kept->second->definition.status_attribute);
  }
  return out;
}

// Reads the definition of each table once. If one cannot be read, it stops: the call itself then reports the reason.
Async<void> OwnedTables::know_tables(std::vector<std::string> tables) {
  std::sort(tables.begin(), tables.end());
  tables.erase(std::unique(tables.begin(), tables.end()), tables.end());
  for (auto& table : tables) {
    if (recent_.definition(table) != nullptr) continue;
    const auto described = co_await describe_table(std::move(table));
    if (!described) co_return;
  }
}

// Writes of new items leave some room for changes, which never fail for lack of room. Changes of items that are
// remembered already do not wait. A large create waits longest: smaller ones that come later wait behind it. `inputs`
// and `room` must outlive the Async.
template <class Input>
Async<Result<void>> OwnedTables::find_room(const std::vector<Input>& inputs, Room& room) {
  const auto is_remembered = [this](const Input& input) {
    const Written write = written_by(input);
    return is_check(input) || write.key.empty() || recent_.find(write.table, write.key).has_value();
  };
  size_t bytes = 0;
  bool are_new = true;
  for (const auto& input : inputs) {
    if (is_check(input)) continue;
    bytes += RecentWrites::room_of(item_bytes(input));
    are_new = are_new && is_create(input);
  }
  // A very large call begins when half of the memory is free.
  const size_t most = recent_.most_bytes();
  const size_t wanted = std::min(bytes, most / 2) + (are_new ? most / 4 : 0);
  const BootTime end = now() + kRoomPatience;
  std::optional<WaitingLine::Place> turn;
  if (are_new && bytes > 0) turn.emplace(creates_);
  const auto has_room = [&] { return (!turn || turn->is_next() || now() >= end) && recent_.make_room(now(), wanted); };
  while (bytes > 0 && !has_room()) {
    if (!are_new && std::all_of(inputs.begin(), inputs.end(), is_remembered)) break;
    if (now() >= end) {
      if (!are_new) break;
      co_return fail(ErrorCode::kThroughputExceeded,
                     "The daemon remembers as much of what it wrote lately as it may (" + std::to_string(most) +
                         " bytes), until the engine's indexes have it: retry later.");
    }
    co_await sleep_for(scheduler_, kRoomLook);
  }
  room.take(bytes);
  co_return Result<void>();
}

Async<std::vector<Result<WriteOutput>>> OwnedTables::edit_many(std::vector<EditItemInput> inputs) {
  auto tables = tables_of(inputs);
  co_await know_tables(std::move(tables));
  recent_.expire(now());
  Room room(recent_);
  const auto has_room = co_await find_room(inputs, room);
  if (!has_room) co_return refused(inputs.size(), has_room.error());
  std::vector<Written> writes;
  for (auto& input : inputs) {
    writes.push_back(written_by(input));
    input.return_item_on_failure = true;
  }
  Writing writing(*this, std::move(writes));
  auto answers = co_await store_.edit_many(std::move(inputs));
  std::vector<Written> unseen;
  for (const auto& answer : answers) {
    Written& write = writing.next();
    note(write, answer, answer ? std::optional(answer->attributes) : std::nullopt);
    if (is_refused(answer) && !answer.error().detail) unseen.push_back(write);
    writing.over();
  }
  if (!unseen.empty()) scope_.spawn(look_at_refused(std::move(unseen)));
  co_return answers;
}

Async<std::vector<Result<WriteOutput>>> OwnedTables::write_many(std::vector<WriteInput> inputs) {
  auto tables = tables_of(inputs);
  co_await know_tables(std::move(tables));
  recent_.expire(now());
  Room room(recent_);
  const auto has_room = co_await find_room(inputs, room);
  if (!has_room) co_return refused(inputs.size(), has_room.error());
  std::vector<Written> writes;
  std::vector<WriteInput> sent;
  for (const auto& input : inputs) {
    writes.push_back(written_by(input));
    sent.push_back(with_images(input));
  }
  const std::vector<WriteInput> images = sent;
  Writing writing(*this, std::move(writes));
  auto answers = co_await store_.write_many(std::move(sent));
  std::vector<Written> unseen;
  std::vector<Written> others;  // They are not what was remembered.
  for (size_t i = 0; i < answers.size(); ++i) {
    Written& write = writing.next();
    const bool checks_only = std::holds_alternative<ConditionCheckInput>(images[i]);
    const auto after = answers[i] && !checks_only ? image_after(images[i], *answers[i]) : std::nullopt;
    const bool gives_before = std::holds_alternative<DeleteItemInput>(images[i]) ||
                              (std::holds_alternative<PutItemInput>(images[i]) && !write.is_new);
    if (answers[i] && gives_before && !write.before) write.before = answers[i]->attributes;
    if (!checks_only) note(write, answers[i], after);
    if (answers[i] && !checks_only && !after) unseen.push_back(write);
    if (is_refused(answers[i]) && !write.is_new && !answers[i].error().detail) others.push_back(write);
    if (answers[i] && wanted_by(inputs[i]) == ReturnValues::kNone) answers[i]->attributes = ItemRef();
    writing.over();
  }
  room.give_back();  // From here on the writes hold their own room.
  if (!others.empty()) scope_.spawn(look_at_refused(std::move(others)));
  if (!unseen.empty()) co_await look_again(std::move(unseen));
  co_return answers;
}

Async<Result<WriteOutput>> OwnedTables::write_one(WriteInput input) {
  std::vector<WriteInput> one;
  one.push_back(std::move(input));
  auto work = write_many(std::move(one));
  auto answers = co_await work;
  co_return std::move(answers.front());
}

Async<Result<WriteOutput>> OwnedTables::put_item(PutItemInput input) {
  return write_one(std::move(input));
}

Async<Result<WriteOutput>> OwnedTables::update_item(UpdateItemInput input) {
  return write_one(std::move(input));
}

Async<Result<WriteOutput>> OwnedTables::delete_item(DeleteItemInput input) {
  return write_one(std::move(input));
}

// Its items are read afterwards: a transaction gives no images.
Async<Result<TransactWriteOutput>> OwnedTables::transact_write(TransactWriteInput input) {
  auto tables = tables_of(input.actions);
  co_await know_tables(std::move(tables));
  Room room(recent_);
  const auto has_room = co_await find_room(input.actions, room);
  if (!has_room) co_return fail(has_room.error());
  std::vector<Written> writes;
  for (const auto& action : input.actions) {
    if (std::holds_alternative<ConditionCheckInput>(action)) continue;
    Written write = written_by(action);
    if (!write.before && write.may_move) doubt_books(write.table);
    writes.push_back(std::move(write));
  }
  std::vector<Written> written = writes;
  Writing writing(*this, std::move(writes));
  auto answer = co_await store_.transact_write(std::move(input));
  room.give_back();
  const bool may_be_done = answer || answer.error().code == ErrorCode::kUnknownOutcome;
  if (may_be_done) {
    std::vector<Written> again = written;
    co_await look_again(std::move(again));
  }
  for (size_t i = 0; i < written.size(); ++i) writing.over();
  co_return answer;
}

bool OwnedTables::is_of_this_table(const Written& write) const {
  return !write.key.empty() && recent_.id(write.table) == write.table_id;
}

void OwnedTables::note(Written& write, const Result<WriteOutput>& answer, const std::optional<ItemRef>& after) {
  if (!is_of_this_table(write)) return;
  if (is_unknown(answer)) {
    has_no_answer(write);
  } else if (is_refused(answer)) {
    // A create that is refused says nothing new.
    const auto detail = std::dynamic_pointer_cast<const ConditionFailed>(answer.error().detail);
    if (!write.is_new && detail) note_refused(write, detail->item, write.call, false);
  } else if (answer && after) {
    const auto known = recent_.find(write.table, write.key);
    if (!recent_.wrote(write.table, write.key, *after, write.call, now())) {
      std::vector<Written> one{write};
      scope_.spawn(look_again(std::move(one)));
      return;
    }
    account(write, known ? known : write.before);
  }
}

// True if a write that began later was answered and has raised the version: this one's condition fails since. If it was
// carried out at all, that was before the later write.
bool OwnedTables::is_overtaken(const Written& write) const {
  return write.seen && recent_.is_beyond(write.table, write.key, write.seen, write.call);
}

// The state of the item is unknown. It is read after a while, because the write may still be carried out when nobody
// waits for it any more.
void OwnedTables::has_no_answer(const Written& write) {
  if (!is_of_this_table(write) || is_overtaken(write)) return;
  recent_.unsure(write.table, write.key, write.before, write.cause, now());
  doubt_books(write.table);
  scope_.spawn(look_later(write));
}

Async<void> OwnedTables::look_later(Written write) {
  co_await sleep_for(scheduler_, kLookLater);
  if (!is_of_this_table(write)) co_return;
  GetItemInput get;
  get.table = write.table;
  get.key = write.key;
  static_cast<void>(co_await get_item(std::move(get)));
}

// The item is not as its writer wanted it. If the writer had never seen it, that is no reason to doubt the books.
void OwnedTables::note_refused(Written& write, const ItemRef& item, uint64_t call, bool is_over) {
  const auto known = recent_.find(write.table, write.key);
  const auto unsure = recent_.cause_of_unsure(write.table, write.key);
  recent_.refused(write.table, write.key, item, call, now());
  write.cause = unsure.value_or(Cause::kClient);
  if (known || unsure) return account(write, known);
  // The books may have the item as the writer saw it, or as another write in flight has left it.
  const KeptBooks* books = books_of(write.table);
  const bool are_others = books && books->in_flight(hash_of(write.key)) > (is_over ? 0 : 1);
  if (write.is_seen_in_index || write.before || are_others) doubt_books(write.table);
}

// `before`: the item as the books have it.
void OwnedTables::account(const Written& write, const std::optional<ItemRef>& before) {
  KeptBooks* books = books_of(write.table);
  if (books == nullptr) return;
  const auto from = place_of(write.table, before);
  const auto to = place_of(write.table, recent_.find(write.table, write.key));
  if (from && to) {
    if (*from != *to) books->moved(hash_of(write.key), *from, *to, write.cause);
  } else if (write.may_move) {
    books->doubt();
  }
  wake_counter(write.table);
}

// Reads items whose state an answer left open.
Async<void> OwnedTables::look_again(std::vector<Written> writes) {
  std::vector<GetItemInput> reads;
  for (Written& write : writes) {
    if (!is_of_this_table(write)) continue;
    GetItemInput get;
    get.table = write.table;
    get.key = write.key;
    reads.push_back(std::move(get));
    recent_.unsure(write.table, write.key, write.before, write.cause, now());
    doubt_books(write.table);
  }
  static_cast<void>(co_await read_many(std::move(reads)));
}

// Reads items whose writes were refused without an image of the item.
Async<void> OwnedTables::look_at_refused(std::vector<Written> writes) {
  std::erase_if(writes, [this](const Written& write) { return !is_of_this_table(write); });
  const uint64_t call = recent_.begin_call();
  std::vector<GetItemInput> reads;
  for (const Written& write : writes) {
    GetItemInput get;
    get.table = write.table;
    get.key = write.key;
    reads.push_back(std::move(get));
  }
  const auto items = co_await store_.read_many(std::move(reads));
  for (size_t i = 0; i < writes.size(); ++i) {
    Written& write = writes[i];
    if (!is_of_this_table(write)) continue;
    if (i < items.size() && items[i]) {
      note_refused(write, items[i]->item, call, true);
      continue;
    }
    recent_.unsure(write.table, write.key, write.before, write.cause, now());
    doubt_books(write.table);
  }
}

void OwnedTables::was_read(const GetItemInput& input, const ItemRef& item, uint64_t call) {
  if (!input.consistent || !input.projection.empty()) return;
  const auto known = recent_.find(input.table, input.key);
  const auto unsure = recent_.cause_of_unsure(input.table, input.key);
  if (!known && !unsure) return;
  recent_.read(input.table, input.key, item, call, now());
  Written write{input.table, input.key};
  write.cause = unsure.value_or(Cause::kClient);
  account(write, known);
}

Async<Result<ItemRef>> OwnedTables::get_item(GetItemInput input) {
  const uint64_t call = recent_.begin_call();
  GetItemInput sent = input;
  auto item = co_await store_.get_item(std::move(sent));
  if (item) was_read(input, *item, call);
  co_return item;
}

Async<std::vector<Result<ReadOutput>>> OwnedTables::read_many(std::vector<GetItemInput> inputs) {
  const uint64_t call = recent_.begin_call();
  std::vector<GetItemInput> sent = inputs;
  auto items = co_await store_.read_many(std::move(sent));
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i]) was_read(inputs[i], items[i]->item, call);
  }
  co_return items;
}

}  // namespace freshet
