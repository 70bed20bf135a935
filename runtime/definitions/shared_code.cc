#include "runtime/definitions/shared_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/crypto.h"
#include "base/let_others_in.h"
#include "streams/system_table.h"
#include "tables/lease/definition_log.h"
#include "tables/lease/fleet_items.h"
#include "tables/lease/shared_table.h"

namespace freshet {

namespace {

constexpr std::string_view kCodeKind = "code";  // The id is the name of the folder.
constexpr std::string_view kComplete = "complete";
constexpr std::string_view kGoing = "going";    // Its pieces are removed; no longer complete.
constexpr std::string_view kFormer = "former";  // Uploads that were begun before, with the number of their pieces.
constexpr size_t kPieceBytes = 300u << 10;      // An item has 400 KB at most.
constexpr size_t kPiecesAtOnce = 4;
constexpr size_t kHashedAtOnce = 1u << 20;
constexpr int kMostTries = 6;
constexpr milliseconds kFirstPause{50};
constexpr int kMostWaits = 20;
constexpr milliseconds kWait{250};
constexpr std::chrono::hours kAbandonedAfter{1};  // A write of code that is not complete by then.

std::string pieces_kind(const std::string& upload) {
  return "code-piece/" + upload;
}
std::string piece_id(size_t number) {
  return fmt::format("{:06}", number);
}

GetItemInput get_of(std::string_view kind, const std::string& id) {
  GetItemInput get = get_system_item(kind, id);
  get.table = kDefinitionsTable;
  return get;
}
PutItemInput put_of(Item item) {
  PutItemInput put = put_system_item(std::move(item));
  put.table = kDefinitionsTable;
  return put;
}

// The same write may succeed a little later, and may be done twice.
bool may_try_again(const Error& error) {
  return error.code == ErrorCode::kUnknownOutcome || is_passing(error);
}

Async<Result<void>> put_pieces(Tables& tables, Scheduler& scheduler, std::string upload, std::string_view archive) {
  const size_t pieces = (archive.size() + kPieceBytes - 1) / kPieceBytes;
  int tries = 0;
  for (size_t first = 0; first < pieces;) {
    const size_t end = std::min(pieces, first + kPiecesAtOnce);
    std::vector<WriteInput> writes;
    for (size_t i = first; i < end; ++i) {
      Item item = system_item(pieces_kind(upload), piece_id(i));
      item.set("data", Value(Binary{std::string(archive.substr(i * kPieceBytes, kPieceBytes))}));
      writes.emplace_back(put_of(std::move(item)));
    }
    auto answers = co_await tables.write_many(std::move(writes));
    const auto failed = std::find_if(answers.begin(), answers.end(), [](const auto& answer) { return !answer; });
    if (failed == answers.end()) {
      first = end;
      tries = 0;
      continue;
    }
    if (!may_try_again(failed->error()) || ++tries == kMostTries) co_return fail(std::move(failed->error()));
    co_await sleep_for(scheduler, kFirstPause * (1 << tries));
  }
  co_return Result<void>();
}

Async<Result<void>> remove_pieces(Tables& tables, Scheduler& scheduler, std::string upload, size_t pieces) {
  int tries = 0;
  for (size_t first = 0; first < pieces;) {
    std::vector<WriteInput> writes;
    for (size_t i = first; i < std::min(pieces, first + kPiecesAtOnce); ++i) {
      DeleteItemInput gone = delete_system_item(pieces_kind(upload), piece_id(i));
      gone.table = kDefinitionsTable;
      writes.emplace_back(std::move(gone));
    }
    auto answers = co_await tables.write_many(std::move(writes));
    const auto failed = std::find_if(answers.begin(), answers.end(), [](const auto& answer) { return !answer; });
    if (failed == answers.end()) {
      first += kPiecesAtOnce;
      tries = 0;
      continue;
    }
    if (!may_try_again(failed->error()) || ++tries == kMostTries) co_return fail(std::move(failed->error()));
    co_await sleep_for(scheduler, kFirstPause * (1 << tries));
  }
  co_return Result<void>();
}

// Other work gets its turn in between. The archive outlives it.
Async<std::string> hash_of(Scheduler& scheduler, const std::string& archive) {
  Sha256 hash;
  for (size_t at = 0; at < archive.size(); at += kHashedAtOnce) {
    if (at > 0) co_await let_others_in(scheduler);
    hash.add(std::string_view(archive).substr(at, kHashedAtOnce));
  }
  co_return hash.hex();
}

Item header_of(const std::string& folder, const std::string& upload, std::string_view archive, const std::string& hash,
               WallTime now) {
  Item item = system_item(kCodeKind, folder);
  item.set("upload", Value(upload));
  item.set("bytes", Value::number(static_cast<int64_t>(archive.size())));
  item.set("pieces", Value::number(static_cast<int64_t>((archive.size() + kPieceBytes - 1) / kPieceBytes)));
  item.set("sha256", Value(hash));
  item.set("at", Value::number(epoch_ms(now)));
  return item;
}

// Another writer has begun, and may be dead: its pieces are removed with the code.
void add_former(Item& header, const Item& before) {
  List former;
  if (const Value* value = before.find(kFormer)) {
    if (const List* list = value->get_if<List>()) former = *list;
  }
  former.elements.emplace_back(std::string(before.string_or("upload")) + "/" +
                               std::to_string(before.int_or("pieces", 0)));
  header.set(kFormer, Value(std::move(former)));
}

// All uploads of the code with the number of their pieces.
std::vector<std::pair<std::string, size_t>> uploads_of(const Item& header) {
  std::vector<std::pair<std::string, size_t>> uploads;
  uploads.emplace_back(header.string_or("upload"), static_cast<size_t>(header.int_or("pieces", 0)));
  const Value* value = header.find(kFormer);
  const List* former = value ? value->get_if<List>() : nullptr;
  if (!former) return uploads;
  for (const Value& one : former->elements) {
    const auto* text = one.get_if<std::string>();
    const size_t slash = text ? text->find('/') : std::string::npos;
    if (slash == std::string::npos) continue;
    uploads.emplace_back(text->substr(0, slash), std::strtoull(text->c_str() + slash + 1, nullptr, 10));
  }
  return uploads;
}

// Writes the header over that of the upload `seen`, or as the first one if that is empty. An upload that has begun is
// not written over one that is complete, and one that is complete not over one that goes. True if the table has the
// header afterwards.
Async<Result<bool>> put_header(Tables& tables, Scheduler& scheduler, Item header, std::string seen) {
  const std::string id(header.string_or("id"));
  for (int tries = 0; tries < kMostTries; ++tries) {
    if (tries > 0) co_await sleep_for(scheduler, kFirstPause * (1 << tries));
    PutItemInput put = put_of(header);
    put.condition = seen.empty() ? "attribute_not_exists(id)" : "#upload = :seen";
    if (!seen.empty()) {
      put.condition +=
          header.contains(kComplete) ? " AND attribute_not_exists(going)" : " AND attribute_not_exists(complete)";
      put.placeholders.names.emplace_back("#upload", "upload");
      put.placeholders.values.set(":seen", Value(seen));
    }
    auto written = co_await tables.put_item(std::move(put));
    if (written) co_return true;
    const bool is_refused = written.error().code == ErrorCode::kConditionalCheckFailed;
    if (!is_refused && !may_try_again(written.error())) co_return fail(std::move(written.error()));
    auto stored = co_await tables.get_item(get_of(kCodeKind, id));
    if (!stored) continue;
    if (*stored && stored->decode() == header) co_return true;
    if (is_refused) co_return false;
  }
  co_return fail(ErrorCode::kUnavailable, "the engine does not take the code at the moment: try again");
}

}  // namespace

// The header comes first, and names the uploads that have begun before, so that all pieces are found although their
// writers die.
Async<Result<void>> store_code(Tables& tables, Scheduler& scheduler, Random& random, std::string folder,
                               std::string archive) {
  int waits = 0;
  const std::string hash = co_await hash_of(scheduler, archive);
  for (int tries = 0; tries < kMostTries; ++tries) {
    auto stored = co_await tables.get_item(get_of(kCodeKind, folder));
    if (!stored) co_return fail(std::move(stored.error()));
    Item header = *stored ? stored->decode() : Item();
    // Another one may be about to complete it.
    for (; *stored && !header.contains(kComplete) && !header.contains(kGoing) && waits < kMostWaits; ++waits) {
      co_await sleep_for(scheduler, kWait);
      stored = co_await tables.get_item(get_of(kCodeKind, folder));
      if (!stored) co_return fail(std::move(stored.error()));
      header = *stored ? stored->decode() : Item();
    }
    const std::string seen(header.string_or("upload"));
    std::string upload = seen;
    if (!header.contains(kComplete)) {
      upload = random.uuid();
      header = header_of(folder, upload, archive, hash, scheduler.clock().wall());
      if (*stored) add_former(header, stored->decode());
      Item first = header;
      auto beginning = put_header(tables, scheduler, std::move(first), seen);
      auto begun = co_await beginning;
      if (!begun) co_return fail(std::move(begun.error()));
      if (!*begun) continue;
      auto putting = put_pieces(tables, scheduler, upload, archive);
      auto put = co_await putting;
      if (!put) co_return put;
    }
    // Code that is there already counts as new again.
    header.set(kComplete, Value::boolean(true));
    header.set("at", Value::number(epoch_ms(scheduler.clock().wall())));
    auto completing = put_header(tables, scheduler, std::move(header), std::move(upload));
    auto complete = co_await completing;
    if (!complete) co_return fail(std::move(complete.error()));
    if (*complete) co_return Result<void>();
  }
  co_return fail(ErrorCode::kTooManyRequests, "other daemons write the same code at the moment: try again");
}

Async<Result<std::string>> read_code(Tables& tables, std::string folder) {
  auto stored = co_await tables.get_item(get_of(kCodeKind, folder));
  if (!stored) co_return fail(std::move(stored.error()));
  const Item header = *stored ? stored->decode() : Item();
  if (!header.contains(kComplete)) co_return fail(ErrorCode::kNotFound, "the fleet has no code " + folder);
  const std::string upload(header.string_or("upload"));
  const auto pieces = static_cast<size_t>(header.int_or("pieces", 0));
  std::string archive;
  Sha256 hash;
  for (size_t first = 0; first < pieces; first += kPiecesAtOnce) {
    std::vector<GetItemInput> reads;
    for (size_t i = first; i < std::min(pieces, first + kPiecesAtOnce); ++i) {
      reads.push_back(get_of(pieces_kind(upload), piece_id(i)));
    }
    auto items = co_await tables.read_many(std::move(reads));
    for (auto& piece : items) {
      if (!piece) co_return fail(std::move(piece.error()));
      const Item item = piece->item ? piece->item.decode() : Item();
      const Value* data = item.find("data");
      const Binary* bytes = data ? data->get_if<Binary>() : nullptr;
      if (!bytes) co_return fail(ErrorCode::kNotFound, "a piece of the code " + folder + " is gone");
      hash.add(bytes->bytes);
      archive += bytes->bytes;
    }
  }
  if (hash.hex() != header.string_or("sha256")) {
    co_return fail(ErrorCode::kCorruption, "the code " + folder + " in the engine is damaged");
  }
  co_return archive;
}

ConditionCheckInput is_there(const std::string& folder) {
  ConditionCheckInput check;
  check.table = kDefinitionsTable;
  check.key = system_item(kCodeKind, folder);
  check.condition = "attribute_exists(complete)";
  return check;
}

namespace {

// The condition and placeholders of a write to the header as it was read.
template <class Write>
void only_as_seen(Write& write, const Item& header) {
  write.table = kDefinitionsTable;
  write.condition = "#upload = :upload AND #at = :at";
  write.placeholders.names = {{"#upload", "upload"}, {"#at", "at"}};
  write.placeholders.values.set(":upload", Value(std::string(header.string_or("upload"))));
  write.placeholders.values.set(":at", Value::number(header.int_or("at", 0)));
}

// From then on, the code cannot be read, no definition can name it, and its pieces may be removed. False: the
// definitions or the code have changed meanwhile.
Async<Result<bool>> mark_going(Tables& tables, Item header, uint64_t version) {
  ConditionCheckInput same;
  same.table = kFleetTable;
  same.key = id_key(std::string(kDefinitionsId));
  same.condition = version == 0 ? "attribute_not_exists(id)" : "#version = :version";
  if (version != 0) {
    same.placeholders.names.emplace_back("#version", "version");
    same.placeholders.values.set(":version", Value::number(static_cast<int64_t>(version)));
  }
  PutItemInput going;
  only_as_seen(going, header);
  going.item = std::move(header);
  going.item.erase(kComplete);
  going.item.set(kGoing, Value::boolean(true));
  TransactWriteInput transaction;
  transaction.actions.emplace_back(std::move(same));
  transaction.actions.emplace_back(std::move(going));
  auto done = co_await tables.transact_write(std::move(transaction));
  if (done) co_return true;
  if (done.error().code == ErrorCode::kTransactionCanceled) co_return false;
  co_return fail(std::move(done.error()));
}

// Removes code that is going. The header is the last: while there are pieces, it names them, and whoever finds it goes
// on. If somebody writes the code again meanwhile, the new header names them.
Async<Result<void>> remove_going(Tables& tables, Scheduler& scheduler, Item header) {
  const auto uploads = uploads_of(header);
  for (const auto& [upload, pieces] : uploads) {
    auto clearing = remove_pieces(tables, scheduler, upload, pieces);
    auto cleared = co_await clearing;
    if (!cleared) co_return cleared;
  }
  DeleteItemInput gone = delete_system_item(kCodeKind, std::string(header.string_or("id")));
  only_as_seen(gone, header);
  gone.condition += " AND attribute_exists(going)";
  auto removed = co_await tables.delete_item(std::move(gone));
  if (removed || removed.error().code == ErrorCode::kConditionalCheckFailed) co_return Result<void>();
  co_return fail(std::move(removed.error()));
}

}  // namespace

Async<Result<size_t>> remove_unused_code(Tables& tables, Scheduler& scheduler, std::set<std::string> used,
                                         uint64_t version) {
  auto headers = co_await load_items_of(tables, kDefinitionsTable, std::string(kCodeKind), "");
  if (!headers) co_return fail(std::move(headers.error()));
  size_t count = 0;
  for (const ItemRef& ref : *headers) {
    Item header = ref.decode();
    if (!header.contains(kGoing)) {
      if (used.contains(std::string(header.string_or("id")))) continue;
      const auto age = milliseconds(epoch_ms(scheduler.clock().wall()) - header.int_or("at", 0));
      if (age < (header.contains(kComplete) ? milliseconds(kCodeIsNewFor) : milliseconds(kAbandonedAfter))) continue;
      Item unused = header;
      auto marking = mark_going(tables, std::move(unused), version);
      const auto is_going = co_await marking;
      if (!is_going) co_return fail(is_going.error());
      if (!*is_going) continue;
    }
    auto removing = remove_going(tables, scheduler, std::move(header));
    auto removed = co_await removing;
    if (!removed) co_return fail(std::move(removed.error()));
    ++count;
  }
  co_return count;
}

}  // namespace freshet
