#include "tables/definition.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

KeyAttribute key(const char* name, Type type = Type::kString) {
  return {name, type};
}

TableDefinition queue_table() {
  TableDefinition table;
  table.name = "QueueTable";
  table.keys = {key("taskId"), {}};
  IndexDefinition index;
  index.name = "task-status-created-index";
  index.keys = {key("taskStatus"), key("taskCreated", Type::kNumber)};
  table.indexes = {index};
  table.stream = StreamView::kKeysOnly;
  table.ttl_attribute = "ttl";
  table.books = BooksDefinition{};
  return table;
}

TableDefinition with_local_index() {
  TableDefinition table = queue_table();
  table.keys = {key("a"), key("b")};
  IndexDefinition index;
  index.name = "local";
  index.keys = {key("a"), key("c")};
  index.local = true;
  table.indexes = {index};
  return table;
}

std::string error_of(const TableDefinition& table) {
  auto done = validate(table);
  if (done) return {};
  EXPECT_EQ(done.error().code, ErrorCode::kValidation);
  return done.error().message;
}

const std::string kPrefix = "One or more parameter values were invalid: ";

TEST(TableDefinition, GoodOnes) {
  EXPECT_EQ(error_of(queue_table()), "");
  EXPECT_EQ(error_of(with_local_index()), "");
  TableDefinition table = queue_table();
  EXPECT_EQ(table.index("task-status-created-index"), &table.indexes[0]);
  EXPECT_EQ(table.index("other"), nullptr);
}

TEST(TableDefinition, Names) {
  TableDefinition table = queue_table();
  for (const std::string& name : {std::string("ab"), std::string(), std::string(256, 'a')}) {
    table.name = name;
    EXPECT_EQ(error_of(table), "TableName must be at least 3 characters long and at most 255 characters long");
  }
  table.name = "a table";
  EXPECT_EQ(error_of(table),
            "1 validation error detected: Value 'a table' at 'tableName' failed to satisfy constraint: Member must "
            "satisfy regular expression pattern: [a-zA-Z0-9_.-]+");
  table = queue_table();
  table.indexes[0].name = "i";
  EXPECT_EQ(error_of(table),
            "1 validation error detected: Value 'i' at 'globalSecondaryIndexes.1.member.indexName' failed to satisfy "
            "constraint: Member must have length greater than or equal to 3");
  table.indexes[0].name = "in/dex";
  EXPECT_NE(error_of(table).find("regular expression pattern"), std::string::npos);
}

TEST(TableDefinition, Keys) {
  TableDefinition table = queue_table();
  table.keys.partition.name = "";
  EXPECT_EQ(error_of(table),
            "1 validation error detected: Value '' at 'keySchema.1.member.attributeName' failed to satisfy constraint: "
            "Member must have length greater than or equal to 1");
  table = queue_table();
  table.keys.partition.name = std::string(256, 'k');
  EXPECT_NE(error_of(table).find("less than or equal to 255"), std::string::npos);
  table = queue_table();
  table.keys.partition.type = Type::kMap;
  EXPECT_EQ(error_of(table),
            "1 validation error detected: Value 'M' at 'keySchema.1.member.attributeType' failed to satisfy "
            "constraint: Member must satisfy enum value set: [B, N, S]");
  table = queue_table();
  table.keys.sort = key("taskId");
  EXPECT_EQ(error_of(table), "Both the Hash Key and the Range Key element in the KeySchema have the same name");
  table = queue_table();
  table.keys.sort = key("taskCreated");
  EXPECT_EQ(error_of(table), kPrefix + "Attribute taskCreated is defined with type S and with type N");
}

