// Items: writes, reads, transactions. Tables are in remote_table_changes.cc.
#include "wire/store/remote_tables.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tables/edit.h"
#include "wire/store/answers.h"
#include "wire/store/hedge.h"
#include "wire/store/requests.h"

namespace freshet::remote {

namespace {

constexpr size_t kAtOnce = 64;         // The most requests of one call in flight.
constexpr size_t kLargestBatch = 100;  // Keys in one BatchGetItem.
constexpr size_t kBatchesAtOnce = 16;  // The most BatchGetItems of one call in flight; an answer has up to 16 MB.
constexpr int kBatchTries = 10;        // The most answers in a row in which the store reads no key of a batch.

StoreTraits traits_of(bool transactions) {
  StoreTraits traits;
  traits.transactions = transactions;
  traits.largest_write = 10'000;
  traits.largest_read = 10'000;
  traits.largest_transaction = transactions ? 100 : 0;
  return traits;
}

tl::unexpected<Error> no_stream() {
  return fail(ErrorCode::kUnavailable, "change streams of a remote store are not read");
}

// Runs `call` for each input, kAtOnce at a time; the answers are in the inputs' order.
template <class Output, class Input, class Call>
Async<std::vector<Result<Output>>> for_each(std::vector<Input> inputs, Call call) {
  std::vector<Async<Result<Output>>> running;
  std::vector<Result<Output>> out;
  running.reserve(inputs.size());
  out.reserve(inputs.size());
  for (Input& input : inputs) {
    if (running.size() >= out.size() + kAtOnce) {
      auto& oldest = running[out.size()];
      auto answer = co_await oldest;
      out.push_back(std::move(answer));
    }
    running.push_back(call(std::move(input)));
  }
  while (out.size() < running.size()) {
    auto& oldest = running[out.size()];
    auto answer = co_await oldest;
    out.push_back(std::move(answer));
  }
  co_return out;
}

std::string encoded(const Item& key) {
  std::string out;
  append_encoded(out, key);
  return out;
}

std::string encoded_key(const Item& item, const KeySchema& keys) {
  Item key;
  for (const auto* attribute : keys.attributes()) {
    if (const Value* value = item.find(attribute->name)) key.set(attribute->name, *value);
  }
  return encoded(key);
}

bool has_keys(const ItemRef& item, const KeySchema& keys) {
  const auto all = keys.attributes();
  return std::all_of(all.begin(), all.end(), [&](const auto* key) { return item.find(key->name).has_value(); });
}

// Reads of these two can be in one batch.
bool are_alike(const GetItemInput& one, const GetItemInput& other) {
  return one.table == other.table && one.consistent == other.consistent;
}

// The grouping of many reads into requests: adjacent reads that are alike form batches, the others are read one by one.
struct Places {
  std::vector<std::vector<size_t>> groups;
  std::vector<size_t> alone;
};

Places places_of(const std::vector<GetItemInput>& inputs) {
  Places out;
  std::vector<size_t> group;
  const auto end_group = [&] {
    if (group.size() == 1) out.alone.push_back(group.front());
    if (group.size() > 1) out.groups.push_back(std::move(group));
    group.clear();
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].projection.empty()) {
      out.alone.push_back(i);
      continue;
    }
    const bool fits = !group.empty() && group.size() < kLargestBatch && are_alike(inputs[group.front()], inputs[i]);
    if (!fits) end_group();
    group.push_back(i);
  }
  end_group();
  return out;
}

}  // namespace

RemoteTables::RemoteTables(Caller& caller, Random& random, RemoteOptions options)
    : caller_(caller),
      random_(random),
      options_(std::move(options)),
      traits_(traits_of(options_.transactions)),
      keys_(caller) {}

Async<Result<WriteOutput>> RemoteTables::write(const char* operation, std::string body) {
  std::string name = operation;
  auto answer = co_await caller_.call(std::move(name), std::move(body), Caller::Kind::kWrite);
  if (!answer) co_return fail(answer.error());
  auto output = write_output_of(*answer);
  if (!output) co_return fail(ErrorCode::kUnknownOutcome, output.error().message);
  co_return output;
}

Async<Result<WriteOutput>> RemoteTables::put_item(PutItemInput input) {
  if (input.only_new || !input.rising.empty()) {
    auto keys = co_await keys_.of(input.table);
    if (!keys) co_return fail(keys.error());
    input = with_guards_spelled_out(std::move(input), *keys);
  }
  auto request = request_of(input);
  auto written = co_await write("PutItem", std::move(request));
  co_return written;
}

