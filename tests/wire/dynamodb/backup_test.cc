// CreateBackup, DescribeBackup, ListBackups, DeleteBackup, RestoreTableFromBackup.
#include <gmock/gmock.h>

#include "tables/backups.h"
#include "tests/wire/dynamodb/protocol_fixture.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::Not;

class BackupOperationsTest : public DynamoDbTest {
 protected:
  BackupOperationsTest() { scheduler_.add(*store_); }
  ~BackupOperationsTest() override { scheduler_.remove(*store_); }

  // Makes a backup, complete; its ARN.
  std::string back_up(const std::string& table, const std::string& name) {
    const std::string made = ok("CreateBackup", R"({"TableName":")" + table + R"(","BackupName":")" + name + R"("})");
    EXPECT_THAT(made, HasSubstr(R"("BackupStatus":"CREATING")"));
    scheduler_.run_for(milliseconds(10));
    JsonDocument document;
    const auto details = document.parse(made)->find("BackupDetails");
    return std::string(*details->string_or("BackupArn"));
  }
};

TEST_F(BackupOperationsTest, DescribeWhatWasBackedUp) {
  make_tasks();
  ok("PutItem", R"({"TableName":"Tasks","Item":{"id":{"S":"a"},"state":{"S":"new"},"at":{"N":"1"}}})");
  ok("UpdateTimeToLive", R"({"TableName":"Tasks","TimeToLiveSpecification":{"AttributeName":"ttl","Enabled":true}})");
  const std::string arn = back_up("Tasks", "first");
  const std::string described = ok("DescribeBackup", R"({"BackupArn":")" + arn + R"("})");
  EXPECT_THAT(described, HasSubstr(R"({"BackupDescription":{"BackupDetails":{"BackupArn":")" + arn +
                                   R"(","BackupName":"first","BackupSizeBytes":)"));
  EXPECT_THAT(described, HasSubstr(R"("BackupStatus":"AVAILABLE","BackupType":"USER","BackupCreationDateTime":1800)"));
  EXPECT_THAT(described, HasSubstr(R"("SourceTableDetails":{"TableName":"Tasks","TableId":")"));
  EXPECT_THAT(described, HasSubstr(R"("ItemCount":1,"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}])"));
  EXPECT_THAT(described, HasSubstr(R"("ProvisionedThroughput":{"ReadCapacityUnits":0,"WriteCapacityUnits":0},)"
                                   R"("BillingMode":"PAY_PER_REQUEST"})"));
  EXPECT_THAT(
      described,
      HasSubstr(R"("SourceTableFeatureDetails":{"GlobalSecondaryIndexes":[{"IndexName":"by-state","KeySchema":)"
                R"([{"AttributeName":"state","KeyType":"HASH"},{"AttributeName":"at","KeyType":"RANGE"}],)"
                R"("Projection":{"ProjectionType":"KEYS_ONLY"},"ProvisionedThroughput":{"ReadCapacityUnits":0,)"
                R"("WriteCapacityUnits":0}}],"StreamDescription":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"},)"
                R"("TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"ttl"}}}})"));
  const std::string gone = ok("DeleteBackup", R"({"BackupArn":")" + arn + R"("})");
  EXPECT_THAT(gone, HasSubstr(R"("BackupStatus":"DELETED")"));
  EXPECT_EQ(error("DescribeBackup", R"({"BackupArn":")" + arn + R"("})"),
            "BackupNotFoundException: Backup not found: " + arn);
}

TEST_F(BackupOperationsTest, RestoreIsCreatingUntilAllIsThere) {
  make_tasks();
  for (int i = 0; i < 5; ++i) {
    ok("PutItem", R"({"TableName":"Tasks","Item":{"id":{"S":")" + std::to_string(i) + R"("}}})");
  }
  const std::string arn = back_up("Tasks", "first");
  const std::string made = ok("RestoreTableFromBackup", R"({"TargetTableName":"Copy","BackupArn":")" + arn + R"("})");
  EXPECT_THAT(made, HasSubstr(R"("TableName":"Copy")"));
  EXPECT_THAT(made, HasSubstr(R"("TableStatus":"CREATING")"));
  EXPECT_THAT(made, HasSubstr(R"("RestoreSummary":{"SourceBackupArn":")" + arn + R"(","SourceTableArn":")" +
                              arn.substr(0, arn.find("/backup/")) + R"(","RestoreDateTime":1800000000.)"));
  EXPECT_THAT(made, HasSubstr(R"("RestoreInProgress":true})"));
  EXPECT_THAT(made, Not(HasSubstr("StreamSpecification")));
  EXPECT_THAT(ok("DescribeTable", R"({"TableName":"Copy"})"), HasSubstr(R"("TableStatus":"CREATING")"));
  EXPECT_EQ(error("GetItem", R"({"TableName":"Copy","Key":{"id":{"S":"1"}}})"),
            "ResourceNotFoundException: Requested resource not found");
  EXPECT_EQ(error("RestoreTableFromBackup", R"({"TargetTableName":"Copy","BackupArn":")" + arn + R"("})"),
            "TableInUseException: Table is being created: Copy");
  scheduler_.run_for(milliseconds(10));
  EXPECT_THAT(ok("DescribeTable", R"({"TableName":"Copy"})"), HasSubstr(R"("TableStatus":"ACTIVE")"));
  EXPECT_THAT(ok("DescribeTable", R"({"TableName":"Copy"})"), HasSubstr(R"("RestoreInProgress":false})"));
  EXPECT_THAT(ok("Scan", R"({"TableName":"Copy","Select":"COUNT"})"), HasSubstr(R"("Count":5)"));
  EXPECT_EQ(error("RestoreTableFromBackup", R"({"TargetTableName":"Tasks","BackupArn":")" + arn + R"("})"),
            "TableAlreadyExistsException: Table already exists: Tasks");
}