TEST(TableDefinition, Indexes) {
  TableDefinition table = queue_table();
  table.indexes.push_back(table.indexes[0]);
  EXPECT_EQ(error_of(table), kPrefix + "Duplicate index name: task-status-created-index");

  table = queue_table();
  table.indexes[0].included = {"x"};
  EXPECT_EQ(error_of(table), kPrefix + "ProjectionType is ALL, but NonKeyAttributes is specified");
  table.indexes[0].projection = Projection::kInclude;
  EXPECT_EQ(error_of(table), "");
  table.indexes[0].included.assign(101, "x");
  EXPECT_EQ(error_of(table), kPrefix + "Number of NonKeyAttributes of all indexes exceeds the limit of 100");
  table.indexes[0].included.clear();
  EXPECT_EQ(error_of(table), kPrefix + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified");

  table = queue_table();
  IndexDefinition index = table.indexes[0];
  for (int i = 1; i < 20; ++i) {
    index.name = "index-" + std::to_string(i);
    table.indexes.push_back(index);
  }
  EXPECT_EQ(error_of(table), "");
  index.name = "one-more";
  table.indexes.push_back(index);
  EXPECT_EQ(error_of(table), kPrefix + "GlobalSecondaryIndex count exceeds the per-table limit of 20");
}

TEST(TableDefinition, LocalIndexes) {
  TableDefinition table = with_local_index();
  table.keys.sort.reset();
  EXPECT_EQ(error_of(table), kPrefix +
                                 "Table KeySchema does not have a range key, which is required when specifying a "
                                 "LocalSecondaryIndex");
  table = with_local_index();
  table.indexes[0].keys.sort.reset();
  EXPECT_EQ(error_of(table), kPrefix + "Index KeySchema does not have a range key for index: local");
  table = with_local_index();
  table.indexes[0].keys.partition.name = "z";
  EXPECT_EQ(error_of(table), kPrefix +
                                 "Index KeySchema does not have the same leading hash key as table KeySchema for "
                                 "index: local. index hash key: z, table hash key: a");
  table = with_local_index();
  for (int i = 1; i < 6; ++i) {
    table.indexes.push_back(table.indexes[0]);
    table.indexes.back().name += std::to_string(i);
  }
  EXPECT_EQ(error_of(table), kPrefix + "Number of LocalSecondaryIndexes exceeds per-table limit of 5");
}

TEST(TableDefinition, TimeToLiveAndBooks) {
  TableDefinition table = queue_table();
  table.ttl_attribute = "";
  EXPECT_NE(error_of(table).find("timeToLiveSpecification.attributeName"), std::string::npos);
  table = queue_table();
  table.books->status_attribute = "";
  EXPECT_NE(error_of(table).find("books.statusAttribute"), std::string::npos);
  table.books->status_attribute = "taskCreated";
  EXPECT_EQ(error_of(table), "") << "numbers are statuses too";
  table.keys.partition.type = Type::kBinary;
  table.books->status_attribute = table.keys.partition.name;
  EXPECT_EQ(error_of(table), kPrefix +
                                 "The books count statuses, which are strings or numbers, but the key attribute " +
                                 table.keys.partition.name + " has type B");
}

TEST(Books, Balance) {
  Books books;
  EXPECT_TRUE(check_balance(books));
  books.flow[{"", "PENDING", Cause::kClient}] = 3;
  books.flow[{"PENDING", "TAKEN", Cause::kQueue}] = 2;
  books.flow[{"TAKEN", "PENDING", Cause::kQueue}] = 1;
  books.flow[{"PENDING", "", Cause::kTimeToLive}] = 1;
  books.flow[{"PENDING", "PENDING", Cause::kClient}] = 9;
  books.stock = {{"PENDING", 1}, {"TAKEN", 1}};
  EXPECT_TRUE(check_balance(books)) << check_balance(books).error().message;
  books.stock["TAKEN"] = 2;
  auto off = check_balance(books);
  ASSERT_FALSE(off);
  EXPECT_EQ(off.error().message, "the books do not balance: status TAKEN holds 2 items, but 2 came in and 1 went out");
  books.stock = {{"PENDING", 1}};
  EXPECT_FALSE(check_balance(books)) << "a status without stock is counted too";
  books.stock = {{"PENDING", 1}, {"TAKEN", 1}, {"LOST", 1}};
  EXPECT_FALSE(check_balance(books)) << "stock that never came in";
}

}  // namespace
}  // namespace freshet
