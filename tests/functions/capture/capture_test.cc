#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "functions/capture/capture_changes.h"
#include "functions/capture/capture_lines.h"
#include "tests/functions/capture/capture_world.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using W = CaptureWorld;

template <class T>
std::string why(const Result<T>& answer) {
  return answer ? "no error" : answer.error().message;
}

TEST(Capture, WritesALineARecord) {
  W world;
  const auto appended = world.append(W::batch(1, 3));
  ASSERT_TRUE(appended) << appended.error().message;
  EXPECT_EQ(appended->written, 3u);
  ASSERT_THAT(world.names(), ElementsAre(W::part(1)));
  EXPECT_EQ(world.content(W::part(1)), W::lines(1, 3));
}

TEST(Capture, WritesNothingTwice) {
  W world;
  ASSERT_TRUE(world.append(W::batch(5, 7)));
  const auto again = world.append(W::batch(6, 9));
  EXPECT_EQ(again->written, 2u);
  EXPECT_EQ(again->seen_before, 2u);
  EXPECT_EQ(world.content(W::part(5)), W::lines(5, 9));
}

TEST(Capture, FinishesAFileBeforeItIsTooLarge) {
  W world;
  world.settings.limits.bytes = W::lines(1, 4).size();
  ASSERT_TRUE(world.append(W::batch(1, 10)));
  EXPECT_THAT(world.names(), ElementsAre(W::finished(1, 4), W::finished(5, 8), W::part(9)));
  EXPECT_EQ(world.content(W::finished(5, 8)), W::lines(5, 8));
  // A line that is larger alone has a file of its own.
  ASSERT_TRUE(world.append(W::batch({W::record(11, 5000), W::record(12)})));
  EXPECT_THAT(world.names(),
              ElementsAre(W::finished(1, 4), W::finished(5, 8), W::finished(9, 10), W::finished(11, 11), W::part(12)));
}

TEST(Capture, FinishesAFileWhenItIsOld) {
  W world;
  ASSERT_TRUE(world.append(W::batch(1, 2)));
  world.scheduler.run_for(seconds(50));
  ASSERT_TRUE(world.append(W::batch(3, 3)));
  EXPECT_THAT(world.names(), ElementsAre(W::part(1)));
  world.scheduler.run_for(seconds(11));
  EXPECT_THAT(world.names(), ElementsAre(W::finished(1, 3), W::part(4)));
  world.scheduler.run_for(seconds(600));  // Without lines it is not finished.
  EXPECT_THAT(world.names(), ElementsAre(W::finished(1, 3), W::part(4)));
}

TEST(Capture, KnowsWhatIsWrittenWhenFinishedFilesAreTakenAway) {
  W world;
  ASSERT_TRUE(world.append(W::batch(1, 3)));
  world.scheduler.run_for(seconds(61));
  ASSERT_TRUE(world.files.remove("/changes/T/" + W::finished(1, 3)));
  world.end();
  world.files.restart_process();
  world.start();
  const auto again = world.append(W::batch(2, 4));
  EXPECT_EQ(again->written, 1u);
  EXPECT_EQ(world.content(W::part(4)), W::lines(4, 4));
}

TEST(Capture, MendsATornFileAtTheStart) {
  W world;
  ASSERT_TRUE(world.append(W::batch(1, 3)));
  world.end();
  const std::string good = W::lines(1, 3);
  for (const std::string& torn : {good.substr(0, good.size() - 1), good + "{\"eventID\"", good + std::string(40, '\0'),
                                  good + "null\n", good + W::lines(2, 2)}) {
    world.files.restart_process();
    world.files.set_content("/changes/T/" + W::part(1), torn);
    world.start();
    const bool cut = torn.size() < good.size();
    EXPECT_EQ(world.content(W::part(1)), cut ? W::lines(1, 2) : good);
    ASSERT_TRUE(world.append(W::batch(3, 4)));
    EXPECT_EQ(world.content(W::part(1)), W::lines(1, 4));
    world.end();
  }
  // Nobody writes any more, and still it is finished.
  world.files.restart_process();
  world.start();
  world.scheduler.run_for(seconds(61));
  EXPECT_THAT(world.names(), ElementsAre(W::finished(1, 4), W::part(5)));
}

