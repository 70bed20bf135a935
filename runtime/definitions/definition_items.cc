#include "runtime/definitions/definition_items.h"

#include <algorithm>

#include "runtime/definitions/shared_code.h"
#include "runtime/invoke/codec.h"
#include "runtime/invoke/function_qualifiers.h"
#include "streams/arn.h"
#include "streams/system_table.h"
#include "streams/topic_records.h"

namespace freshet {

const std::vector<std::string>& shared_kinds() {
  static const std::vector<std::string> kinds{std::string(kTopicKind), std::string(kFunctionKind),
                                              std::string(kQualifiersKind), std::string(kSubscriptionKind),
                                              std::string(kMappingKind)};
  return kinds;
}
size_t order_of(std::string_view kind) {
  const auto& kinds = shared_kinds();
  return static_cast<size_t>(std::find(kinds.begin(), kinds.end(), kind) - kinds.begin());
}
bool is_shared_kind(std::string_view kind) {
  return order_of(kind) < shared_kinds().size();
}

DefinitionKey key_of(const Item& item) {
  return {std::string(item.string_or("kind")), std::string(item.string_or("id"))};
}
DefinitionKey key_of(const WriteInput& write) {
  if (const auto* put = std::get_if<PutItemInput>(&write)) return key_of(put->item);
  if (const auto* gone = std::get_if<DeleteItemInput>(&write)) return key_of(gone->key);
  return {};
}

DefinitionName owner_of(const DefinitionKey& key) {
  if (key.kind == kFunctionKind) return function_by_name(std::string(plain_name(key.id)));
  if (key.kind == kQualifiersKind) return function_by_name(key.id);
  return {key.kind, key.id};
}

Item marked(Item item) {
  item.set(kSharedMark, Value::boolean(true));
  return item;
}
bool is_marked(const Item& item) {
  return item.contains(kSharedMark);
}
std::string code_folder(const Item& item) {
  if (item.string_or("kind") != kFunctionKind || !item.contains("codeSha256")) return {};
  const std::string_view code = item.string_or("code");
  return std::string(code.substr(code.rfind('/') + 1));
}

Item as_shared(Item item) {
  item.erase(kSharedMark);
  if (std::string folder = code_folder(item); !folder.empty()) item.set("code", Value(std::move(folder)));
  return item;
}

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

}  // namespace freshet
