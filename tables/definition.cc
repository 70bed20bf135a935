#include "tables/definition.h"

#include <algorithm>
#include <set>

#include "base/limits.h"

namespace freshet {
namespace {

constexpr size_t kMaxAttributeName = 255;
constexpr size_t kMaxIncluded = 100;  // The most included attributes of all indexes together.
constexpr size_t kShownName = 300;

tl::unexpected<Error> refuse(const std::string& text) {
  return invalid("One or more parameter values were invalid: " + text);
}

tl::unexpected<Error> constraint(std::string_view value, const std::string& at, const std::string& rule) {
  return invalid("1 validation error detected: Value '" + std::string(value.substr(0, kShownName)) + "' at '" + at +
                 "' failed to satisfy constraint: Member must " + rule);
}

Result<void> check_length(std::string_view value, const std::string& at, size_t least, size_t most) {
  if (value.size() < least) {
    return constraint(value, at, "have length greater than or equal to " + std::to_string(least));
  }
  if (value.size() > most) return constraint(value, at, "have length less than or equal to " + std::to_string(most));
  return {};
}

Result<void> check_pattern(std::string_view value, const std::string& at) {
  auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
  };
  if (std::all_of(value.begin(), value.end(), allowed)) return {};
  return constraint(value, at, "satisfy regular expression pattern: [a-zA-Z0-9_.-]+");
}

std::string_view projection_name(Projection projection) {
  switch (projection) {
    case Projection::kKeysOnly:
      return "KEYS_ONLY";
    case Projection::kInclude:
      return "INCLUDE";
    default:
      return "ALL";
  }
}

// The types of all key attributes; one attribute has one type, whichever index uses it.
using KeyTypes = std::map<std::string, Type, std::less<>>;

Result<void> check_key(const KeyAttribute& key, const std::string& at, KeyTypes& types) {
  if (auto done = check_length(key.name, at + ".attributeName", 1, kMaxAttributeName); !done) return done;
  if (key.type != Type::kString && key.type != Type::kNumber && key.type != Type::kBinary) {
    return constraint(type_name(key.type), at + ".attributeType", "satisfy enum value set: [B, N, S]");
  }
  auto [known, fresh] = types.emplace(key.name, key.type);
  if (!fresh && known->second != key.type) {
    return refuse("Attribute " + key.name + " is defined with type " + std::string(type_name(known->second)) +
                  " and with type " + std::string(type_name(key.type)));
  }
  return {};
}

Result<void> check_keys(const KeySchema& keys, const std::string& at, KeyTypes& types) {
  if (auto done = check_key(keys.partition, at + "keySchema.1.member", types); !done) return done;
  if (!keys.sort) return {};
  if (auto done = check_key(*keys.sort, at + "keySchema.2.member", types); !done) return done;
  if (keys.partition.name == keys.sort->name) {
    return invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name");
  }
  return {};
}

// Checks the key of a global index, whose parts may have several attributes.
Result<void> check_composite(const KeySchema& keys, const std::string& at, KeyTypes& types) {
  if (!keys.is_composite()) return check_keys(keys, at, types);
  const std::pair<const char*, size_t> parts[] = {{"HASH", 1 + keys.more_partition.size()},
                                                  {"RANGE", keys.sort ? 1 + keys.more_sort.size() : 0}};
  for (const auto& [kind, count] : parts) {
    if (count <= limits::kMaxKeyPartAttributes) continue;
    return invalid("Invalid KeySchema: At most " + std::to_string(limits::kMaxKeyPartAttributes) + " " + kind +
                   " key attributes are allowed, but there are " + std::to_string(count));
  }
  if (!keys.more_sort.empty() && !keys.sort) return invalid("Invalid KeySchema: The first RANGE attribute is missing");
  std::set<std::string_view> names;
  size_t position = 0;
  for (const auto* key : keys.attributes()) {
    const std::string member = at + "keySchema." + std::to_string(++position) + ".member";
    if (auto done = check_key(*key, member, types); !done) return done;
    if (!names.insert(key->name).second) {
      return invalid("Invalid KeySchema: Two key attributes have the same name: " + key->name);
    }
  }
  return {};
}

Result<void> check_plain(const KeySchema& keys, const std::string& of) {
  if (!keys.is_composite()) return {};
  return invalid(
      "Invalid KeySchema: Only keys of global secondary indexes may have several attributes of one KeyType: " + of);
}

Result<void> check_local(const TableDefinition& table, const IndexDefinition& index) {
  if (!table.keys.sort) {
    return refuse("Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex");
  }
  if (!index.keys.sort) return refuse("Index KeySchema does not have a range key for index: " + index.name);
  if (index.keys.partition.name != table.keys.partition.name) {
    return refuse(
        "Index KeySchema does not have the same leading hash key as table KeySchema for index: " + index.name +
        ". index hash key: " + index.keys.partition.name + ", table hash key: " + table.keys.partition.name);
  }
  return {};
}

Result<void> check_projection(const IndexDefinition& index, const std::string& at) {
  bool include = index.projection == Projection::kInclude;
  if (include == index.included.empty()) {
    return refuse("ProjectionType is " + std::string(projection_name(index.projection)) + ", but NonKeyAttributes is " +
                  (include ? "not specified" : "specified"));
  }
  for (const auto& name : index.included) {
    if (auto done = check_length(name, at + "projection.nonKeyAttributes", 1, kMaxAttributeName); !done) return done;
  }
  return {};
}

Result<void> check_index(const TableDefinition& table, const IndexDefinition& index, size_t position, KeyTypes& types) {
  std::string at =
      std::string(index.local ? "local" : "global") + "SecondaryIndexes." + std::to_string(position) + ".member.";
  auto named = check_length(index.name, at + "indexName", limits::kMinTableNameBytes, limits::kMaxTableNameBytes);
  if (!named) return named;
  if (auto done = check_pattern(index.name, at + "indexName"); !done) return done;
  if (auto done = check_composite(index.keys, at, types); !done) return done;
  if (index.local) {
    if (auto done = check_plain(index.keys, index.name); !done) return done;
    if (auto done = check_local(table, index); !done) return done;
  }
  return check_projection(index, at);
}

Result<void> check_indexes(const TableDefinition& table, KeyTypes& types) {
  std::set<std::string_view> names;
  size_t locals = 0;
  size_t globals = 0;
  size_t included = 0;
  for (const auto& index : table.indexes) {
    size_t position = index.local ? ++locals : ++globals;
    if (auto done = check_index(table, index, position, types); !done) return done;
    if (!names.insert(index.name).second) return refuse("Duplicate index name: " + index.name);
    included += index.included.size();
  }
  if (locals > limits::kMaxLocalIndexes) {
    return refuse("Number of LocalSecondaryIndexes exceeds per-table limit of " +
                  std::to_string(limits::kMaxLocalIndexes));
  }
  if (globals > limits::kMaxGlobalIndexes) {
    return refuse("GlobalSecondaryIndex count exceeds the per-table limit of " +
                  std::to_string(limits::kMaxGlobalIndexes));
  }
  if (included > kMaxIncluded) {
    return refuse("Number of NonKeyAttributes of all indexes exceeds the limit of " + std::to_string(kMaxIncluded));
  }
  return {};
}

Result<void> check_books(const BooksDefinition& books, const KeyTypes& types) {
  if (auto done = check_length(books.status_attribute, "books.statusAttribute", 1, kMaxAttributeName); !done) {
    return done;
  }
  auto key = types.find(books.status_attribute);
  if (key == types.end() || key->second != Type::kBinary) return {};
  return refuse("The books count statuses, which are strings or numbers, but the key attribute " +
                books.status_attribute + " has type " + std::string(type_name(key->second)));
}

}  // namespace

