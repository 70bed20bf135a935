#include "runtime/definitions/shared_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/crypto.h"
#include "streams/system_table.h"
#include "tables/lease/definition_log.h"
#include "tables/lease/fleet_items.h"
#include "tables/lease/shared_table.h"

namespace freshet {

namespace {

constexpr std::string_view kCodeKind = "code";  // The id is the name of the folder.
constexpr std::string_view kComplete = "complete";
constexpr std::string_view kFormer = "former";  // Uploads that were begun before, with the number of their pieces.
constexpr size_t kPieceBytes = 300u << 10;      // An item has 400 KB at most.
constexpr size_t kPiecesAtOnce = 4;
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

Async<Result<void>> remove_pieces(Tables& tables, std::string upload, size_t pieces) {
  for (size_t first = 0; first < pieces; first += kPiecesAtOnce) {
    std::vector<WriteInput> writes;
    for (size_t i = first; i < std::min(pieces, first + kPiecesAtOnce); ++i) {
      DeleteItemInput gone = delete_system_item(pieces_kind(upload), piece_id(i));
      gone.table = kDefinitionsTable;
      writes.emplace_back(std::move(gone));
    }
    auto answers = co_await tables.write_many(std::move(writes));
    for (auto& answer : answers) {
      if (!answer) co_return fail(std::move(answer.error()));
    }
  }
  co_return Result<void>();
}

Item header_of(const std::string& folder, const std::string& upload, std::string_view archive, WallTime now) {
  Item item = system_item(kCodeKind, folder);
  item.set("upload", Value(upload));
  item.set("bytes", Value::number(static_cast<int64_t>(archive.size())));
  item.set("pieces", Value::number(static_cast<int64_t>((archive.size() + kPieceBytes - 1) / kPieceBytes)));
  item.set("sha256", Value(sha256_hex(archive)));
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
// not written over one that is complete. True if the table has the header afterwards.
Async<Result<bool>> put_header(Tables& tables, Scheduler& scheduler, Item header, std::string seen) {
  const std::string id(header.string_or("id"));
  for (int tries = 0; tries < kMostTries; ++tries) {
    if (tries > 0) co_await sleep_for(scheduler, kFirstPause * (1 << tries));
    PutItemInput put = put_of(header);
    put.condition = seen.empty() ? "attribute_not_exists(id)" : "#upload = :seen";
    if (!seen.empty()) {
      if (!header.contains(kComplete)) put.condition += " AND attribute_not_exists(complete)";
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
  for (int tries = 0; tries < kMostTries; ++tries) {
    auto stored = co_await tables.get_item(get_of(kCodeKind, folder));
    if (!stored) co_return fail(std::move(stored.error()));
    Item header = *stored ? stored->decode() : Item();
    // Another one may be about to complete it.
    for (; *stored && !header.contains(kComplete) && waits < kMostWaits; ++waits) {
      co_await sleep_for(scheduler, kWait);
      stored = co_await tables.get_item(get_of(kCodeKind, folder));
      if (!stored) co_return fail(std::move(stored.error()));
      header = *stored ? stored->decode() : Item();
    }
    const std::string seen(header.string_or("upload"));
    std::string upload = seen;
    if (!header.contains(kComplete)) {
      upload = random.uuid();
      header = header_of(folder, upload, archive, scheduler.clock().wall());
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
  for (size_t i = 0; i < pieces; ++i) {
    auto piece = co_await tables.get_item(get_of(pieces_kind(upload), piece_id(i)));
    if (!piece) co_return fail(std::move(piece.error()));
    const Item item = *piece ? piece->decode() : Item();
    const Value* data = item.find("data");
    const Binary* bytes = data ? data->get_if<Binary>() : nullptr;
    if (!bytes) co_return fail(ErrorCode::kNotFound, "a piece of the code " + folder + " is gone");
    archive += bytes->bytes;
  }
  if (sha256_hex(archive) != header.string_or("sha256")) {
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

// True if the header was removed; its pieces are then nobody's.
Async<Result<bool>> remove_header(Tables& tables, Item header, uint64_t version) {
  ConditionCheckInput same;
  same.table = kFleetTable;
  same.key = id_key(std::string(kDefinitionsId));
  same.condition = version == 0 ? "attribute_not_exists(id)" : "#version = :version";
  if (version != 0) {
    same.placeholders.names.emplace_back("#version", "version");
    same.placeholders.values.set(":version", Value::number(static_cast<int64_t>(version)));
  }
  DeleteItemInput gone = delete_system_item(kCodeKind, std::string(header.string_or("id")));
  gone.table = kDefinitionsTable;
  gone.condition = "#upload = :upload AND #at = :at";
  gone.placeholders.names = {{"#upload", "upload"}, {"#at", "at"}};
  gone.placeholders.values.set(":upload", Value(std::string(header.string_or("upload"))));
  gone.placeholders.values.set(":at", Value::number(header.int_or("at", 0)));
  TransactWriteInput transaction;
  transaction.actions.emplace_back(std::move(same));
  transaction.actions.emplace_back(std::move(gone));
  auto removed = co_await tables.transact_write(std::move(transaction));
  if (removed) co_return true;
  if (removed.error().code == ErrorCode::kTransactionCanceled) co_return false;
  co_return fail(std::move(removed.error()));
}

}  // namespace

Async<Result<size_t>> remove_unused_code(Tables& tables, std::set<std::string> used, uint64_t version, WallTime now) {
  auto headers = co_await load_items_of(tables, kDefinitionsTable, std::string(kCodeKind), "");
  if (!headers) co_return fail(std::move(headers.error()));
  size_t count = 0;
  for (const ItemRef& ref : *headers) {
    Item header = ref.decode();
    if (used.contains(std::string(header.string_or("id")))) continue;
    const auto age = milliseconds(epoch_ms(now) - header.int_or("at", 0));
    if (age < (header.contains(kComplete) ? milliseconds(kCodeIsNewFor) : milliseconds(kAbandonedAfter))) continue;
    const auto uploads = uploads_of(header);
    auto removing = remove_header(tables, std::move(header), version);
    auto removed = co_await removing;
    if (!removed) co_return fail(std::move(removed.error()));
    if (!*removed) continue;
    ++count;
    for (const auto& [upload, pieces] : uploads) {
      auto clearing = remove_pieces(tables, upload, pieces);
      auto cleared = co_await clearing;
      if (!cleared) co_return fail(std::move(cleared.error()));
    }
  }
  co_return count;
}

}  // namespace freshet
