#include "functions/filtered/items.h"

#include <algorithm>

namespace freshet::filtered {
namespace {

tl::unexpected<Error> unusable(std::string what) {
  return fail(ErrorCode::kConflict, std::move(what));
}

std::string text_or_empty(const ItemRef& item, std::string_view attribute) {
  const auto stored = item.find(attribute);
  return stored && stored->type() == Type::kString ? std::string(stored->bytes()) : std::string();
}

}  // namespace

Item Items::key(const std::string& partition, std::string sort) const {
  return Item{{settings_.names.partition, Value(partition)}, {settings_.names.sort, Value(std::move(sort))}};
}

Item Items::member_key(const std::string& id) const {
  return key(settings_.layout.members, settings_.layout.member_prefix + id);
}

Item Items::request_key(const std::string& id) const {
  return key(settings_.layout.requests, settings_.layout.request_prefix + id);
}

std::string Items::name_of(const Item& key) const {
  return "item '" + std::string(key.string_or(settings_.names.partition)) + " / " +
         std::string(key.string_or(settings_.names.sort)) + "'";
}

std::string Items::name_of(const ItemRef& item) const {
  return "item '" + text_or_empty(item, settings_.names.partition) + " / " + text_or_empty(item, settings_.names.sort) +
         "'";
}

Result<void> Items::check_id(const std::string& id, std::string_view what) const {
  if (id.empty()) return invalid("the id of the " + std::string(what) + " is missing");
  const size_t prefix = std::max(settings_.layout.member_prefix.size(), settings_.layout.request_prefix.size());
  if (id.size() + prefix <= limits::kMaxSortKeyBytes) return {};
  return invalid("the id of the " + std::string(what) + " is longer than " +
                 std::to_string(limits::kMaxSortKeyBytes - std::min(prefix, limits::kMaxSortKeyBytes)) + " bytes");
}

Result<std::string> Items::text(const ItemRef& item, std::string_view attribute) const {
  const auto stored = item.find(attribute);
  const std::string what = "attribute '" + std::string(attribute) + "' of " + name_of(item);
  if (!stored) return unusable(what + " is missing");
  if (stored->type() == Type::kString) return std::string(stored->bytes());
  return unusable(what + " is of type " + std::string(type_name(stored->type())) + "; it must be S");
}

Result<std::string> Items::filled(const ItemRef& item, std::string_view attribute) const {
  auto value = text(item, attribute);
  if (!value || !value->empty()) return value;
  return unusable("attribute '" + std::string(attribute) + "' of " + name_of(item) + " is empty");
}

Result<int64_t> Items::number(const ItemRef& item, std::string_view attribute) const {
  const auto stored = item.find(attribute);
  const std::string what = "attribute '" + std::string(attribute) + "' of " + name_of(item);
  if (!stored) return unusable(what + " is missing");
  bool whole = false;
  const int64_t value = stored->type() == Type::kNumber ? stored->number().to_int64(whole) : 0;
  if (whole) return value;
  return unusable(what + " is of type " + std::string(type_name(stored->type())) + "; it must be a whole number");
}

Result<FilteredMember> Items::member(const ItemRef& item) const {
  FilteredMember out;
  const auto sort = text(item, settings_.names.sort);
  if (!sort || !sort->starts_with(settings_.layout.member_prefix)) {
    return unusable(name_of(item) + " is no member: its sort key must begin with '" + settings_.layout.member_prefix +
                    "'");
  }
  out.id = sort->substr(settings_.layout.member_prefix.size());
  auto status = text(item, settings_.names.status);
  if (!status) return fail(status.error());
  out.status = std::move(*status);
  for (const auto& [name, into] : {std::pair(&settings_.names.queued_at, &out.queued_at),
                                   {&settings_.names.assignment, &out.assignment},
                                   {&settings_.names.request, &out.request}}) {
    if (!item.find(*name)) continue;
    auto value = filled(item, *name);
    if (!value) return fail(value.error());
    *into = std::move(*value);
  }
  out.item = item;
  return out;
}

Result<QueueFacts> Items::queue(const ItemRef& item, size_t queue, bool must_be_there) const {
  QueueFacts out;
  if (!item) {
    if (!must_be_there) return out;
    return unusable(name_of(queue_key(queue)) + " is missing, though there are entries: put it back with its " +
                    settings_.names.version + " and " + settings_.names.depth);
  }
  const auto version = number(item, settings_.names.version);
  if (!version) return fail(version.error());
  const auto depth = number(item, settings_.names.depth);
  if (!depth) return fail(depth.error());
  out.version = *version;
  out.depth = *depth;
  if (!item.find(settings_.names.request_version)) return out;
  const auto request_version = number(item, settings_.names.request_version);
  if (!request_version) return fail(request_version.error());
  const auto requests = number(item, settings_.names.request_depth);
  if (!requests) return fail(requests.error());
  out.request_version = *request_version;
  out.requests = *requests;
  return out;
}

Result<EntryFacts> Items::entry(const ItemRef& item, size_t found_in) const {
  auto id = text(item, settings_.names.id);
  if (!id) return fail(id.error());
  auto at = text(item, settings_.names.sort);
  if (!at) return fail(at.error());
  auto queues = combinations_.of_item(item, name_of(item));
  if (!queues) return unusable(queues.error().message);
  if (std::find(queues->begin(), queues->end(), found_in) == queues->end()) {
    return unusable(name_of(item) + " has attributes of other queues than the one it stands in");
  }
  return EntryFacts{std::move(*id), std::move(*at), std::move(*queues)};
}

Result<WaitingFacts> Items::waiting(const ItemRef& item) const {
  auto id = filled(item, settings_.names.request);
  if (!id) return fail(id.error());
  auto at = text(item, settings_.names.sort);
  if (!at) return fail(at.error());
  return WaitingFacts{std::move(*id), std::move(*at)};
}

Value Items::alternatives(const Alternatives& alternatives) const {
  List out;
  for (const auto& queues : alternatives) {
    List keys;
    for (const size_t queue : queues) keys.elements.emplace_back(combinations_.key(queue));
    out.elements.emplace_back(std::move(keys));
  }
  return out;
}

Result<Alternatives> Items::read_alternatives(const ItemRef& item) const {
  const std::string what = "attribute '" + std::string(asked::kAlternatives) + "' of " + name_of(item);
  const auto stored = item.find(asked::kAlternatives);
  const Value value = stored ? stored->decode() : Value();
  const List* list = value.get_if<List>();
  if (list == nullptr) return unusable(what + " must be a list of lists of queue keys");
  Alternatives out;
  for (const auto& one : list->elements) {
    const List* keys = one.get_if<List>();
    if (keys == nullptr) return unusable(what + " must be a list of lists of queue keys");
    QueueSet queues;
    for (const auto& key : keys->elements) {
      const auto* text = key.get_if<std::string>();
      if (text == nullptr) return unusable(what + " must be a list of lists of queue keys");
      // A definition that has lost a value leaves the request the other queues.
      if (const auto queue = combinations_.find(*text)) queues.push_back(*queue);
    }
    add_alternative(out, std::move(queues));
  }
  if (flatten(out).size() > kMostQueuesAtOnce) return unusable(what + " names more queues than a transaction can hold");
  return out;
}

Result<RequestFacts> Items::request(const ItemRef& item) const {
  RequestFacts out;
  const auto sort = text(item, settings_.names.sort);
  if (!sort || !sort->starts_with(settings_.layout.request_prefix)) {
    return unusable(name_of(item) + " is no request: its sort key must begin with '" + settings_.layout.request_prefix +
                    "'");
  }
  out.request.id = sort->substr(settings_.layout.request_prefix.size());
  auto status = text(item, asked::kStatus);
  if (!status) return fail(status.error());
  out.request.status = std::move(*status);
  auto at = text(item, asked::kAt);
  if (!at) return fail(at.error());
  out.request.asked_at = std::move(*at);
  out.request.member = text_or_empty(item, asked::kMember);
  out.request.assignment = text_or_empty(item, settings_.names.assignment);
  out.request.queue = text_or_empty(item, asked::kQueue);
  if (const auto entry = item.find(asked::kEntry); entry && entry->type() == Type::kMap) {
    out.request.entry = ItemRef::encode(*entry->decode().get_if<Map>());
  }
  auto alternatives = read_alternatives(item);
  if (!alternatives) return fail(alternatives.error());
  out.alternatives = std::move(*alternatives);
  for (const size_t queue : flatten(out.alternatives)) out.request.queues.push_back(combinations_.key(queue));
  return out;
}

Item Items::copy_of(const ItemRef& member, const std::string& id) const {
  Item out;
  const auto copy = [&](const std::string& name) {
    if (const auto stored = member.find(name)) out.set(name, stored->decode());
  };
  for (const auto& attribute : settings_.attributes) copy(attribute.name);
  for (const auto& name : settings_.copied) copy(name);
  out.set(settings_.names.id, Value(id));
  return out;
}

}  // namespace freshet::filtered