TEST_F(BackupOperationsTest, RestoreWithOverrides) {
  make_tasks();
  const std::string arn = back_up("Tasks", "first");
  const auto restore = [&](const std::string& more) {
    return R"({"TargetTableName":"Copy","BackupArn":")" + arn + R"(",)" + more + "}";
  };
  EXPECT_EQ(error("RestoreTableFromBackup", restore(R"("BillingModeOverride":"PROVISIONED")")),
            "ValidationException: One or more parameter values were invalid: ProvisionedThroughputOverride must be "
            "specified when BillingModeOverride is PROVISIONED");
  EXPECT_EQ(error("RestoreTableFromBackup",
                  restore(R"("GlobalSecondaryIndexOverride":[{"IndexName":"by-state","KeySchema":[{"AttributeName":)"
                          R"("state","KeyType":"HASH"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}])")),
            "ValidationException: One or more parameter values were invalid: The index by-state of the override does "
            "not match an index of the backup");
  EXPECT_EQ(error("RestoreTableFromBackup", R"({"TargetTableName":"freshet.x","BackupArn":")" + arn + R"("})"),
            "ValidationException: Table names that start with 'freshet.' are reserved");
  const std::string made =
      ok("RestoreTableFromBackup",
         restore(R"("BillingModeOverride":"PROVISIONED","ProvisionedThroughputOverride":{"ReadCapacityUnits":3,)"
                 R"("WriteCapacityUnits":4},"GlobalSecondaryIndexOverride":[{"IndexName":"by-state","KeySchema":)"
                 R"([{"AttributeName":"state","KeyType":"HASH"},{"AttributeName":"at","KeyType":"RANGE"}],)"
                 R"("Projection":{"ProjectionType":"KEYS_ONLY"},"ProvisionedThroughput":{"ReadCapacityUnits":5,)"
                 R"("WriteCapacityUnits":6}}])"));
  EXPECT_THAT(made, HasSubstr(R"("ReadCapacityUnits":3,"WriteCapacityUnits":4)"));
  EXPECT_THAT(made, HasSubstr(R"("ReadCapacityUnits":5,"WriteCapacityUnits":6)"));
}

TEST_F(BackupOperationsTest, ListFiltersAndPages) {
  make_tasks();
  std::vector<std::string> arns;
  for (int i = 0; i < 3; ++i) {
    arns.push_back(back_up("Tasks", "backup-" + std::to_string(i)));
    scheduler_.run_for(seconds(10));
  }
  const auto names = [&](const std::string& more) {
    const std::string listed = ok("ListBackups", "{" + more + "}");
    std::string out;
    JsonDocument document;
    const auto view = document.parse(listed);
    for (const JsonView backup : *view->find("BackupSummaries")) {
      out += std::string(*backup.string_or("BackupName")) + " ";
    }
    return out + std::string(*view->string_or("LastEvaluatedBackupArn"));
  };
  EXPECT_EQ(names(""), "backup-0 backup-1 backup-2 ");
  EXPECT_EQ(names(R"("TableName":"Tasks","BackupType":"ALL")"), "backup-0 backup-1 backup-2 ");
  EXPECT_EQ(names(R"("TableName":"Other")"), "");
  EXPECT_EQ(names(R"("BackupType":"SYSTEM")"), "");
  EXPECT_EQ(names(R"("Limit":2)"), "backup-0 backup-1 " + arns[1]);
  EXPECT_EQ(names(R"("ExclusiveStartBackupArn":")" + arns[1] + R"(")"), "backup-2 ");
  EXPECT_EQ(names(R"("TimeRangeLowerBound":1800000005,"TimeRangeUpperBound":1800000015.5)"), "backup-1 ");
  EXPECT_EQ(names(R"("TimeRangeUpperBound":1800000000.123)"), "") << "the upper bound is exclusive";
  EXPECT_EQ(names(R"("TimeRangeLowerBound":1800000000.123,"Limit":1)"), "backup-0 " + arns[0]);
  EXPECT_EQ(error("ListBackups", R"({"TimeRangeLowerBound":"now"})"),
            "SerializationException: TimeRangeLowerBound must be a time in epoch seconds");
  EXPECT_THAT(error("ListBackups", R"({"BackupType":"MINE"})"), HasSubstr("failed to satisfy constraint"));
  EXPECT_EQ(error("CreateBackup", R"({"TableName":"None","BackupName":"name"})"),
            "TableNotFoundException: Table not found: None");
  EXPECT_EQ(error("CreateBackup", R"({"TableName":"freshet.system","BackupName":"name"})"),
            "TableNotFoundException: Table not found: freshet.system");
}

}  // namespace
}  // namespace freshet
