#include "tables/engine/transactions.h"

#include <xxhash.h>

#include <set>

#include "base/limits.h"
#include "base/points.h"
#include "tables/engine/cost.h"
#include "tables/engine/keys.h"
#include "tables/engine/read.h"
#include "tables/engine/request_checks.h"

namespace freshet {
namespace {

constexpr const char* kTooLarge = "Transaction payload size cannot exceed 4 MB";
constexpr const char* kTooLargeToRead = "The aggregate size of the items in a transaction cannot exceed 4 MB";
constexpr const char* kTooMuchEffort =
    "The expressions of the transaction compare too much with large attributes; use fewer operands, or less items";

// Faults of the update with key attributes show without the item.
Result<void> check_update_keys(ExpressionCache& cache, const WriteInput& action, const TableDefinition& table) {
  const auto* input = std::get_if<UpdateItemInput>(&action);
  if (!input) return {};
  Expressions expressions(cache, input->placeholders);
  auto update = expressions.update(input->update);
  if (!update) return fail(update.error());
  if (auto ok = check_update(*update, table); !ok) return ok;
  const auto edits = plain_edits(*update);
  return edits ? check_no_empty_index_key(*edits, table) : Result<void>{};
}

Result<void> check_count(size_t actions) {
  if (actions > 0 && actions <= limits::kMaxTransactionActions) return {};
  return invalid(std::string("1 validation error detected: Value '[") + (actions == 0 ? "" : "...") +
                 "]' at 'transactItems' failed to satisfy constraint: Member must have length " +
                 (actions == 0 ? "greater than or equal to 1" : "less than or equal to 100"));
}

const std::string& written_table(const WriteInput& action) {
  return std::visit([](const auto& one) -> const std::string& { return one.table; }, action);
}

const Item& key_of(const WriteInput& action) {
  return std::visit([](const auto& one) -> const Item& { return input_key(one); }, action);
}

// Identifies the item of an action; empty if its key is invalid (planning reports the fault).
std::string identity(const Item& keyed, const KeySchema& keys) {
  if (!check_item_keys(keyed, keys)) return {};
  const ItemKey key(keyed, keys);
  std::string out = std::to_string(key.view().partition.size()) + ":";
  return out.append(key.view().partition).append(key.view().sort);
}

Result<void> check_distinct(const Catalog& catalog, ExpressionCache& cache, const std::vector<WriteInput>& actions) {
  std::set<std::pair<const Table*, std::string>> seen;
  for (const auto& action : actions) {
    auto table = catalog.find(written_table(action));
    if (!table) return fail(table.error());
    const TableDefinition& definition = (*table)->definition();
    if (auto ok = check_no_empty_key(key_of(action), definition); !ok) return ok;
    if (auto ok = check_update_keys(cache, action, definition); !ok) return ok;
    std::string item = identity(key_of(action), definition.keys);
    if (!item.empty() && !seen.emplace(*table, std::move(item)).second) {
      return invalid("Transaction request cannot include multiple operations on one item");
    }
  }
  return {};
}

// --- Sizes ---

// The service counts the items or keys of a request, and the values in its expressions.
uint64_t payload_bytes(const std::vector<WriteInput>& actions) {
  uint64_t bytes = 0;
  for (const auto& action : actions) {
    // Writes to Freshet's own tables cannot be split.
    if (written_table(action).starts_with(kSystemTablePrefix)) continue;
    bytes += billed_size(key_of(action));
    std::visit([&](const auto& one) { bytes += billed_size(one.placeholders.values); }, action);
  }
  return bytes;
}

// Counts the items that a request reads, before any projection is made.
bool are_too_large(const Catalog& catalog, const std::vector<GetItemInput>& actions) {
  uint64_t bytes = 0;
  for (const auto& action : actions) {
    const auto table = catalog.find(action.table);
    if (!table || !check_item_keys(action.key, (*table)->definition().keys)) continue;
    const ItemRef* item = (*table)->find(ItemKey(action.key, (*table)->definition().keys).view());
    if (!item) continue;
    // Most are small; a large one is counted.
    if (may_exceed(item->encoded().size(), limits::kMaxTransactionBytes / limits::kMaxTransactionActions)) {
      bytes += billed_bytes(*item);
    }
  }
  return bytes > limits::kMaxTransactionBytes;
}

// --- Cancellation reasons ---

// Empty for an error that is not about one action.
std::optional<TransactionCanceled::Reason> reason_of(const Error& error) {
  if (error.code == ErrorCode::kValidation) return TransactionCanceled::Reason{"ValidationError", error.message, {}};
  if (error.code != ErrorCode::kConditionalCheckFailed) return std::nullopt;
  TransactionCanceled::Reason reason{"ConditionalCheckFailed", error.message, {}};
  if (const auto* failed = dynamic_cast<const ConditionFailed*>(error.detail.get())) reason.item = failed->item;
  return reason;
}

class Reasons {
 public:
  void none() { detail_->reasons.emplace_back(); }
  // False for an error that is not about this action alone.
  bool add(const Error& error) {
    auto reason = reason_of(error);
    if (!reason) return false;
    invalid_ = error.code == ErrorCode::kValidation;
    if (invalid_) detail_->reasons.assign(detail_->reasons.size(), {});
    detail_->reasons.push_back(std::move(*reason));
    cancelled_ = true;
    return true;
  }
  bool cancelled() const { return cancelled_; }
  // The last action is invalid: it alone has a reason, and no other one is looked at.
  bool invalid() const { return invalid_; }
  void fill(size_t actions) { detail_->reasons.resize(actions); }
  tl::unexpected<Error> failure() const {
    std::string codes;
    for (const auto& reason : detail_->reasons) codes += (codes.empty() ? "" : ", ") + reason.code;
    return fail(ErrorCode::kTransactionCanceled,
                "Transaction cancelled, please refer cancellation reasons for specific reasons [" + codes + "]",
                detail_);
  }