namespace {
void add_partition(const KeySchema& keys, KeyAttributes& out) {
  out.add(keys.partition);
  for (const auto& key : keys.more_partition) out.add(key);
}

void add_sort(const KeySchema& keys, KeyAttributes& out) {
  if (keys.sort) out.add(*keys.sort);
  for (const auto& key : keys.more_sort) out.add(key);
}
}  // namespace

KeyAttributes KeySchema::partition_attributes() const {
  KeyAttributes out;
  add_partition(*this, out);
  return out;
}

KeyAttributes KeySchema::sort_attributes() const {
  KeyAttributes out;
  add_sort(*this, out);
  return out;
}

KeyAttributes KeySchema::attributes() const {
  KeyAttributes out;
  add_partition(*this, out);
  add_sort(*this, out);
  return out;
}

const IndexDefinition* TableDefinition::index(std::string_view index_name) const {
  auto found =
      std::find_if(indexes.begin(), indexes.end(), [&](const IndexDefinition& i) { return i.name == index_name; });
  return found == indexes.end() ? nullptr : &*found;
}

Result<void> validate(const TableDefinition& definition) {
  if (definition.name.size() < limits::kMinTableNameBytes || definition.name.size() > limits::kMaxTableNameBytes) {
    return invalid("TableName must be at least " + std::to_string(limits::kMinTableNameBytes) +
                   " characters long and at most " + std::to_string(limits::kMaxTableNameBytes) + " characters long");
  }
  if (auto done = check_pattern(definition.name, "tableName"); !done) return done;
  KeyTypes types;
  if (auto done = check_plain(definition.keys, definition.name); !done) return done;
  if (auto done = check_keys(definition.keys, "", types); !done) return done;
  if (auto done = check_indexes(definition, types); !done) return done;
  if (definition.ttl_attribute) {
    auto done = check_length(*definition.ttl_attribute, "timeToLiveSpecification.attributeName", 1, kMaxAttributeName);
    if (!done) return done;
  }
  if (definition.books) return check_books(*definition.books, types);
  return {};
}

Result<void> check_balance(const Books& books) {
  struct Side {
    uint64_t in = 0;
    uint64_t out = 0;
    uint64_t stock = 0;
  };
  std::map<std::string_view, Side> sides;
  for (const auto& [status, count] : books.stock) sides[status].stock = count;
  for (const auto& [arrow, count] : books.flow) {
    sides[arrow.to].in += count;
    sides[arrow.from].out += count;
  }
  for (const auto& [status, side] : sides) {
    if (status.empty() || side.in == side.out + side.stock) continue;
    return fail(ErrorCode::kInternal, "the books do not balance: status " + std::string(status) + " holds " +
                                          std::to_string(side.stock) + " items, but " + std::to_string(side.in) +
                                          " came in and " + std::to_string(side.out) + " went out");
  }
  return {};
}

}  // namespace freshet
