#include "functions/ordered/policy/guard.h"

#include <xxhash.h>

#include <array>

namespace freshet::ordered {
namespace {

std::string digest(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * sizeof(canonical.digest));
  for (const unsigned char byte : canonical.digest) out += {kHex[byte >> 4], kHex[byte & 15]};
  return out;
}

bool before(const Value& a, const Value& b) {
  return compare(a, b) == std::partial_ordering::less;
}

tl::unexpected<Error> foreign(const std::string& name, Type is, Type must_be) {
  return invalid("'" + name + "' is of type " + std::string(type_name(is)) + ", ordered writes have " +
                 std::string(type_name(must_be)) + " there");
}

Result<std::optional<Value>> read_stamp(const ItemRef& item, const std::string& name, Type type) {
  const auto value = item.find(name);
  if (!value) return std::optional<Value>();
  if (value->type() != type) return foreign(name, value->type(), type);
  return std::optional<Value>(value->decode());
}

Result<std::string> read_tie(const ItemRef& item, const std::string& name) {
  const auto value = item.find(name);
  if (!value) return std::string();
  if (value->type() != Type::kString) return foreign(name, value->type(), Type::kString);
  return std::string(value->bytes());
}

// That the register `stamp` gives way: there is none, it is older, or `at_equal` says so.
std::string gives_way(const std::string& stamp, const std::string& at_equal) {
  std::string text = "(attribute_not_exists(" + stamp + ") OR " + stamp;
  if (at_equal == "yes") return text + " <= :t)";
  text += " < :t";
  if (at_equal != "no") text += " OR (" + stamp + " = :t AND " + at_equal + ")";
  return text + ")";
}

std::string tie_gives_way(const std::string& tie) {
  return "(attribute_not_exists(" + tie + ") OR " + tie + " <= :i)";
}

}  // namespace

Result<Facts> read_facts(const ItemRef& item, const Settings& s) {
  Facts facts;
  auto stamp = read_stamp(item, s.names.timestamp, s.token_type);
  if (!stamp) return fail(stamp.error());
  facts.stamp = std::move(*stamp);
  facts.deleted = is_tombstone(item, s);
  if (!s.update_attributes.empty()) {
    auto update = read_stamp(item, s.names.update_timestamp, s.token_type);
    if (!update) return fail(update.error());
    facts.update_stamp = std::move(*update);
  }
  if (s.ties == Ties::kArrival) return facts;
  auto tie = read_tie(item, s.names.tie);
  auto update_tie = read_tie(item, s.names.update_tie);
  if (!tie) return fail(tie.error());
  if (!update_tie) return fail(update_tie.error());
  facts.tie = std::move(*tie);
  facts.update_tie = std::move(*update_tie);
  return facts;
}

bool is_tombstone(const ItemRef& item, const Settings& s) {
  const auto deleted = item.find(s.names.deleted);
  return deleted && deleted->type() == Type::kBool && deleted->decode() == Value::boolean(true);
}

std::string tie_of_put(const Item& item) {
  std::string bytes;
  append_encoded(bytes, item);
  return digest(bytes);
}

std::string tie_of_delete() {
  return "~";  // Behind all that a digest is made of.
}

std::string tie_of_update(const Map& set) {
  return tie_of_put(set);
}

bool whole_gives_way(const Facts& facts, const Write& write, Ties ties) {
  if (!facts.stamp || before(*facts.stamp, write.stamp)) return true;
  if (before(write.stamp, *facts.stamp)) return false;
  if (ties == Ties::kArrival) return true;
  return write.kind == Kind::kUpdate ? !facts.deleted : facts.tie <= write.tie;
}

bool update_gives_way(const Facts& facts, const Write& write, Ties ties) {
  if (!facts.update_stamp || before(*facts.update_stamp, write.stamp)) return true;
  if (before(write.stamp, *facts.update_stamp)) return false;
  if (ties == Ties::kArrival || write.kind == Kind::kDelete) return true;
  return write.kind == Kind::kUpdate && facts.update_tie <= write.tie;
}

Guard::Guard(const Settings& settings)
    : settings_(settings), content_(settings.ties == Ties::kContent), updates_(!settings.update_attributes.empty()) {
  const auto set = [&](Kind kind, const std::string& whole_at_equal, const std::string& update_at_equal) {
    Texts& out = texts_[static_cast<size_t>(kind)];
    out.whole = gives_way("#t", content_ ? whole_at_equal : "yes");
    out.both = out.whole;
    if (updates_) out.both += " AND " + gives_way("#u", content_ ? update_at_equal : "yes");
  };
  set(Kind::kPut, tie_gives_way("#i"), "no");
  set(Kind::kDelete, tie_gives_way("#i"), "yes");
  set(Kind::kUpdate, "attribute_not_exists(#d)", tie_gives_way("#j"));
}

void Guard::fill(Placeholders& out, const Write& write, bool with_update) const {
  out.names.emplace_back("#t", settings_.names.timestamp);
  out.values.set(":t", write.stamp);
  if (with_update) out.names.emplace_back("#u", settings_.names.update_timestamp);
  if (!content_) return;
  out.values.set(":i", Value(write.tie));
  if (write.kind != Kind::kUpdate) out.names.emplace_back("#i", settings_.names.tie);
}

void Guard::add_to(PutItemInput& put, const Write& write) const {
  if (!content_ && !updates_) {  // The same as the text, for less than half of what an ordered put costs.
    put.rising = settings_.names.timestamp;
    return;
  }
  put.condition = texts(write.kind).both;
  fill(put.placeholders, write, updates_);
}

void Guard::add_to(UpdateItemInput& update, const Write& write) const {
  update.condition = texts(write.kind).both;
  fill(update.placeholders, write, true);
}

void Guard::merge(PutItemInput& put, const Write& write, const Item& found) const {
  put.condition = texts(write.kind).whole;
  fill(put.placeholders, write, false);
  const auto keep = [&](const std::string& name, const std::string& number) {
    const Value* value = found.find(name);
    put.placeholders.names.emplace_back("#k" + number, name);
    if (value == nullptr) {
      put.item.erase(name);
      put.condition += " AND attribute_not_exists(#k" + number + ")";
      return;
    }
    put.item.set(name, *value);
    put.placeholders.values.set(":k" + number, *value);
    put.condition += " AND #k" + number + " = :k" + number;
  };
  keep(settings_.names.update_timestamp, "u");
  if (content_) keep(settings_.names.update_tie, "j");
  for (size_t i = 0; i < settings_.update_attributes.size(); ++i) {
    keep(settings_.update_attributes[i], std::to_string(i));
  }
  // A delete that an update outlives leaves an item, which does not expire.
  put.item.erase(settings_.names.deleted);
  put.item.erase(settings_.names.ttl);
}

}  // namespace freshet::ordered