TEST(Capture, AFullDiskFailsTheBatchAndLosesNothing) {
  W world;
  ASSERT_TRUE(world.append(W::batch(1, 3)));
  world.files.set_disk_bytes(world.files.bytes_allocated() + 100);
  EXPECT_FALSE(world.append(W::batch(4, 9)));
  EXPECT_FALSE(world.append(W::batch(4, 9)));
  EXPECT_EQ(world.content(W::part(1)), W::lines(1, 3));
  world.files.set_disk_bytes(1u << 20);
  const auto again = world.append(W::batch(4, 9));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->written, 6u);
  EXPECT_EQ(world.content(W::part(1)), W::lines(1, 9));
}

TEST(Capture, ASyncThatFailedIsNotBelieved) {
  W world;
  ASSERT_TRUE(world.append(W::batch(1, 3)));
  world.files.fail_sync(1);
  EXPECT_FALSE(world.append(W::batch(4, 5)));
  ASSERT_TRUE(world.append(W::batch(4, 5)));
  world.end();
  world.files.restart();  // Power loss.
  world.start();
  EXPECT_EQ(world.content(W::part(1)), W::lines(1, 5));
}

TEST(Capture, RecordsOutOfOrderAreRefused) {
  W world;
  ASSERT_TRUE(world.append(W::batch({W::record(1), W::record(4)})));
  EXPECT_THAT(why(world.append(W::batch({W::record(2)}))), HasSubstr("ParallelizationFactor of its event source"));
  // A filter has left some out: what was there comes again.
  const auto again = world.append(W::batch({W::record(1), W::record(4), W::record(8)}));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->written, 1u);
}

TEST(Capture, EachStreamOfATableHasItsFiles) {
  W world;
  ASSERT_TRUE(world.append(W::batch(1, 3)));
  ASSERT_TRUE(world.append(W::batch({W::record(1)}, "2026-11-22T10:00:00.000")));
  EXPECT_THAT(world.names(), ElementsAre(W::part(1), "2026-11-22T10-00-00.000_100000000000000000001.jsonl.part"));
}

TEST(Capture, StreamsOfBeforeHoldNoFilesOpen) {
  W world;
  for (int i = 10; i < 40; ++i) {
    ASSERT_TRUE(world.append(W::batch({W::record(1)}, "2026-11-22T10:00:" + std::to_string(i) + ".000")));
  }
  world.scheduler.run_for(seconds(121));
  EXPECT_EQ(world.names().size(), 60u);  // Each a finished one, and one that says what is written.
  EXPECT_EQ(world.files.open_files(), 0u);
  world.end();
  world.files.restart_process();
  world.start();
  EXPECT_EQ(world.files.open_files(), 0u);
  world.scheduler.run_for(seconds(600));
  EXPECT_EQ(world.files.open_files(), 0u);
  EXPECT_EQ(world.append(W::batch({W::record(1), W::record(2)}, "2026-11-22T10:00:10.000"))->written, 1u);
}

TEST(Capture, GoesOnInAFileThatWasClosedMeanwhile) {
  W world;
  ASSERT_TRUE(world.append(W::batch({W::record(1), W::record(3)})));
  world.scheduler.run_for(seconds(200));
  EXPECT_EQ(world.files.open_files(), 0u);
  EXPECT_FALSE(world.append(W::batch(2, 2)));  // It came too late before, too.
  EXPECT_EQ(world.append(W::batch(3, 5))->written, 2u);
  EXPECT_EQ(world.content(W::part(4)), W::lines(4, 5));
}

TEST(Capture, NoLineIsLostInAFileThatWasTakenAway) {
  W world;
  ASSERT_TRUE(world.append(W::batch(1, 3)));
  ASSERT_TRUE(world.files.remove("/changes/T/" + W::part(1)));
  EXPECT_FALSE(world.append(W::batch(4, 6)));
  const auto again = world.append(W::batch(4, 6));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->written, 3u);
  EXPECT_EQ(world.content(W::part(4)), W::lines(4, 6));
}

