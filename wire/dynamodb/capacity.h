// The cost of a request at the service: ReturnConsumedCapacity and ReturnItemCollectionMetrics (Developer Guide,
// "Read/write capacity mode").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/dynamodb/input.h"

namespace freshet::dynamodb {

enum class CapacityReport { kNone, kTotal, kIndexes };
CapacityReport capacity_report_of(const Input& input);
bool wants_collection_metrics(const Input& input);  // ReturnItemCollectionMetrics.

// Units in halves, so that they stay exact: an eventually consistent read of up to 4 KB is one half.
struct Units {
  struct Index {
    std::string name;
    bool local = false;
    uint64_t halves = 0;
  };
  uint64_t table = 0;
  std::vector<Index> indexes;

  uint64_t total() const;
  void add(const Units& more);
};
uint64_t read_half_units(uint64_t bytes, bool consistent);
Units read_units(uint64_t bytes, bool consistent);
Units write_units(const WriteCost& cost);
// In a transaction every item is read or written twice: prepared and committed.
Units transaction_units(Units units);

// Operations that are only read or written say so beside the sum; all others leave it out.
enum class UnitKind { kPlain, kRead, kWrite };
// Appends `{"TableName":...,"CapacityUnits":...}`.
void append_capacity(std::string& json, CapacityReport report, std::string_view table, const Units& units,
                     UnitKind kind = UnitKind::kPlain);

// Units of several operations by table, in the order of the request.
class CapacitySums {
 public:
  explicit CapacitySums(CapacityReport report, UnitKind kind = UnitKind::kPlain) : report_(report), kind_(kind) {}
  bool wanted() const { return report_ != CapacityReport::kNone; }
  void set_kind(UnitKind kind) { kind_ = kind; }
  void add(const std::string& table, const Units& units);
  void append(std::string& json) const;  // `,"ConsumedCapacity":[...]`, if wanted.

 private:
  const CapacityReport report_;
  UnitKind kind_;
  std::vector<std::pair<std::string, Units>> sums_;
};

// `{"ItemCollectionKey":...,"SizeEstimateRangeGB":[...]}` of a write to a table with local indexes; nothing otherwise.
void append_collection(std::string& json, const WriteCost& cost);

// The item collections of several writes by table.
class CollectionList {
 public:
  explicit CollectionList(bool wanted) : wanted_(wanted) {}
  bool wanted() const { return wanted_; }
  void add(const std::string& table, const WriteCost& cost);
  void append(std::string& json) const;  // `,"ItemCollectionMetrics":{...}`, if wanted and there are some.

 private:
  const bool wanted_;
  std::vector<std::pair<std::string, std::string>> lists_;  // By table: the JSON of its list's members.
};

}  // namespace freshet::dynamodb
