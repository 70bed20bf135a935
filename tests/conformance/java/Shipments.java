import com.amazonaws.AmazonServiceException;
import com.amazonaws.auth.EnvironmentVariableCredentialsProvider;
import com.amazonaws.client.builder.AwsClientBuilder.EndpointConfiguration;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDB;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBClientBuilder;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBAttribute;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBDocument;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBHashKey;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBMapper;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBMapperConfig;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBQueryExpression;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBTable;
import com.amazonaws.services.dynamodbv2.datamodeling.QueryResultPage;
import com.amazonaws.services.dynamodbv2.model.AttributeValue;
import com.amazonaws.services.dynamodbv2.model.UpdateItemRequest;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The priority queue of the AWS sample with DynamoDBMapper of the AWS SDK for Java 1: the same attributes, expressions, conditions and
 * projections. Reads a call a line (its name, an id, a status) and answers a line of JSON; mapper_test.py tells it what to do.
 */
public final class Shipments {
  static final String TABLE = "AWSBlog-shipment-demo";
  static final String INDEX = "queueud-last_updated_timestamp-index";
  static final String DEAD_INDEX = "dlq-last_updated_timestamp-index";

  /** What an item has that the mapper writes; a save of it drops all else. */
  @DynamoDBTable(tableName = TABLE)
  public static final class Shipment {
    private String id;
    private Data data = new Data();
    private String lastUpdated;
    private SystemInfo systemInfo = new SystemInfo();

    @DynamoDBHashKey(attributeName = "id") public String getId() { return id; }
    public void setId(String value) { id = value; }
    @DynamoDBAttribute(attributeName = "data") public Data getData() { return data; }
    public void setData(Data value) { data = value; }
    @JsonProperty("last_updated_timestamp") @DynamoDBAttribute(attributeName = "last_updated_timestamp")
    public String getLastUpdated() { return lastUpdated; }
    public void setLastUpdated(String value) { lastUpdated = value; }
    @JsonProperty("system_info") @DynamoDBAttribute(attributeName = "system_info")
    public SystemInfo getSystemInfo() { return systemInfo; }
    public void setSystemInfo(SystemInfo value) { systemInfo = value; }
  }

  @DynamoDBDocument
  public static final class Data {
    private String first;
    private List<Packed> items;

    @DynamoDBAttribute(attributeName = "data_1") public String getFirst() { return first; }
    public void setFirst(String value) { first = value; }
    @DynamoDBAttribute(attributeName = "items") public List<Packed> getItems() { return items; }
    public void setItems(List<Packed> value) { items = value; }
  }

  @DynamoDBDocument
  public static final class Packed {
    private String sku;
    private boolean packed;

    @DynamoDBAttribute(attributeName = "SKU") public String getSku() { return sku; }
    public void setSku(String value) { sku = value; }
    @com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBTyped(
        com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBMapperFieldModel.DynamoDBAttributeType.BOOL)
    @DynamoDBAttribute(attributeName = "is_packed") public boolean isPacked() { return packed; }
    public void setPacked(boolean value) { packed = value; }
  }

  @DynamoDBDocument
  public static final class SystemInfo {
    private String id;
    private String created;
    private String lastUpdated;
    private String status;
    private int version;
    private boolean queued;
    private boolean selected;
    private String added;
    private String dead;
    private String peeked;
    private String removed;

