import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.http.SdkHttpClient;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeDefinition;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.CancellationReason;
import software.amazon.awssdk.services.dynamodb.model.ConditionalCheckFailedException;
import software.amazon.awssdk.services.dynamodb.model.DynamoDbException;
import software.amazon.awssdk.services.dynamodb.model.GetRecordsResponse;
import software.amazon.awssdk.services.dynamodb.model.KeySchemaElement;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.Put;
import software.amazon.awssdk.services.dynamodb.model.QueryRequest;
import software.amazon.awssdk.services.dynamodb.model.Record;
import software.amazon.awssdk.services.dynamodb.model.ReturnValuesOnConditionCheckFailure;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;
import software.amazon.awssdk.services.dynamodb.model.ShardIteratorType;
import software.amazon.awssdk.services.dynamodb.model.StreamViewType;
import software.amazon.awssdk.services.dynamodb.model.TransactWriteItem;
import software.amazon.awssdk.services.dynamodb.model.TransactionCanceledException;
import software.amazon.awssdk.services.dynamodb.streams.DynamoDbStreamsClient;
import software.amazon.awssdk.services.lambda.LambdaClient;
import software.amazon.awssdk.services.lambda.model.InvocationType;
import software.amazon.awssdk.services.lambda.model.InvokeResponse;
import software.amazon.awssdk.services.lambda.model.LogType;
import software.amazon.awssdk.services.sns.SnsClient;
import software.amazon.awssdk.services.sns.model.MessageAttributeValue;
import software.amazon.awssdk.services.sns.model.NotFoundException;

/** The scenario of languages_test.py with the AWS SDK for Java 2, at the endpoint of AWS_ENDPOINT_URL. */
public final class SdkTwo {
  private static final SdkHttpClient HTTP = UrlConnectionHttpClient.create();
  private static final String TABLE = "from-java";

  public static void main(String[] words) {
    try (DynamoDbClient store = DynamoDbClient.builder().httpClient(HTTP).build()) {
      create(store);
      items(store);
      transactions(store);
      stream(store);
    }
    topic();
    functions();
    System.out.println("done");
  }

  private static void check(Object wanted, Object got) {
    if (!Objects.equals(wanted, got)) throw new AssertionError("wanted " + wanted + ", got " + got);
  }

  private static <E extends Throwable> E fails(Class<E> kind, Runnable call) {
    try {
      call.run();
    } catch (Throwable error) {
      if (kind.isInstance(error)) return kind.cast(error);
      throw new AssertionError("wanted " + kind, error);
    }
    throw new AssertionError(kind + " was not thrown");
  }

  private static AttributeValue s(String text) {
    return AttributeValue.fromS(text);
  }

  private static AttributeValue n(int number) {
    return AttributeValue.fromN(Integer.toString(number));
  }

  private static Map<String, AttributeValue> task(int number) {
    return Map.of("id", s("t" + number), "status", s("PENDING"), "created", n(number), "bytes",
        AttributeValue.fromB(SdkBytes.fromByteArray(new byte[] {0, (byte) 255})));
  }

  private static KeySchemaElement key(String name, KeyType type) {
    return KeySchemaElement.builder().attributeName(name).keyType(type).build();
  }

  private static void create(DynamoDbClient store) {
    List<AttributeDefinition> attributes = new ArrayList<>();
    Map.of("id", ScalarAttributeType.S, "status", ScalarAttributeType.S, "created", ScalarAttributeType.N).forEach(
        (name, type) -> attributes.add(AttributeDefinition.builder().attributeName(name).attributeType(type).build()));
    store.createTable(table -> table.tableName(TABLE).billingMode(BillingMode.PAY_PER_REQUEST).attributeDefinitions(attributes)
        .keySchema(key("id", KeyType.HASH))
        .globalSecondaryIndexes(index -> index.indexName("by-status")
            .keySchema(key("status", KeyType.HASH), key("created", KeyType.RANGE)).projection(all -> all.projectionType("ALL")))
        .streamSpecification(made -> made.streamEnabled(true).streamViewType(StreamViewType.NEW_AND_OLD_IMAGES)));
    store.waiter().waitUntilTableExists(table -> table.tableName(TABLE));
  }

