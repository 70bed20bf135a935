#include "wire/dynamodb/statement_token.h"

#include <xxhash.h>

#include "tables/value/item_ref.h"
#include "tables/value/text.h"

namespace freshet::dynamodb {

std::string statement_fingerprint(std::string_view text, const std::vector<Value>& parameters) {
  std::string all = std::to_string(text.size()) + ":";
  all += text;
  for (const Value& value : parameters) append_encoded(all, value);
  const XXH128_hash_t hash = XXH3_128bits(all.data(), all.size());
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  return {reinterpret_cast<const char*>(bytes.digest), sizeof bytes.digest};
}

std::string write_token(const std::string& fingerprint, const StatementPosition& position) {
  const Item token{{"for", Value(Binary{fingerprint})},
                   {"key", Value(position.start_key)},
                   {"step", Value::number(static_cast<int64_t>(position.step))}};
  std::string encoded;
  append_encoded(encoded, token);
  std::string out;
  append_base64(out, encoded);
  return out;
}

Result<StatementPosition> read_token(std::string_view token, const std::string& fingerprint) {
  const auto wrong = [] { return invalid("Invalid NextToken"); };
  std::string encoded;
  if (!append_from_base64(encoded, token).empty()) return wrong();
  const auto item = decode_item(encoded);
  if (!item) return wrong();
  const Value* made_for = item->find("for");
  const Value* key = item->find("key");
  const auto* map = key ? key->get_if<Map>() : nullptr;
  const auto* known = made_for ? made_for->get_if<Binary>() : nullptr;
  const int64_t step = item->int_or("step", -1);
  if (!known || !map || step < 0) return wrong();
  if (known->bytes != fingerprint) return invalid("NextToken does not match request");
  return StatementPosition{static_cast<uint64_t>(step), *map};
}

}  // namespace freshet::dynamodb