// Its disk may have been unmounted: the mount point below it must not fill up in its place.
TEST(Capture, AFolderThatIsGoneIsNotMadeAgain) {
  W world;
  ASSERT_TRUE(world.append(W::batch(1, 3)));
  ASSERT_TRUE(world.files.remove("/changes/T/" + W::part(1)));
  EXPECT_FALSE(world.append(W::batch(4, 6)));
  bool made = false;
  world.files.fail_calls(ErrorCode::kNotFound, [&](const std::string& call) {
    made = made || call.starts_with("create directory");
    return call.starts_with("list /changes");
  });
  EXPECT_THAT(why(world.append(W::batch(4, 6))), HasSubstr("Put it back; is its disk mounted?"));
  EXPECT_FALSE(made);
  world.files.fail_calls(ErrorCode::kNotFound, nullptr);
  EXPECT_TRUE(world.append(W::batch(4, 6)));
}

TEST(Capture, AFolderThatIsGivenABucketLaterGoesThereAsAWhole) {
  W world;
  ASSERT_TRUE(world.append(W::batch(1, 3)));
  world.scheduler.run_for(seconds(61));
  world.settings.target = {"http://127.0.0.1:9000", "bucket", "us-east-1", "id", "secret"};
  ASSERT_TRUE(world.append(W::batch(4, 4)));
  world.scheduler.run_for(seconds(1));
  EXPECT_THAT(world.names(), ElementsAre(W::part(4)));
  EXPECT_EQ(world.objects.objects.size(), 1u);
}

TEST(Capture, PutsFinishedFilesIntoABucket) {
  W world;
  world.settings.target = {"http://127.0.0.1:9000", "bucket", "us-east-1", "id", "secret"};
  world.settings.prefix = "a/b/";
  int failures = 3;
  world.objects.loses = [&] { return failures-- > 0; };
  ASSERT_TRUE(world.append(W::batch(1, 3)));
  EXPECT_TRUE(world.objects.objects.empty());
  world.scheduler.run_for(seconds(61));
  EXPECT_THAT(world.names(), ElementsAre(W::finished(1, 3), W::part(4)));  // Not there yet: nothing is removed.
  world.scheduler.run_for(seconds(10));
  EXPECT_THAT(world.names(), ElementsAre(W::part(4)));
  EXPECT_EQ(world.objects.objects,
            (std::map<std::string, std::string>{{"a/b/T/" + W::finished(1, 3), W::lines(1, 3)}}));
  EXPECT_EQ(world.objects.targets.back().bucket, "bucket");
}

TEST(Capture, AStartGoesOnPutting) {
  W world;
  ASSERT_TRUE(world.append(W::batch(1, 3)));
  world.scheduler.run_for(seconds(61));  // Without a bucket.
  world.end();
  world.files.restart_process();
  world.settings.target = {"http://127.0.0.1:9000", "bucket", "us-east-1", "id", "secret"};
  world.start();
  world.scheduler.run_for(seconds(1));
  EXPECT_THAT(world.names(), ElementsAre(W::part(4)));
  EXPECT_EQ(world.objects.objects.size(), 1u);
}

TEST(Capture, SaysWhatIsWrongWithTheFolder) {
  W world;
  world.settings.folder = "/nowhere";
  EXPECT_THAT(why(world.append(W::batch(1, 1))),
              HasSubstr("CAPTURE_FOLDER is '/nowhere': it must be a folder that is there and can be written to"));
  world.settings.folder = "/changes";
  ASSERT_TRUE(world.append(W::batch(1, 1)));
  SimSync sync(world.files, world.scheduler);
  // Another process.
  Captures second(CaptureParts{world.files, sync, world.scheduler, world.objects, EventLog()});
  const StreamBatch batch = W::batch(1, 1);
  auto refused = second.append(world.settings, batch);
  ASSERT_TRUE(refused.is_ready());
  EXPECT_THAT(why(refused.take()), HasSubstr("is locked by another process: a folder is for one daemon"));
}

std::string wrong(Environment environment) {
  return why(capture_settings(environment));
}

