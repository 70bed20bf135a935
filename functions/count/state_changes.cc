#include "functions/count/state_changes.h"

namespace freshet {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '%') {
      out += "%25";
    } else if (c == '#') {
      out += "%23";
    } else if (c == '(' && out.empty()) {
      out += "%28";
    } else {
      out += c;
    }
    if (out.size() > kMaxLabel) return std::string(kOtherState);
  }
  return out;
}

void bump(std::map<std::string, int64_t>& items, const std::string& label, int64_t by) {
  const auto entry = items.try_emplace(label, 0).first;
  entry->second += by;
  if (entry->second == 0) items.erase(entry);
}

}  // namespace

std::string state_label(const ItemRef& item, std::string_view attribute) {
  const auto value = item.find(attribute);
  if (!value) return std::string(kNoState);
  switch (value->type()) {
    case Type::kString:
      return escaped(value->bytes());
    case Type::kNumber:
      return escaped(value->number().to_string());
    case Type::kBool:
      return *value->decode().get_if<bool>() ? "true" : "false";
    case Type::kNull:
      return std::string(kNoState);
    default:
      return std::string(kOtherState);
  }
}

Result<void> StateChanges::add(const ChangeRecord& record, std::string_view attribute) {
  std::optional<std::string> counted;
  if (record.before) counted = state_label(record.before, attribute);
  return add_to(counted, record, attribute);
}

Result<void> StateChanges::add_to(std::optional<std::string>& counted, const ChangeRecord& record,
                                  std::string_view attribute) {
  if (auto good = add_move(record, attribute); !good) return good;
  if (counted) bump(items, *counted, -1);
  counted.reset();
  if (record.kind == ChangeRecord::Kind::kRemove) return {};
  counted = state_label(record.after, attribute);
  bump(items, *counted, 1);
  return {};
}

Result<void> StateChanges::add_move(const ChangeRecord& record, std::string_view attribute) {
  const bool had = record.kind != ChangeRecord::Kind::kInsert;
  const bool has = record.kind != ChangeRecord::Kind::kRemove;
  if ((had && !record.before) || (has && !record.after)) {
    return invalid("a record of the stream has not both images: its StreamViewType must be NEW_AND_OLD_IMAGES");
  }
  const std::string_view gone = record.by_ttl ? kExpired : kRemoved;
  std::string from = had ? state_label(record.before, attribute) : std::string(kCreated);
  std::string to = has ? state_label(record.after, attribute) : std::string(gone);
  if (from != to) ++moves[{std::move(from), std::move(to)}];
  return {};
}

}  // namespace freshet