  private static void items(DynamoDbClient store) {
    for (int i = 0; i < 5; ++i) {
      Map<String, AttributeValue> item = task(i);
      store.putItem(put -> put.tableName(TABLE).item(item));
    }
    check(task(3), store.getItem(get -> get.tableName(TABLE).key(Map.of("id", s("t3"))).consistentRead(true)).item());
    QueryRequest newest = QueryRequest.builder().tableName(TABLE).indexName("by-status").limit(2).scanIndexForward(false)
        .keyConditionExpression("#s = :s").expressionAttributeNames(Map.of("#s", "status"))
        .expressionAttributeValues(Map.of(":s", s("PENDING"))).build();
    List<String> found = new ArrayList<>();
    store.queryPaginator(newest).items().forEach(item -> found.add(item.get("id").s()));
    check(List.of("t4", "t3", "t2", "t1", "t0"), found);
    ConditionalCheckFailedException refused = fails(ConditionalCheckFailedException.class, () -> store.updateItem(
        update -> update.tableName(TABLE).key(Map.of("id", s("t0"))).updateExpression("SET created = :c")
            .conditionExpression("attribute_not_exists(id)").expressionAttributeValues(Map.of(":c", n(9)))
            .returnValuesOnConditionCheckFailure(ReturnValuesOnConditionCheckFailure.ALL_OLD)));
    check("The conditional request failed", refused.awsErrorDetails().errorMessage());
    check(task(0), refused.item());
    DynamoDbException wrong = fails(DynamoDbException.class,
        () -> store.getItem(get -> get.tableName(TABLE).key(Map.of("nothing", s("t0")))));
    check("ValidationException", wrong.awsErrorDetails().errorCode());
    check(400, wrong.statusCode());
  }

  private static TransactWriteItem put(int number, String condition) {
    return TransactWriteItem.builder().put(Put.builder().tableName(TABLE).item(task(number)).conditionExpression(condition).build())
        .build();
  }

  private static void transactions(DynamoDbClient store) {
    store.transactWriteItems(some -> some.transactItems(put(5, null), put(6, "attribute_not_exists(id)")));
    TransactionCanceledException cancelled = fails(TransactionCanceledException.class,
        () -> store.transactWriteItems(some -> some.transactItems(put(7, null), put(6, "attribute_not_exists(id)"))));
    check(List.of("None", "ConditionalCheckFailed"),
        cancelled.cancellationReasons().stream().map(CancellationReason::code).toList());
    check(7, store.scan(all -> all.tableName(TABLE)).count());
    store.deleteItem(gone -> gone.tableName(TABLE).key(Map.of("id", s("t6"))));
  }

  private static void stream(DynamoDbClient store) {
    String arn = store.describeTable(table -> table.tableName(TABLE)).table().latestStreamArn();
    try (DynamoDbStreamsClient streams = DynamoDbStreamsClient.builder().httpClient(HTTP).build()) {
      String shard = streams.describeStream(one -> one.streamArn(arn)).streamDescription().shards().get(0).shardId();
      String place = streams.getShardIterator(
          from -> from.streamArn(arn).shardId(shard).shardIteratorType(ShardIteratorType.TRIM_HORIZON)).shardIterator();
      List<Record> records = new ArrayList<>();
      while (records.size() < 8) {
        String at = place;
        GetRecordsResponse page = streams.getRecords(get -> get.shardIterator(at).limit(3));
        records.addAll(page.records());
        place = page.nextShardIterator();
      }
      check("INSERT", records.get(0).eventNameAsString());
      check(task(0), records.get(0).dynamodb().newImage());
      check("REMOVE", records.get(7).eventNameAsString());
      check(task(6), records.get(7).dynamodb().oldImage());
    }
  }

  private static void topic() {
    try (SnsClient sns = SnsClient.builder().httpClient(HTTP).build()) {
      String arn = sns.createTopic(topic -> topic.name("news")).topicArn();
      MessageAttributeValue kind = MessageAttributeValue.builder().dataType("String").stringValue("a").build();
      check(36, sns.publish(
          news -> news.topicArn(arn).message(TABLE).subject("<ä> & 'b'").messageAttributes(Map.of("kind", kind))).messageId().length());
      fails(NotFoundException.class, () -> sns.publish(news -> news.topicArn(arn + "-none").message("x")));
    }
  }

  private static void functions() {
    try (LambdaClient lambda = LambdaClient.builder().httpClient(HTTP).build()) {
      InvokeResponse answer = lambda.invoke(
          call -> call.functionName("Echo").payload(SdkBytes.fromUtf8String("{\"n\": 1}")).logType(LogType.TAIL));
      check("{\"n\": 1}", answer.payload().asUtf8String());
      check(true, new String(Base64.getDecoder().decode(answer.logResult())).contains("seen"));
      InvokeResponse failed = lambda.invoke(call -> call.functionName("Echo").payload(SdkBytes.fromUtf8String("{}")));
      check("Unhandled", failed.functionError());
      check(202, lambda.invoke(call -> call.functionName("Echo").invocationType(InvocationType.EVENT)
          .payload(SdkBytes.fromUtf8String("{\"n\": 2}"))).statusCode());
      fails(software.amazon.awssdk.services.lambda.model.ResourceNotFoundException.class,
          () -> lambda.invoke(call -> call.functionName("Nobody")));
    }
  }
}