    @DynamoDBAttribute(attributeName = "id") public String getId() { return id; }
    public void setId(String value) { id = value; }
    @JsonProperty("creation_timestamp") @DynamoDBAttribute(attributeName = "creation_timestamp")
    public String getCreated() { return created; }
    public void setCreated(String value) { created = value; }
    @JsonProperty("last_updated_timestamp") @DynamoDBAttribute(attributeName = "last_updated_timestamp")
    public String getLastUpdated() { return lastUpdated; }
    public void setLastUpdated(String value) { lastUpdated = value; }
    @DynamoDBAttribute(attributeName = "status") public String getStatus() { return status; }
    public void setStatus(String value) { status = value; }
    @DynamoDBAttribute(attributeName = "version") public int getVersion() { return version; }
    public void setVersion(int value) { version = value; }
    @DynamoDBAttribute(attributeName = "queued") public boolean isQueued() { return queued; }  // A number: the mapper's default.
    public void setQueued(boolean value) { queued = value; }
    @com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBTyped(
        com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBMapperFieldModel.DynamoDBAttributeType.BOOL)
    @JsonProperty("queue_selected") @DynamoDBAttribute(attributeName = "queue_selected")
    public boolean isSelected() { return selected; }
    public void setSelected(boolean value) { selected = value; }
    @JsonProperty("queue_add_timestamp") @DynamoDBAttribute(attributeName = "queue_add_timestamp")
    public String getAdded() { return added; }
    public void setAdded(String value) { added = value; }
    @JsonProperty("dlq_add_timestamp") @DynamoDBAttribute(attributeName = "dlq_add_timestamp")
    public String getDead() { return dead; }
    public void setDead(String value) { dead = value; }
    @JsonProperty("queue_peek_timestamp") @DynamoDBAttribute(attributeName = "queue_peek_timestamp")
    public String getPeeked() { return peeked; }
    public void setPeeked(String value) { peeked = value; }
    @JsonProperty("queue_remove_timestamp") @DynamoDBAttribute(attributeName = "queue_remove_timestamp")
    public String getRemoved() { return removed; }
    public void setRemoved(String value) { removed = value; }
  }

  private final AmazonDynamoDB client = AmazonDynamoDBClientBuilder.standard().withCredentials(new EnvironmentVariableCredentialsProvider())
      .withEndpointConfiguration(new EndpointConfiguration(System.getenv("AWS_ENDPOINT_URL"), "us-east-1")).build();
  private final DynamoDBMapper mapper = new DynamoDBMapper(client,
      DynamoDBMapperConfig.builder().withSaveBehavior(DynamoDBMapperConfig.SaveBehavior.CLOBBER).build());
  private final DynamoDBMapperConfig consistent =
      DynamoDBMapperConfig.builder().withConsistentReads(DynamoDBMapperConfig.ConsistentReads.CONSISTENT).build();

  private static String now() {
    return OffsetDateTime.now(ZoneOffset.UTC).toString();
  }

  private static AttributeValue number(long value) {
    return new AttributeValue().withN(Long.toString(value));
  }

  private static Map<String, Object> result(String code, SystemInfo info) {
    Map<String, Object> made = new HashMap<>();
    made.put("return_value", code);
    if (info != null) {
      made.put("status", info.getStatus());
      made.put("version", info.getVersion());
    }
    return made;
  }

  private Shipment load(String id) {
    return mapper.load(Shipment.class, id, consistent);
  }

  Map<String, Object> put(String id, String status) {
    Shipment old = load(id);
    if (old != null) mapper.delete(old);
    Shipment made = new Shipment();
    String stamp = now();
    made.setId(id);
    made.setLastUpdated(stamp);
    made.getData().setFirst("Data 1");
    Packed packed = new Packed();
    packed.setSku("Item-1");
    packed.setPacked(true);
    made.getData().setItems(List.of(packed));
    SystemInfo info = made.getSystemInfo();
    info.setId(id);
    info.setCreated(stamp);
    info.setLastUpdated(stamp);
    info.setStatus(status);
    info.setVersion(1);
    mapper.save(made);
    return result("SUCCESS", info);
  }

  Map<String, Object> delete(String id) {
    Shipment gone = new Shipment();
    gone.setId(id);
    mapper.delete(gone);
    return result("SUCCESS", null);
  }

