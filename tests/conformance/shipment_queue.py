"""The requests that the Java SDK of the AWS sample on priority queues sends to the store, with boto3: the same keys,
expressions, placeholders, conditions and projections, and the same treatment of the responses. priority_test.py lets it
work on the same records as the daemon's own queue."""
import datetime
import time

from botocore.exceptions import ClientError

TABLE = "AWSBlog-shipment-demo"
INDEX = "queueud-last_updated_timestamp-index"
DEAD_INDEX = "dlq-last_updated_timestamp-index"
VISIBILITY_MS = 60_000
MAPPED = ("id", "creation_timestamp", "last_updated_timestamp", "status", "version", "queued", "queue_selected",
          "queue_add_timestamp", "dlq_add_timestamp", "queue_peek_timestamp", "queue_remove_timestamp")


def now():
    """As java.time.OffsetDateTime prints it: no more groups of three digits than it needs."""
    at = datetime.datetime.now(datetime.timezone.utc)
    text = at.strftime("%Y-%m-%dT%H:%M:%S")
    if at.microsecond % 1000:
        return f"{text}.{at.microsecond:06}Z"
    return f"{text}.{at.microsecond // 1000:03}Z" if at.microsecond else f"{text}Z"


class ShipmentQueue:
    def __init__(self, client):
        self.client = client

    def get(self, name):
        return self.client.get_item(TableName=TABLE, Key={"id": {"S": name}}, ConsistentRead=True).get("Item")

    def put(self, name, status="UNDER_CONSTRUCTION", upsert=False):
        """Its mapper clobbers: what it does not map is gone."""
        old = self.get(name)
        version = 0
        if old and upsert:
            version = int(old["system_info"]["M"]["version"]["N"])
        elif old:
            self.delete(name)
        stamp = {"S": now()}
        info = {"id": {"S": name}, "creation_timestamp": stamp, "last_updated_timestamp": stamp, "status": {"S": status},
                "version": {"N": str(version + 1)}, "queued": {"N": "0"}, "queue_selected": {"BOOL": False}}
        data = {"id": {"S": name}, "data_1": {"S": "Data 1"},
                "items": {"L": [{"M": {"SKU": {"S": "Item-1"}, "is_packed": {"BOOL": True}}}]}}
        self.client.put_item(TableName=TABLE, Item={"id": {"S": name}, "data": {"M": data}, "last_updated_timestamp": stamp,
                                                    "system_info": {"M": info}})

    def delete(self, name):
        self.client.delete_item(TableName=TABLE, Key={"id": {"S": name}})

    def update(self, name, version, update, names, values, condition="#sys.#v = :v"):
        """Its outcome: the system_info that it left, or FAILED_DYNAMO_ERROR of whatever exception."""
        every = {"#v": "version", "#st": "status", "#sys": "system_info", "#DLQ": "DLQ"}
        given = {":one": {"N": "1"}, ":v": {"N": str(version)}, ":lut": {"S": now()}, **values}
        try:
            answer = self.client.update_item(
                TableName=TABLE, Key={"id": {"S": name}}, UpdateExpression=update, ConditionExpression=condition,
                ExpressionAttributeNames={short: every[short] for short in names}, ExpressionAttributeValues=given,
                ReturnValues="ALL_NEW")
        except ClientError as error:
            return {"failed": error.response["Error"]["Code"]}
        return answer["Attributes"]["system_info"]["M"]

    def _change(self, name, update, names, values, condition="#sys.#v = :v", version=None):
        item = self.get(name)
        if not item:
            return {"failed": "FAILED_ID_NOT_FOUND"}
        seen = item["system_info"]["M"]["version"]["N"] if version is None else version
        return self.update(name, seen, update, names, values, condition)

    def update_status(self, name, status):
        if self.get(name)["system_info"]["M"]["status"]["S"] == status:
            return {}
        item = self.get(name)
        answer = self.client.update_item(
            TableName=TABLE, Key={"id": {"S": name}}, ConditionExpression="#sys.#v = :v", ReturnValues="ALL_NEW",
            UpdateExpression="ADD #sys.#v :inc SET #sys.#st = :st, #sys.last_updated_timestamp = :lut, "
                             "last_updated_timestamp = :lut",
            ExpressionAttributeNames={"#v": "version", "#st": "status", "#sys": "system_info"},
            ExpressionAttributeValues={":inc": {"N": "1"}, ":v": item["system_info"]["M"]["version"], ":lut": {"S": now()},
                                       ":st": {"S": status}})
        return answer["Attributes"]["system_info"]["M"]

    def enqueue(self, name):
        item = self.get(name)
        status = item["system_info"]["M"]["status"]["S"]
        if status == "UNDER_CONSTRUCTION":
            return {"failed": "FAILED_RECORD_NOT_CONSTRUCTED"}
        if status != "READY_TO_SHIP":
            return {"failed": "FAILED_ILLEGAL_STATE"}
        return self._change(
            name, "ADD #sys.#v :one SET queued = :one, #sys.queued = :one, #sys.queue_selected = :false, "
                  "last_updated_timestamp = :lut, #sys.last_updated_timestamp = :lut, #sys.queue_added_timestamp = :lut, "
                  "#sys.#st = :st", ("#v", "#st", "#sys"), {":false": {"BOOL": False}, ":st": {"S": "READY_TO_SHIP"}})

    def _index(self, index, condition, projection, names=None):
        options = dict(TableName=TABLE, IndexName=index, KeyConditionExpression=condition, ProjectionExpression=projection,
                       Limit=250, ExpressionAttributeValues={":one": {"N": "1"}})
        if names:
            options["ExpressionAttributeNames"] = names
        while True:
            page = self.client.query(**options)
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            options["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def peek(self):
        """The id of the peeked record; None if there is none, or if somebody else was faster."""
        for item in self._index(INDEX, "queued = :one", "id, queued, system_info"):
            info = item["system_info"]["M"]
            selected = info.get("queue_selected", {"BOOL": False})["BOOL"]
            if "peek_utc_timestamp" in info and selected:
                if time.time() * 1000 - int(info["peek_utc_timestamp"]["N"]) <= VISIBILITY_MS:
                    continue
            done = self.update(
                item["id"]["S"], info["version"]["N"],
                "ADD #sys.#v :one SET #sys.queue_selected = :true, #sys.last_updated_timestamp = :lut, "
                "#sys.queue_peek_timestamp = :lut, #sys.peek_utc_timestamp = :ts, #sys.#st = :st", ("#v", "#st", "#sys"),
                {":true": {"BOOL": True}, ":ts": {"N": str(int(time.time() * 1000))}, ":st": {"S": "PROCESSING_SHIPMENT"}})
            return None if "failed" in done else item["id"]["S"]
        return None

    def remove(self, name, version=None):
        return self._change(
            name, "ADD #sys.#v :one REMOVE #sys.peek_utc_timestamp, queued, #DLQ SET #sys.queued = :zero, "
                  "#sys.queue_selected = :false, #sys.last_updated_timestamp = :lut, last_updated_timestamp = :lut, "
                  "#sys.queue_remove_timestamp = :lut", ("#v", "#DLQ", "#sys"),
            {":zero": {"N": "0"}, ":false": {"BOOL": False}}, version=version)

    def restore(self, name):
        return self._change(
            name, "ADD #sys.#v :one REMOVE #DLQ SET #sys.queued = :one, queued = :one, #sys.queue_selected = :false, "
                  "last_updated_timestamp = :lut, #sys.last_updated_timestamp = :lut, #sys.queue_add_timestamp = :lut, "
                  "#sys.#st = :st", ("#v", "#DLQ", "#st", "#sys"),
            {":false": {"BOOL": False}, ":st": {"S": "READY_TO_SHIP"}})

    def send_to_dlq(self, name):
        return self._change(
            name, "ADD #sys.#v :one REMOVE queued SET #DLQ = :one, #sys.queued = :zero, #sys.queue_selected = :false, "
                  "last_updated_timestamp = :lut, #sys.last_updated_timestamp = :lut, #sys.dlq_add_timestamp = :lut, "
                  "#sys.#st = :st", ("#v", "#DLQ", "#st", "#sys"),
            {":zero": {"N": "0"}, ":false": {"BOOL": False}, ":st": {"S": "IN_DLQ"}},
            "#sys.#v = :v and #sys.queued = :one")

    def touch(self, name):
        return self._change(name, "ADD #sys.#v :one SET last_updated_timestamp = :lut, #sys.last_updated_timestamp = :lut",
                            ("#v", "#sys"), {})

    def stats(self):
        """Ids in the queue, and of these the selected ones."""
        items = list(self._index(INDEX, "#q = :one", "id, system_info", {"#q": "queued"}))
        selected = [item for item in items if item["system_info"]["M"].get("queue_selected", {"BOOL": False})["BOOL"]]
        return [item["id"]["S"] for item in items], [item["id"]["S"] for item in selected]

    def dead(self):
        return [item["id"]["S"] for item in self._index(DEAD_INDEX, "#DLQ = :one", "id, DLQ, system_info", {"#DLQ": "DLQ"})]