TEST(CaptureSettings, SayWhatIsWrong) {
  EXPECT_EQ(wrong({}), "CAPTURE_FOLDER is not set: it must be a folder that is there and can be written to");
  EXPECT_EQ(wrong({{"CAPTURE_FOLDER", "/c"}}), "no error");
  EXPECT_EQ(wrong({{"CAPTURE_FOLDER", "/c"}, {"CAPTURE_FILE_BYTES", "0"}}),
            "CAPTURE_FILE_BYTES is '0': it must be a whole number from 1 to 67108864");
  EXPECT_EQ(wrong({{"CAPTURE_FOLDER", "/c"}, {"CAPTURE_S3_BUCKET", "b"}}),
            "CAPTURE_S3_BUCKET is set without CAPTURE_S3_ENDPOINT: set that too, such as https://HOST:PORT");
  Environment s3{{"CAPTURE_FOLDER", "/c"}, {"CAPTURE_S3_ENDPOINT", "http://127.0.0.1:9000/"}};
  EXPECT_THAT(wrong(s3), HasSubstr("CAPTURE_S3_BUCKET is not set"));
  s3["CAPTURE_S3_BUCKET"] = "Not A Bucket";
  EXPECT_THAT(wrong(s3), HasSubstr("it must be 3 to 63 lower-case letters"));
  s3["CAPTURE_S3_BUCKET"] = "bucket";
  EXPECT_THAT(wrong(s3), HasSubstr("CAPTURE_S3_ACCESS_KEY_ID is not set"));
  s3["CAPTURE_S3_ACCESS_KEY_ID"] = "id";
  EXPECT_THAT(wrong(s3), HasSubstr("CAPTURE_S3_SECRET_ACCESS_KEY is not set"));
  s3["CAPTURE_S3_SECRET_ACCESS_KEY"] = "secret";
  EXPECT_EQ(wrong(s3), "no error");
  EXPECT_EQ(capture_settings(s3)->target.endpoint, "http://127.0.0.1:9000");
  s3["CAPTURE_S3_PREFIX"] = "a b";
  EXPECT_THAT(wrong(s3), HasSubstr("CAPTURE_S3_PREFIX is 'a b'"));
  s3["CAPTURE_S3_PREFIX"] = "a";
  EXPECT_EQ(capture_settings(s3)->prefix, "a/");
  for (const char* region : {"", "us east 1", "us-east-1\n", "EU"}) {
    s3["CAPTURE_S3_REGION"] = region;
    EXPECT_THAT(wrong(s3), HasSubstr("CAPTURE_S3_REGION is '")) << region;
  }
  s3.erase("CAPTURE_S3_REGION");
  for (const char* id : {"a b", "id\n", "a/b", "a,b", "a=b"}) {
    s3["CAPTURE_S3_ACCESS_KEY_ID"] = id;
    EXPECT_THAT(wrong(s3), HasSubstr("CAPTURE_S3_ACCESS_KEY_ID is '")) << id;
  }
  s3["CAPTURE_S3_ACCESS_KEY_ID"] = "minio@example.com+1";
  s3["CAPTURE_S3_SECRET_ACCESS_KEY"] = "topsecret\n";
  EXPECT_EQ(wrong(s3), "CAPTURE_S3_SECRET_ACCESS_KEY begins or ends with a blank or a line end: take that off");
  s3["CAPTURE_S3_SECRET_ACCESS_KEY"] = "se cret";
  EXPECT_EQ(wrong(s3), "no error");
  s3["CAPTURE_S3_ENDPOINT"] = "http://127.0.0.1:9000/path";
  EXPECT_THAT(wrong(s3), HasSubstr("it must have no path"));
  s3["CAPTURE_S3_ENDPOINT"] = "ftp://127.0.0.1";
  EXPECT_THAT(wrong(s3), HasSubstr("CAPTURE_S3_ENDPOINT: not a usable URL"));
}

TEST(CaptureName, IsReadBackAndNothingElseIs) {
  for (const std::string& name : {W::part(7), W::finished(7, 90)}) {
    const auto parsed = parse_capture_name(name);
    ASSERT_TRUE(parsed) << name;
    EXPECT_EQ(to_string(*parsed), name);
  }
  for (const char* other :
       {"", "x", ".lock", "a.jsonl", "_1.jsonl.part", "l_7.jsonl.part", "l_100000000000000000007.jsonl",
        "l_100000000000000000007-100000000000000000090.jsonl.part", "l_100000000000000000007-x.jsonl"}) {
    EXPECT_FALSE(parse_capture_name(other)) << other;
  }
}

}  // namespace
}  // namespace freshet