// An update with ALL_NEW always has attributes. Without them the answer is not to be trusted: the write may have been
// made or not.
Async<Result<WriteOutput>> RemoteTables::update(UpdateItemInput input) {
  const bool is_asked = input.return_values == ReturnValues::kAllNew;
  auto request = request_of(input);
  auto written = co_await write("UpdateItem", std::move(request));
  if (written && is_asked && !written->attributes) {
    co_return fail(ErrorCode::kUnknownOutcome,
                   "the store answered UpdateItem without the Attributes that were asked for");
  }
  co_return written;
}

Async<Result<WriteOutput>> RemoteTables::update_item(UpdateItemInput input) {
  return update(std::move(input));
}

Async<Result<WriteOutput>> RemoteTables::delete_item(DeleteItemInput input) {
  return write("DeleteItem", request_of(input));
}

Async<Result<WriteOutput>> RemoteTables::write_one(WriteInput input) {
  if (auto* put = std::get_if<PutItemInput>(&input)) return put_item(std::move(*put));
  if (auto* update = std::get_if<UpdateItemInput>(&input)) return update_item(std::move(*update));
  if (auto* erase = std::get_if<DeleteItemInput>(&input)) return delete_item(std::move(*erase));
  return Result<WriteOutput>(invalid("a condition check is a part of a transaction, and no write of its own"));
}

Async<std::vector<Result<WriteOutput>>> RemoteTables::write_many(std::vector<WriteInput> inputs) {
  return for_each<WriteOutput>(std::move(inputs), [this](WriteInput input) { return write_one(std::move(input)); });
}

Async<Result<WriteOutput>> RemoteTables::edit_one(EditItemInput input) {
  auto keys = co_await keys_.of(input.table);
  if (!keys) co_return fail(keys.error());
  if (!has_keys(input.seen, *keys)) co_return invalid("table '" + input.table + "' has other keys than the item");
  auto as_update = to_update(input, *keys);
  auto written = co_await update(std::move(as_update));
  co_return written;
}

Async<std::vector<Result<WriteOutput>>> RemoteTables::edit_many(std::vector<EditItemInput> inputs) {
  return for_each<WriteOutput>(std::move(inputs), [this](EditItemInput input) { return edit_one(std::move(input)); });
}

Async<Result<TransactWriteOutput>> RemoteTables::transact_write(TransactWriteInput input) {
  for (WriteInput& action : input.actions) {
    auto* put = std::get_if<PutItemInput>(&action);
    if (put == nullptr || (!put->only_new && put->rising.empty())) continue;
    auto keys = co_await keys_.of(put->table);
    if (!keys) co_return fail(keys.error());
    action = with_guards_spelled_out(std::move(*put), *keys);
  }
  // With a token, a retried request is carried out only once.
  if (input.token.empty()) input.token = random_.uuid();
  auto request = request_of(input);
  auto answer = co_await caller_.call("TransactWriteItems", std::move(request), Caller::Kind::kWrite);
  if (!answer) co_return fail(answer.error());
  if (auto output = write_output_of(*answer); !output) {
    co_return fail(ErrorCode::kUnknownOutcome, output.error().message);
  }
  TransactWriteOutput out;
  out.outputs.resize(input.actions.size());
  co_return out;
}

Async<Result<ReadOutput>> RemoteTables::read_one(GetItemInput input) {
  auto request = request_of(input);
  auto answer = co_await read("GetItem", std::move(request));
  if (!answer) co_return fail(answer.error());
  co_return read_output_of(*answer);
}

Async<Result<ItemRef>> RemoteTables::get_item(GetItemInput input) {
  auto read = co_await read_one(std::move(input));
  if (!read) co_return fail(read.error());
  co_return std::move(read->item);
}

Async<Result<std::map<std::string, ReadOutput>>> RemoteTables::read_batch(GetItemInput like, std::vector<Item> keys,
                                                                          KeySchema schema) {
  std::map<std::string, ReadOutput> out;
  int tries = 0;
  while (!keys.empty()) {
    auto request = batch_get_request(like, keys);
    auto answer = co_await caller_.call("BatchGetItem", std::move(request), Caller::Kind::kRead);
    if (!answer) co_return fail(answer.error());
    auto part = batch_of(*answer, like.table);
    if (!part) co_return fail(part.error());
    for (const Item& item : part->items) {
      ReadOutput read;
      read.bytes = billed_size(item);
      read.item = ItemRef::encode(item);
      out.insert_or_assign(encoded_key(item, schema), std::move(read));
    }
    const bool none_read = part->left.size() == keys.size();
    keys = std::move(part->left);
    tries = none_read ? tries + 1 : 1;
    if (tries > kBatchTries) {
      co_return fail(ErrorCode::kThroughputExceeded, "the store reads no more keys of a batch");
    }
    if (!keys.empty()) co_await caller_.back_off(tries);
  }
  co_return out;
}

