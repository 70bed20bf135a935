"""The two sides that differential.py asks, and how their answers are made comparable."""
import decimal
import http.client
import json
import re
import urllib.parse

SECONDS = 60
PAGES = 500
SIGNED = ("AWS4-HMAC-SHA256 Credential={key}/20260101/us-east-1/dynamodb/aws4_request, "
          "SignedHeaders=host;x-amz-date;x-amz-target, Signature=00")
WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems", "ExecuteStatement",
          "BatchExecuteStatement", "ExecuteTransaction", "CreateTable", "UpdateTable", "DeleteTable", "UpdateTimeToLive")


class Answer:
    """A status, the kind and message of an error (None without one), and the document."""

    def __init__(self, status, document):
        self.status, self.document = status, document
        error = isinstance(document, dict) and status != 200
        self.kind = document.get("__type", "").split("#")[-1] if error else None
        self.message = document.get("message", "") if error else None

    def same(self, other):
        if self.status == 200 or other.status == 200:
            return self.status == other.status and self.document == other.document
        return ((self.status, self.kind, self.message, self.rest()) == (other.status, other.kind, other.message, other.rest()))

    def rest(self):
        """The members of an error beside its kind and message."""
        return {name: held for name, held in self.document.items() if name not in ("__type", "message")}

    def __str__(self):
        return json.dumps(self.document, ensure_ascii=False) if self.status == 200 else \
            f"{self.status} {self.kind}: {self.message} {json.dumps(self.rest(), ensure_ascii=False) if self.rest() else ''}".strip()


def has_order(operation, body):
    """True if the pages of a read have an order that both sides must have. Partitions of a scan and equal keys of an
    index have none."""
    return operation == "Query" and "IndexName" not in body


def canonical(value):
    """Sets have no order."""
    if isinstance(value, dict):
        if len(value) == 1:
            (kind, held), = value.items()
            if kind in ("SS", "NS", "BS") and isinstance(held, list):
                return {kind: sorted(held, key=str)}
        return {name: canonical(held) for name, held in value.items()}
    return [canonical(one) for one in value] if isinstance(value, list) else value


def _sorted(items):
    return sorted(items, key=lambda item: json.dumps(spelt(item), sort_keys=True))


def spelt(document):
    """The document with each number in one spelling."""
    if isinstance(document, dict):
        return {name: str(decimal.Decimal(held).normalize() + 0) if name == "N" and isinstance(held, str) else spelt(held)
                for name, held in document.items()}
    return [spelt(one) for one in document] if isinstance(document, list) else document


def comparable(operation, body, status, document):
    document = canonical(document)
    if status == 200:
        if operation in ("Scan", "ExecuteStatement") or operation == "Query" and not has_order(operation, body):
            if "Items" in document:
                document["Items"] = _sorted(document["Items"])
        if operation == "BatchGetItem":
            document["Responses"] = {name: _sorted(items) for name, items in document["Responses"].items()}
        for name in ("Table", "TableDescription"):
            if name in document:
                _sort_description(document[name])
    return Answer(status, document)


def _sort_description(table):
    for name, by in (("AttributeDefinitions", "AttributeName"), ("GlobalSecondaryIndexes", "IndexName")):
        if name in table:
            table[name] = sorted(table[name], key=lambda one: one[by])


def only_removing(operation, body):
    """(table, key) of each update in the request that has no other clauses than REMOVE and DELETE."""
    updates = [body] if operation == "UpdateItem" else []
    if operation == "TransactWriteItems" and isinstance(body.get("TransactItems"), list):
        updates = [one["Update"] for one in body["TransactItems"] if isinstance(one, dict) and "Update" in one]
    return [(update["TableName"], update["Key"]) for update in updates
            if isinstance(update.get("Key"), dict) and isinstance(update.get("TableName"), str) and _only_removes(update)]


def without_action(body):
    """True for a legacy UpdateItem that names no action for an attribute: that is a PUT."""
    updates = body.get("AttributeUpdates")
    return isinstance(updates, dict) and any(isinstance(one, dict) and "Action" not in one for one in updates.values())


def _only_removes(update):
    old = update.get("AttributeUpdates")
    if isinstance(old, dict):
        return all(isinstance(one, dict) and one.get("Action") == "DELETE" for one in old.values())
    return not re.search(r"\b(SET|ADD)\b", str(update.get("UpdateExpression", "SET")), re.IGNORECASE)


class Side:
    """A connection that is kept. `key` is the access key: DynamoDB Local has a database for each."""

    def __init__(self, url, key):
        self.place = urllib.parse.urlsplit(url).netloc
        self.signed = SIGNED.format(key=key)
        self.connection = None

    def send(self, operation, body):
        headers = {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0",
                   "Authorization": self.signed, "X-Amz-Date": "20260101T000000Z"}
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.place, timeout=SECONDS)
        self.connection.request("POST", "/", json.dumps(body), headers)

    def receive(self):
        answer = self.connection.getresponse()
        data = answer.read()
        if answer.will_close:
            self.connection.close()
        document = json.loads(data or b"{}")
        if answer.status != 200 and "Message" in document:  # Services send both.
            document["message"] = document.pop("Message")
        return answer.status, document

    def once(self, operation, body):
        self.send(operation, body)
        return self.receive()

    def rest(self, operation, body, status, document):
        """The answer with all later pages in it, of a read whose pages have no order of their own."""
        if status != 200 or "LastEvaluatedKey" not in document or has_order(operation, body):
            return status, document
        whole = dict(document)
        for _ in range(PAGES):
            if "LastEvaluatedKey" not in document:
                break
            status, document = self.once(operation, dict(body, ExclusiveStartKey=document["LastEvaluatedKey"]))
            if status != 200:
                return status, document
            for name in ("Count", "ScannedCount"):
                whole[name] += document[name]
            if "Items" in whole:
                whole["Items"] = whole["Items"] + document["Items"]
        del whole["LastEvaluatedKey"]
        if "LastEvaluatedKey" in document:
            raise RuntimeError(f"{operation} {json.dumps(body)} has no last page")
        whole.pop("ConsumedCapacity", None)  # The capacity of the first page.
        return 200, whole


class Sides:
    """Both, asked the same at the same time."""

    def __init__(self, ours, theirs):
        self.both = (ours, theirs)

    def ask(self, operation, body):
        for side in self.both:
            side.send(operation, body)
        answers = [side.receive() for side in self.both]
        return tuple(comparable(operation, body, *side.rest(operation, body, *answer))
                     for side, answer in zip(self.both, answers))