  /** One update under the version that was read; any exception is FAILED_DYNAMO_ERROR, as the sample has it. */
  private Map<String, Object> update(String id, int version, String update, String condition, Map<String, AttributeValue> values) {
    Map<String, AttributeValue> given = new HashMap<>(values);
    given.put(":v", number(version));
    given.put(":one", number(1));
    given.put(":lut", new AttributeValue(now()));
    Map<String, String> names = new HashMap<>(Map.of("#v", "version", "#sys", "system_info"));
    if (update.contains("#st")) names.put("#st", "status");
    if (update.contains("#DLQ")) names.put("#DLQ", "DLQ");
    try {
      Map<String, AttributeValue> item = client.updateItem(new UpdateItemRequest().withTableName(TABLE)
          .withKey(Map.of("id", new AttributeValue(id))).withUpdateExpression(update).withConditionExpression(condition)
          .withExpressionAttributeNames(names).withExpressionAttributeValues(given).withReturnValues("ALL_NEW")).getAttributes();
      return result("SUCCESS", mapper.marshallIntoObject(Shipment.class, item).getSystemInfo());
    } catch (AmazonServiceException error) {
      Map<String, Object> failed = result("FAILED_DYNAMO_ERROR", null);
      failed.put("error", error.getErrorCode() + ": " + error.getErrorMessage());
      return failed;
    }
  }

  private Map<String, Object> change(String id, String update, Map<String, AttributeValue> values) {
    Shipment item = load(id);
    if (item == null) return result("FAILED_ID_NOT_FOUND", null);
    return update(id, item.getSystemInfo().getVersion(), update, "#sys.#v = :v", values);
  }

