#include <gtest/gtest.h>

#include "streams/stream_event.h"
#include "streams/topic_message.h"
#include "tables/value/json.h"

namespace freshet {
namespace {

const WallTime kAt{milliseconds(1'700'000'000'123)};

StreamSource source_of(StreamView view) {
  return {Account{}, stream_arn(Account{}, "T", "2026-11-21T00:08:52.709"), view};
}

ChangeRecord modify_record() {
  ChangeRecord record;
  record.sequence = 42;
  record.kind = ChangeRecord::Kind::kModify;
  record.at = kAt;
  record.keys = Item{{"taskId", "t1"}};
  record.before = ItemRef::encode(Item{{"n", Value::number(1)}, {"taskId", "t1"}});
  record.after = ItemRef::encode(Item{{"n", Value::number(2)}, {"taskId", "t1"}});
  return record;
}

TEST(StreamEvent, AKeysOnlyRecordHasTheStandardShape) {
  const ChangeRecord record = modify_record();
  const std::string event = stream_event(std::span(&record, 1), source_of(StreamView::kKeysOnly));
  const std::string id = event.substr(std::string(R"({"Records":[{"eventID":")").size(), 32);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(event, R"({"Records":[{"eventID":")" + id +
                       R"(","eventName":"MODIFY","eventVersion":"1.1","eventSource":"aws:dynamodb",)"
                       R"("awsRegion":"us-east-1","dynamodb":{"ApproximateCreationDateTime":1700000000,)"
                       R"("Keys":{"taskId":{"S":"t1"}},"SequenceNumber":"100000000000000000042","SizeBytes":8,)"
                       R"("StreamViewType":"KEYS_ONLY"},"eventSourceARN":)"
                       R"("arn:aws:dynamodb:us-east-1:000000000000:table/T/stream/2026-11-21T00:08:52.709"}]})");
  EXPECT_EQ(event, stream_event(std::span(&record, 1), source_of(StreamView::kKeysOnly))) << "not deterministic";
}

TEST(StreamEvent, ViewsTrimTheImages) {
  const ChangeRecord record = modify_record();
  const auto json = [&](StreamView view) {
    std::string out;
    append_stream_record(out, record, source_of(view));
    return out;
  };
  const std::string new_image = R"("NewImage":{"n":{"N":"2"},"taskId":{"S":"t1"}})";
  const std::string old_image = R"("OldImage":{"n":{"N":"1"},"taskId":{"S":"t1"}})";
  const auto has = [](const std::string& text, const std::string& part) { return text.find(part) != text.npos; };
  EXPECT_FALSE(has(json(StreamView::kKeysOnly), "Image\""));
  EXPECT_TRUE(has(json(StreamView::kNewImage), new_image));
  EXPECT_FALSE(has(json(StreamView::kNewImage), "OldImage"));
  EXPECT_TRUE(has(json(StreamView::kOldImage), old_image));
  EXPECT_FALSE(has(json(StreamView::kOldImage), "NewImage"));
  const std::string both = json(StreamView::kNewAndOldImages);
  EXPECT_TRUE(has(both, new_image));
  EXPECT_TRUE(has(both, old_image));
}

TEST(StreamEvent, ARemovalByTtlNamesTheServiceInBothSpellings) {
  ChangeRecord record = modify_record();
  record.kind = ChangeRecord::Kind::kRemove;
  record.after = ItemRef();
  record.by_ttl = true;
  std::string event;
  append_stream_record(event, record, source_of(StreamView::kNewAndOldImages));
  EXPECT_NE(event.find(R"("userIdentity":{"principalId":"dynamodb.amazonaws.com","type":"Service"})"), event.npos);
  EXPECT_EQ(event.find("NewImage"), event.npos);
  std::string protocol;
  append_stream_record(protocol, record, source_of(StreamView::kNewAndOldImages), RecordStyle::kProtocol);
  EXPECT_NE(protocol.find(R"("userIdentity":{"PrincipalId":"dynamodb.amazonaws.com","Type":"Service"})"),
            protocol.npos);
  EXPECT_EQ(protocol.find("eventSourceARN"), protocol.npos);
}

TEST(StreamEvent, TheRecordAsDataSaysTheSameAsItsJson) {
  ChangeRecord record = modify_record();
  record.by_ttl = true;
  record.after = ItemRef::encode(Item{{"b", Value(Binary{"\x01\x02"})},
                                      {"deep", Value(Map{{"l", Value(List{{Value("x"), Value(Null{})}})}})},
                                      {"flag", Value::boolean(true)},
                                      {"set", Value(StringSet{{"a", "b"}})},
                                      {"taskId", "t1"}});
  const StreamSource source = source_of(StreamView::kNewAndOldImages);
  std::string json;
  append_stream_record(json, record, source);
  const auto parsed = parse_plain_json(json);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed->get_if<Map>(), stream_record_value(record, source, true));
  EXPECT_FALSE(stream_record_value(record, source, false).contains("dynamodb"));
}

TEST(StreamEvent, SequenceNumbersAreReadBackAndSortAsText) {
  EXPECT_EQ(sequence_number(7).size(), 21u);
  EXPECT_LT(sequence_number(9), sequence_number(10));
  for (const uint64_t n : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
    EXPECT_EQ(parse_sequence_number(sequence_number(n)), n);
  }
  EXPECT_EQ(parse_sequence_number("17"), 17u);
  for (const char* bad :
       {"", "x", "-1", "1 ", "99999999999999999999", "200000000000000000000", "1000000000000000000000"}) {
    EXPECT_FALSE(parse_sequence_number(bad)) << bad;
  }
}

TEST(StreamEvent, ViewNamesAreReadBack) {
  for (const auto view :
       {StreamView::kKeysOnly, StreamView::kNewImage, StreamView::kOldImage, StreamView::kNewAndOldImages}) {
    EXPECT_EQ(parse_stream_view(stream_view_name(view)), view);
  }
  EXPECT_FALSE(parse_stream_view("ALL"));
}

TopicMessage message() {
  TopicMessage m;
  m.id = "m-1";
  m.at = kAt;
  m.content.topic_arn = topic_arn(Account{}, "News");
  m.content.message = "Sta\"rt";
  return m;
}

TEST(TopicMessage, AFunctionGetsTheStandardEvent) {
  TopicMessage m = message();
  EXPECT_EQ(topic_event(m, "arn:sub"),
            R"({"Records":[{"EventSource":"aws:sns","EventVersion":"1.0","EventSubscriptionArn":"arn:sub","Sns":{)"
            R"("Type":"Notification","MessageId":"m-1","TopicArn":"arn:aws:sns:us-east-1:000000000000:News",)"
            R"("Subject":null,"Message":"Sta\"rt","Timestamp":"2023-11-14T22:13:20.123Z","SignatureVersion":"1",)"
            R"("Signature":"","SigningCertUrl":"","UnsubscribeUrl":"","MessageAttributes":{}}}]})");
  m.content.subject = "Hi";
  m.content.attributes["kind"] = {"String", "x"};
  const std::string event = topic_event(m, "arn:sub");
  EXPECT_NE(event.find(R"("Subject":"Hi")"), event.npos);
  EXPECT_NE(event.find(R"("MessageAttributes":{"kind":{"Type":"String","Value":"x"}})"), event.npos);
}

TEST(TopicMessage, AnEndpointGetsTheNotification) {
  const auto parsed = parse_plain_json(topic_notification(message()));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->get_if<Map>()->string_or("Type"), "Notification");
  EXPECT_EQ(parsed->get_if<Map>()->string_or("Message"), "Sta\"rt");
  EXPECT_FALSE(parsed->get_if<Map>()->contains("Subject"));
}

TEST(TopicMessage, BadInputIsRefusedWithTheServicesText) {
  const auto error = [](PublishInput input) {
    const auto good = validate(input);
    return good ? std::string() : good.error().message;
  };
  PublishInput good = message().content;
  EXPECT_EQ(error(good), "");
  PublishInput empty = good;
  empty.message.clear();
  EXPECT_EQ(error(empty), "Invalid parameter: Empty message");
  PublishInput typed = good;
  typed.attributes["a"] = {"Boolean", "true"};
  EXPECT_NE(error(typed).find("\"Boolean\""), std::string::npos);
  typed.attributes["a"] = {"Number", "12x"};
  EXPECT_NE(error(typed).find("is not a number"), std::string::npos);
  typed.attributes["a"] = {"String", ""};
  EXPECT_NE(error(typed).find("empty value"), std::string::npos);
  PublishInput large = good;
  large.message.assign(256 * 1024 + 1, 'x');
  EXPECT_NE(error(large).find("too long"), std::string::npos);
}

TEST(TopicMessage, AttributesBecomeDataForFilters) {
  PublishInput input;
  input.attributes = {{"n", {"Number", "1.50"}},
                      {"s", {"String", "x"}},
                      {"list", {"String.Array", R"(["a",1,true])"}},
                      {"raw", {"Binary", "eA=="}},
                      {"bad", {"String.Array", "not a list"}}};
  const Map attributes = filterable_attributes(input);
  EXPECT_EQ(attributes.size(), 3u);
  EXPECT_EQ(attributes.find("n")->get_if<Decimal>()->to_string(), "1.5");
  EXPECT_EQ(attributes.find("list")->get_if<List>()->elements.size(), 3u);
}

}  // namespace
}  // namespace freshet
