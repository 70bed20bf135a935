// Reads a request's members with the service's own checks and texts.
//
// A Checks object collects the faults, so that reading code stays flat and all violated constraints are reported at
// once, as the service does: members of a wrong type first (kSerialization), then constraints ("2 validation errors
// detected: ..."), then values that no item may hold. Members that the service does not know are ignored. Operations on
// items and on tables spell a violated constraint differently (Plane). One thread; views into the request's document.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tables/expression/expression.h"
#include "tables/tables.h"
#include "tables/value/json_reader.h"

namespace freshet::dynamodb {

class Checks {
 public:
  // kTables: "Value '0' at 'limit' failed ...". kItems: for a number or a length that is out of bounds, the value is
  // left out and the member spelled as in the API: "Value at 'Limit' failed ..."; other constraints as for kTables.
  enum class Plane { kTables, kItems };
  explicit Checks(Plane plane = Plane::kTables) : plane_(plane) {}
  Plane plane() const { return plane_; }
  // Keeps the first error of each rank.
  void add(Error error);
  // A missing required parameter, in the words of the operations on tables. Reported before everything but wrong types.
  void missing(std::string_view name);
  // "Value 'x' at 'path' failed to satisfy constraint: Member must RULE". A null value is spelled null.
  void violated(std::optional<std::string_view> value, const std::string& path, const std::string& rule);
  // The same with a whole rule: "Map keys must ...".
  void unsatisfied(std::optional<std::string_view> value, const std::string& path, const std::string& rule);
  // "Value at 'path' failed to satisfy constraint: Member must RULE".
  void out_of_bounds(const std::string& path, const std::string& rule);
  // True if a member has a wrong type: that is reported whatever else is wrong, so nothing further need be read.
  bool is_decided() const { return serialization_.has_value(); }
  Result<void> result() const;

 private:
  const Plane plane_;
  std::optional<Error> serialization_;
  std::optional<Error> missing_;
  std::vector<std::string> violations_;
  std::optional<Error> validation_;
};

enum class Need { kOptional, kRequired };

// Bounds of a string's length or a number's value.
struct Range {
  int64_t least = 0;
  int64_t most = INT64_MAX;
};

// The members of one structure. `path` is its position in the request, with members as in the API:
// "KeySchema.1.member".
class Input {
 public:
  Input(JsonView object, Checks& checks, std::string path = {});

  // The same structure, but its faults go to `checks`.
  Input(const Input& other, Checks& checks) : object_(other.object_), checks_(checks), path_(other.path_) {}

  bool has(std::string_view name) const { return object_.find(name).has_value(); }
  // True if the member is present, and a map or list without entries.
  bool is_empty(std::string_view name) const;
  Checks& checks() const { return checks_; }

  std::string text(std::string_view name, Need need = Need::kOptional, Range length = {}) const;
  std::string pattern_text(std::string_view name, Need need, Range length) const;  // [a-zA-Z0-9_.-]+
  // The key or value of a tag: letters, digits and blanks of any script, and some signs. Counted in characters.
  std::string tag_text(std::string_view name, Range characters) const;
  bool flag(std::string_view name, bool fallback = false) const;
  std::optional<int64_t> number(std::string_view name, Range range = {}) const;
  std::optional<WallTime> time(std::string_view name) const;  // Epoch seconds, with a fraction.
  // One of `values`, which are in the service's order; "" if absent.
  std::string choice(std::string_view name, std::initializer_list<std::string_view> values,
                     Need need = Need::kOptional) const;
  // An expression: may be absent, but not empty.
  std::string expression(std::string_view name, ExpressionKind kind) const;
  Item item(std::string_view name, Need need) const;
  std::optional<Value> value(std::string_view name) const;
  std::vector<Value> values(std::string_view name) const;
  Placeholders placeholders() const;
  std::vector<std::pair<std::string, std::string>> names() const;  // ExpressionAttributeNames alone.
  // TableName, or the name in a table's ARN. For operations on items even a name of one character is valid; such a
  // table is only not found.
  std::string table() const;
  // TableName in operations on tables.
  std::string managed_table() const;
  std::optional<Input> structure(std::string_view name, Need need = Need::kOptional) const;
  // The structures of a list; their paths count from 1, as in the service. For a list longer than any may be
  // (kMostStructures), only the first ones: every reader of a list refuses that many. The same holds for the maps
  // below.
  static constexpr size_t kMostStructures = 1'100;
  std::vector<Input> list(std::string_view name, Need need = Need::kOptional, Range length = {}) const;
  std::vector<std::string> texts(std::string_view name, Range length = {}) const;
  // A map's structures with their names.
  std::vector<std::pair<std::string, Input>> map(std::string_view name, Need need, Range length) const;
  // A map from tables' names to lists of structures; the lists are as long as a batch may be.
  std::vector<std::pair<std::string, std::vector<Input>>> lists(std::string_view name, Range length) const;
  void check_table_names(std::string_view name) const;                 // Checks the names in a map of tables: names or
                                                                       // ARNs.
  std::vector<Item> items(std::string_view name, Range length) const;  // A required list of items.
  // Parameters of the service that this server does not have: reported, never ignored.
  void refuse(std::initializer_list<std::string_view> names) const;

  // The position of a member as most messages spell it: "keySchema.1.member.keyType".
  std::string path_of(std::string_view name) const;

 private:
  std::string full_path(std::string_view name) const;
  std::optional<JsonView> need(std::string_view name, Need need) const;
  std::optional<JsonView> object(std::string_view name, Need need, Range length) const;
  std::optional<std::string> table_of_arn() const;
  std::optional<JsonView> array(std::string_view name, Need need, Range length) const;
  void check_length(std::string_view value, std::string_view name, Range length) const;
  // Reports that a member breaks a bound; `shown` is its value.
  void break_bound(std::string_view shown, std::string_view name, const std::string& rule) const;
  void check_size(int64_t size, std::string_view name, Range length, std::string_view none,
                  std::string_view some) const;

  JsonView object_;
  Checks& checks_;
  std::string path_;
};

// The table's name in its ARN; empty if it is not one.
std::optional<std::string> table_name_of(std::string_view arn);

// "One or more parameter values were invalid: ..."
void refuse_parameter(const Input& in, std::string_view text);

ReturnValues return_values_of(const Input& input, std::initializer_list<std::string_view> allowed);
bool wants_item_on_failure(const Input& input);

// True if the name is one of Freshet's own tables, which clients do not see.
bool is_system_table(std::string_view name);

}  // namespace freshet::dynamodb
