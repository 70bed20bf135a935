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
bool wants_collection_metrics(const Input& input);  // True if the request asks for ReturnItemCollectionMetrics.

// Units in halves, so that they are exact: an eventually consistent read of up to 4 KB is one half.
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
// A transaction reads or writes each item twice: to prepare and to commit.
Units transaction_units(Units units);

// Operations that only read or only write name the kind beside the sum; all others leave it out.
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
  void append(std::string& json) const;  // Appends `,"ConsumedCapacity":[...]`, if wanted.

 private:
  const CapacityReport report_;
  UnitKind kind_;
  std::vector<std::pair<std::string, Units>> sums_;
};

// Appends `{"ItemCollectionKey":...,"SizeEstimateRangeGB":[...]}` for a write to a table with local indexes; else
// nothing.
void append_collection(std::string& json, const WriteCost& cost);

// The item collections of several writes by table.
class CollectionList {
 public:
  explicit CollectionList(bool wanted) : wanted_(wanted) {}
  bool wanted() const { return wanted_; }
  void add(const std::string& table, const WriteCost& cost);
  void append(std::string& json) const;  // Appends `,"ItemCollectionMetrics":{...}`, if wanted and not empty.

 private:
  const bool wanted_;
  std::vector<std::pair<std::string, std::string>> lists_;  // By table: the members of its list, as JSON.
};

}  // namespace freshet::dynamodb