  private static Map<String, AttributeValue> values(Object... pairs) {
    Map<String, AttributeValue> made = new HashMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      made.put((String) pairs[i], pairs[i + 1] instanceof Boolean ? new AttributeValue().withBOOL((Boolean) pairs[i + 1])
          : pairs[i + 1] instanceof Long ? number((Long) pairs[i + 1]) : new AttributeValue((String) pairs[i + 1]));
    }
    return made;
  }

  Map<String, Object> status(String id, String status) {
    Shipment item = load(id);
    if (item == null) return result("FAILED_ID_NOT_FOUND", null);
    if (item.getSystemInfo().getStatus().equals(status)) return result("SUCCESS", item.getSystemInfo());
    return change(id, "ADD #sys.#v :one SET #sys.#st = :st, #sys.last_updated_timestamp = :lut, last_updated_timestamp = :lut",
        values(":st", status));
  }

  Map<String, Object> enqueue(String id) {
    Shipment item = load(id);
    if (item == null) return result("FAILED_ID_NOT_FOUND", null);
    String status = item.getSystemInfo().getStatus();
    if (status.equals("UNDER_CONSTRUCTION")) return result("FAILED_RECORD_NOT_CONSTRUCTED", item.getSystemInfo());
    if (!status.equals("READY_TO_SHIP")) return result("FAILED_ILLEGAL_STATE", item.getSystemInfo());
    return change(id, "ADD #sys.#v :one SET queued = :one, #sys.queued = :one, #sys.queue_selected = :false, "
        + "last_updated_timestamp = :lut, #sys.last_updated_timestamp = :lut, #sys.queue_added_timestamp = :lut, #sys.#st = :st",
        values(":false", false, ":st", "READY_TO_SHIP"));
  }

  Map<String, Object> remove(String id) {
    return change(id, "ADD #sys.#v :one REMOVE #sys.peek_utc_timestamp, queued, #DLQ SET #sys.queued = :zero, "
        + "#sys.queue_selected = :false, #sys.last_updated_timestamp = :lut, last_updated_timestamp = :lut, "
        + "#sys.queue_remove_timestamp = :lut", values(":zero", 0L, ":false", false));
  }

  Map<String, Object> restore(String id) {
    return change(id, "ADD #sys.#v :one REMOVE #DLQ SET #sys.queued = :one, queued = :one, #sys.queue_selected = :false, "
        + "last_updated_timestamp = :lut, #sys.last_updated_timestamp = :lut, #sys.queue_add_timestamp = :lut, #sys.#st = :st",
        values(":false", false, ":st", "READY_TO_SHIP"));
  }

  Map<String, Object> dlq(String id) {
    Shipment item = load(id);
    if (item == null) return result("FAILED_ID_NOT_FOUND", null);
    return update(id, item.getSystemInfo().getVersion(), "ADD #sys.#v :one REMOVE queued SET #DLQ = :one, #sys.queued = :zero, "
        + "#sys.queue_selected = :false, last_updated_timestamp = :lut, #sys.last_updated_timestamp = :lut, "
        + "#sys.dlq_add_timestamp = :lut, #sys.#st = :st", "#sys.#v = :v and #sys.queued = :one",
        values(":zero", 0L, ":false", false, ":st", "IN_DLQ"));
  }

  Map<String, Object> touch(String id) {
    return change(id, "ADD #sys.#v :one SET last_updated_timestamp = :lut, #sys.last_updated_timestamp = :lut", Map.of());
  }

  private List<Shipment> index(String index, String condition, Map<String, String> names) {
    DynamoDBQueryExpression<Shipment> query = new DynamoDBQueryExpression<Shipment>().withIndexName(index).withConsistentRead(false)
        .withKeyConditionExpression(condition).withExpressionAttributeValues(Map.of(":one", number(1)))
        .withProjectionExpression("id, system_info").withLimit(250);
    if (!names.isEmpty()) query.setExpressionAttributeNames(names);
    List<Shipment> all = new ArrayList<>();
    QueryResultPage<Shipment> page;
    do {
      page = mapper.queryPage(Shipment.class, query);
      all.addAll(page.getResults());
      query.setExclusiveStartKey(page.getLastEvaluatedKey());
    } while (page.getLastEvaluatedKey() != null);
    return all;
  }

  Map<String, Object> peek() {
    for (Shipment item : index(INDEX, "queued = :one", Map.of())) {
      if (item.getSystemInfo().isSelected()) continue;  // No timeout passes while a test runs.
      Map<String, Object> made = update(item.getId(), item.getSystemInfo().getVersion(),
          "ADD #sys.#v :one SET #sys.queue_selected = :true, #sys.last_updated_timestamp = :lut, #sys.queue_peek_timestamp = :lut, "
              + "#sys.peek_utc_timestamp = :ts, #sys.#st = :st", "#sys.#v = :v",
          values(":true", true, ":ts", System.currentTimeMillis(), ":st", "PROCESSING_SHIPMENT"));
      made.put("id", item.getId());
      return made;
    }
    return result("FAILED_EMPTY_QUEUE", null);
  }

  Map<String, Object> stats() {
    List<String> all = new ArrayList<>();
    List<String> selected = new ArrayList<>();
    for (Shipment item : index(INDEX, "#q = :one", Map.of("#q", "queued"))) {
      all.add(item.getId());
      if (item.getSystemInfo().isSelected()) selected.add(item.getId());
    }
    List<String> dead = new ArrayList<>();
    index(DEAD_INDEX, "#DLQ = :one", Map.of("#DLQ", "DLQ")).forEach(item -> dead.add(item.getId()));
    return Map.of("all", all, "selected", selected, "dead", dead);
  }

  Object call(String[] words) {
    String id = words.length > 1 ? words[1] : "";
    switch (words[0]) {
      case "put": return put(id, words[2]);
      case "status": return status(id, words[2]);
      case "get": return load(id);
      case "delete": return delete(id);
      case "enqueue": return enqueue(id);
      case "remove": return remove(id);
      case "restore": return restore(id);
      case "dlq": return dlq(id);
      case "touch": return touch(id);
      case "peek": return peek();
      case "stats": return stats();
      default: throw new IllegalArgumentException(words[0]);
    }
  }

  public static void main(String[] words) throws Exception {
    Shipments queue = new Shipments();
    ObjectMapper json = new ObjectMapper();
    BufferedReader calls = new BufferedReader(new InputStreamReader(System.in));
    for (String line = calls.readLine(); line != null; line = calls.readLine()) {
      System.out.println(json.writeValueAsString(queue.call(line.split(" "))));
      System.out.flush();
    }
  }
}