// `group`: the places of reads that are alike and have no projection.
Async<void> RemoteTables::read_group(std::vector<GetItemInput>& inputs, std::vector<size_t> group,
                                     std::vector<Result<ReadOutput>>& out) {
  auto schema = co_await keys_.of(inputs[group.front()].table);
  if (!schema) {
    for (const size_t at : group) out[at] = fail(schema.error());
    co_return;
  }
  std::vector<Item> keys;
  std::set<std::string> seen;
  for (const size_t at : group) {
    // Compares the whole key: a key with further attributes is another one, and a fault.
    if (seen.insert(encoded(inputs[at].key)).second) keys.push_back(inputs[at].key);
  }
  GetItemInput like = inputs[group.front()];
  auto found = co_await read_batch(std::move(like), std::move(keys), std::move(*schema));
  if (!found && found.error().code == ErrorCode::kValidation) {
    co_await read_alone(inputs, std::move(group), out);
    co_return;
  }
  for (const size_t at : group) {
    if (!found) {
      out[at] = fail(found.error());
    } else if (const auto item = found->find(encoded(inputs[at].key)); item != found->end()) {
      out[at] = item->second;
    }
  }
}

Async<void> RemoteTables::read_alone(std::vector<GetItemInput>& inputs, std::vector<size_t> places,
                                     std::vector<Result<ReadOutput>>& out) {
  std::vector<GetItemInput> single;
  for (const size_t at : places) single.push_back(std::move(inputs[at]));
  const auto call = [this](GetItemInput input) { return read_one(std::move(input)); };
  auto answers = co_await for_each<ReadOutput>(std::move(single), call);
  for (size_t i = 0; i < places.size(); ++i) out[places[i]] = std::move(answers[i]);
}

Async<std::vector<Result<ReadOutput>>> RemoteTables::read_many(std::vector<GetItemInput> inputs) {
  std::vector<Result<ReadOutput>> out(inputs.size());
  Places places = places_of(inputs);
  std::vector<Async<void>> running;
  size_t done = 0;
  for (auto& group : places.groups) {
    if (running.size() >= done + kBatchesAtOnce) {
      auto& oldest = running[done++];
      co_await oldest;
    }
    running.push_back(read_group(inputs, std::move(group), out));
  }
  for (; done < running.size(); ++done) {
    auto& oldest = running[done];
    co_await oldest;
  }
  co_await read_alone(inputs, std::move(places.alone), out);
  co_return out;
}

Async<Result<std::vector<ReadOutput>>> RemoteTables::transact_get(std::vector<GetItemInput> inputs) {
  const size_t actions = inputs.size();
  auto request = request_of(inputs);
  auto answer = co_await caller_.call("TransactGetItems", std::move(request), Caller::Kind::kRead);
  if (!answer) co_return fail(answer.error());
  co_return transaction_of(*answer, actions);
}

Async<Result<std::string>> RemoteTables::read(std::string operation, std::string body) {
  if (!options_.hedged_after) return caller_.call(std::move(operation), std::move(body), Caller::Kind::kRead);
  return hedged_read(caller_, std::move(operation), std::move(body), *options_.hedged_after);
}

Async<Result<Page>> RemoteTables::query(QueryInput input) {
  auto request = request_of(input);
  auto answer = co_await read("Query", std::move(request));
  if (!answer) co_return fail(answer.error());
  co_return page_of(*answer);
}

Async<Result<Page>> RemoteTables::scan(ScanInput input) {
  auto request = request_of(input);
  auto answer = co_await caller_.call("Scan", std::move(request), Caller::Kind::kRead);
  if (!answer) co_return fail(answer.error());
  co_return page_of(*answer);
}

Async<Result<StreamPage>> RemoteTables::read_stream(ReadStreamInput) {
  return Result<StreamPage>(no_stream());
}

Async<Result<StreamBounds>> RemoteTables::stream_bounds(std::string) {
  return Result<StreamBounds>(no_stream());
}

Async<Result<Books>> RemoteTables::books(std::string table) {
  return Result<Books>(invalid("table '" + table + "' has no books: a remote store keeps none"));
}

}  // namespace freshet::remote