 private:
  std::shared_ptr<TransactionCanceled> detail_ = std::make_shared<TransactionCanceled>();
  bool cancelled_ = false;
  bool invalid_ = false;
};

// --- Tokens ---

void append_text(std::string& out, std::string_view text) {
  out.append(std::to_string(text.size())).append(":").append(text);
}

void append_item(std::string& out, const Item& item) {
  std::string encoded;
  append_encoded(encoded, item);
  append_text(out, encoded);
}

// The content of an action; equal for requests with the same meaning.
std::string fingerprint(const std::vector<WriteInput>& actions) {
  std::string out;
  for (const auto& action : actions) {
    out += static_cast<char>('a' + action.index());
    append_text(out, written_table(action));
    append_item(out, key_of(action));
    if (const auto* update = std::get_if<UpdateItemInput>(&action)) append_text(out, update->update);
    if (const auto* put = std::get_if<PutItemInput>(&action)) {
      if (put->only_new) out += '!';
      if (!put->rising.empty()) append_text(out, put->rising);
    }
    std::visit(
        [&](const auto& one) {
          append_text(out, one.condition);
          append_item(out, one.placeholders.values);
          auto names = one.placeholders.names;
          std::sort(names.begin(), names.end());
          for (const auto& [placeholder, name] : names) {
            append_text(out, placeholder);
            append_text(out, name);
          }
          out += one.return_item_on_failure ? '1' : '0';
        },
        action);
  }
  const XXH128_hash_t hash = XXH3_128bits(out.data(), out.size());
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  return {reinterpret_cast<const char*>(bytes.digest), sizeof bytes.digest};
}

TableDefinition token_definition() {
  TableDefinition table;
  table.name = kTokenTable;
  table.keys.partition = {"token", Type::kString};
  table.ttl_attribute = "until";
  table.system = true;
  return table;
}

// For a repeated request, reports the cost of reading its items, if that is requested.
TransactWriteOutput repeated(const Catalog& catalog, const std::vector<WriteInput>& actions) {
  TransactWriteOutput output;
  output.repeated = true;
  for (const auto& action : actions) {
    WriteOutput& one = output.outputs.emplace_back();
    const Table& table = **catalog.find(written_table(action));  // Requests are checked before they are recognized.
    const bool measure = std::visit([](const auto& input) { return input.measure; }, action);
    if (!measure || !check_item_keys(key_of(action), table.definition().keys)) continue;
    const ItemKey key(key_of(action), table.definition().keys);
    const ItemRef* item = table.find(key.view());
    auto cost = std::make_shared<WriteCost>();
    cost->bytes = item ? billed_bytes(*item) : 0;
    one.cost = std::move(cost);
  }
  return output;
}

}  // namespace

Transactions::Seen Transactions::look_up(const std::string& token, const std::string& request) {
  const Table* table = token_table();
  if (!table) return Seen::kNever;
  const KeyView key{token, {}};
  const ItemRef* item = table->find(key);
  if (!item || FRESHET_PLANTED("token-forgotten")) return Seen::kNever;
  const Item seen = item->decode();
  // The sweep may be late. While the wall clock is not trusted, the sweep is paused and every stored token is valid.
  if (seen.int_or("until", 0) <= epoch_s(clock_.wall()) &&
      (guard_.trusted() || FRESHET_PLANTED("token-lost-by-a-clock-step")))
    return Seen::kNever;
  const Value* known = seen.find("request");
  const Binary* bytes = known ? known->get_if<Binary>() : nullptr;
  return bytes && bytes->bytes == request ? Seen::kSame : Seen::kOther;
}

Table* Transactions::token_table() const {
  const auto found = catalog_.find(std::string(kTokenTable));
  return found ? *found : nullptr;
}

Table& Transactions::make_token_table() {
  TableDescription description;
  description.id = random_.uuid();
  description.created = clock_.wall();
  description.definition = token_definition();
  Table& table = catalog_.add(catalog_.counters.next_table++, std::move(description));
  committer_.log_table(table);
  return table;
}

Change Transactions::token_change(Table& table, const std::string& token, const std::string& request) const {
  // Rounded up, and from the later clock if one is in doubt: never forgotten before its time.
  const int64_t until = epoch_s(std::chrono::ceil<seconds>(guard_.latest() + kTokenWindow));
  const Item item{{"token", Value(token)}, {"request", Value(Binary{request})}, {"until", Value::number(until)}};
  const KeyView key{token, {}};
  const ItemRef* old = table.find(key);  // Its window is over.
  return {&table, old ? *old : ItemRef{}, ItemRef::encode(item), Cause::kClient, {}};
}

Result<TransactWriteOutput> Transactions::write(TransactWriteInput& input) {
  if (auto ok = check_count(input.actions.size()); !ok) return fail(ok.error());
  for (auto& action : input.actions) {
    auto ok = std::visit([&](auto& one) { return check_request(cache_, one); }, action);
    if (!ok) return fail(ok.error());
  }
  if (payload_bytes(input.actions) > limits::kMaxTransactionBytes) return invalid(kTooLarge);
  if (auto ok = check_distinct(catalog_, cache_, input.actions); !ok) return fail(ok.error());
  if (input.token.empty()) return carry_out(input, {});

  const std::string request = fingerprint(input.actions);
  switch (look_up(input.token, request)) {
    case Seen::kSame:
      FRESHET_REACHED("repeated transaction answered");
      return repeated(catalog_, input.actions);
    case Seen::kOther:
      return fail(ErrorCode::kIdempotentParameterMismatch,
                  "The request was already made with this ClientRequestToken and other parameters");
    case Seen::kNever:
      break;
  }
  return carry_out(input, request);
}

Result<TransactWriteOutput> Transactions::carry_out(TransactWriteInput& input, const std::string& request) {
  Mutation mutation;
  TransactWriteOutput output;
  Reasons reasons;
  Effort effort(kMostTransactionEffort);
  // All plans see the state before the transaction, as its items are distinct.
  for (auto& action : input.actions) {
    auto planned = plan(catalog_, cache_, effort, action);
    if (effort.is_spent()) return invalid(kTooMuchEffort);
    if (!planned) {
      if (!reasons.add(planned.error())) return fail(planned.error());
      if (reasons.invalid()) break;
      continue;
    }
    reasons.none();
    output.outputs.push_back(std::move(planned->output));
    if (planned->change) mutation.push_back(std::move(*planned->change));
  }
  reasons.fill(input.actions.size());
  if (reasons.cancelled()) return reasons.failure();
  Table* tokens = input.token.empty() ? nullptr : token_table();
  if (tokens) mutation.push_back(token_change(*tokens, input.token, request));
  if (auto ok = committer_.admit(mutation); !ok) return fail(ok.error());
  // A refused transaction changes nothing: the first admitted one makes the table. It and one token are small.
  if (!tokens && !input.token.empty()) mutation.push_back(token_change(make_token_table(), input.token, request));
  if (FRESHET_PLANTED("transaction-in-part") && mutation.size() == 3) {
    Mutation rest(std::make_move_iterator(mutation.begin() + 1), std::make_move_iterator(mutation.end()));
    mutation.resize(1);
    committer_.apply(std::move(mutation));
    if (committer_.flush()) committer_.apply(std::move(rest));
    return output;
  }
  committer_.apply(std::move(mutation));
  return output;
}

Result<std::vector<ReadOutput>> Transactions::read(const std::vector<GetItemInput>& inputs) {
  if (auto ok = check_count(inputs.size()); !ok) return fail(ok.error());
  std::vector<BoundProjection> projections;
  for (const auto& input : inputs) {
    auto projection = bind_projection(cache_, input);
    if (!projection) return fail(projection.error());
    projections.push_back(std::move(*projection));
  }
  if (are_too_large(catalog_, inputs)) return invalid(kTooLargeToRead);
  auto projection = projections.begin();
  std::set<std::pair<const Table*, std::string>> seen;
  std::vector<ReadOutput> outputs;
  Reasons reasons;
  uint64_t bytes = 0;
  for (const auto& input : inputs) {
    const BoundProjection& wanted = *projection++;
    auto table = catalog_.find(input.table);
    if (!table) return fail(table.error());
    if (auto ok = check_no_empty_key(input.key, (*table)->definition()); !ok) return fail(ok.error());
    std::string item = identity(input.key, (*table)->definition().keys);
    if (!item.empty() && !seen.emplace(*table, std::move(item)).second) {
      return invalid("Transaction request cannot include multiple operations on one item");
    }
    auto answer = read_measured(catalog_, input, wanted);
    if (!answer) {
      if (!reasons.add(answer.error())) return fail(answer.error());
      if (reasons.invalid()) break;
      continue;
    }
    reasons.none();
    bytes += answer->bytes;
    outputs.push_back(std::move(*answer));
  }
  reasons.fill(inputs.size());
  if (reasons.cancelled()) return reasons.failure();
  if (bytes > limits::kMaxTransactionBytes) return invalid(kTooLargeToRead);
  return outputs;
}

}  // namespace freshet
