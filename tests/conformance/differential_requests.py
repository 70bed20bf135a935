"""Random requests for differential.py: an episode is a list of (operation, body) on tables of its own."""
import base64
import decimal
import json

from differential_statements import Statements
from differential_values import ATTRIBUTES, BYTES, Expressions

KEY_TEXTS = ("a", "b", "c", "d")
KEY_NUMBERS = ("0", "1", "2", "10", "-1", "1.5")
LENGTH = 120  # Requests of an episode.


class Table:
    """The facts about a table that requests to it need: its keys and its indexes, by name."""

    def __init__(self, name, keys, indexes):
        self.name, self.keys, self.indexes = name, keys, indexes


def schema(hash_key, range_key=None):
    keys = [{"AttributeName": hash_key, "KeyType": "HASH"}]
    return keys + ([{"AttributeName": range_key, "KeyType": "RANGE"}] if range_key else [])


class Requests(Expressions):
    def __init__(self, chance, prefix):
        super().__init__(chance)
        self.prefix = prefix
        self.made = 0
        self.statements = Statements(self)

    def episode(self):
        """The requests that make the tables, and those that follow."""
        self.tables = []
        creates = [self.create_table(plain=False), self.create_table(plain=True)]
        return creates, [self.request() for _ in range(LENGTH)]

    def create_table(self, plain):
        self.made += 1
        name = f"{self.prefix}-{self.made}"
        keys = {"pk": "S" if plain else self.pick("SSNB")}
        if not plain and self.often(0.7):
            keys["sk"] = self.pick("SNNB")
        kinds = dict(keys, g1="S", g2="N", r1="N")
        body = {"TableName": name, "KeySchema": schema(*keys), "BillingMode": "PAY_PER_REQUEST"}
        indexes = {}
        for place, made in enumerate(self.some((("g1", None), ("g1", "r1"), ("g2", "g1"), ("g2", None)), 0, 0 if plain else 2)):
            indexes[f"gsi{place}"] = made
        if indexes:
            body["GlobalSecondaryIndexes"] = [
                {"IndexName": index, "KeySchema": schema(*made), "Projection": self.projected()} for index, made in indexes.items()]
        if "sk" in keys and self.often(0.4):
            indexes["lsi"] = ("pk", "r1")
            body["LocalSecondaryIndexes"] = [
                {"IndexName": "lsi", "KeySchema": schema("pk", "r1"), "Projection": self.projected()}]
        used = set(keys) | {name for made in indexes.values() for name in made if name}
        body["AttributeDefinitions"] = [{"AttributeName": name, "AttributeType": kinds[name]} for name in sorted(used)]
        self.tables.append(Table(name, keys, indexes))
        return "CreateTable", body

    def projected(self):
        kind = self.pick(("ALL", "ALL", "KEYS_ONLY", "INCLUDE"))
        return {"ProjectionType": kind, **({"NonKeyAttributes": ["a", "n"]} if kind == "INCLUDE" else {})}

    # Items and keys.

    def key_value(self, kind):
        if self.fault(0.005):
            return self.value()
        if kind == "S":
            return {"S": "" if self.fault(0.005) else self.pick(KEY_TEXTS)}
        return {"N": self.pick(KEY_NUMBERS)} if kind == "N" else {"B": self.pick(BYTES[1:5])}

    def key(self, table):
        key = {name: self.key_value(kind) for name, kind in table.keys.items()}
        if self.fault(0.005):
            key[self.pick(("pk", "sk", "extra"))] = self.value()
        if self.fault(0.005):
            key.pop(self.pick(list(key)))
        return key

    def item(self, table):
        item = {name: self.attribute(name) for name in self.some(ATTRIBUTES, 0, 6)}
        item.update(self.key(table))
        if self.fault(0.02):
            item[self.pick(ATTRIBUTES)] = self.bad_value()
        return item

    def table(self):
        return self.tables[0] if self.often(0.75) else self.pick(self.tables)

    # Requests.

    def request(self):
        kinds = ((0.22, self.put), (0.18, self.update_item), (0.08, self.delete), (0.08, self.get), (0.1, self.query),
                 (0.05, self.scan), (0.07, self.transact_write), (0.03, self.transact_get), (0.02, self.batch_write),
                 (0.02, self.batch_get), (0.08, self.statements.statement), (0.02, self.statements.batch),
                 (0.02, self.statements.transaction), (0.02, self.table_operation), (0.01, self.legacy))
        self.clear()
        self.faulty = False
        (make,) = self.chance.choices([make for _, make in kinds], [share for share, _ in kinds])
        operation, body = make()
        if operation != "CreateTable" and self.fault(0.02):
            body = self.damaged(body)
        return operation, body

    def expression(self, body, member, text):
        body[member] = self.spoiled(text) if self.fault(0.02) else text

    def placeholders(self, body):
        """Adds what the expressions used; seldom one more or one less."""
        if self.fault(0.01):
            self.values[":unused"] = {"N": "1"}
        if self.fault(0.01):
            self.names["#unused"] = "unused"
        if self.names and self.fault(0.01):
            self.names.pop(self.pick(list(self.names)))
        if self.names:
            body["ExpressionAttributeNames"] = dict(self.names)
        if self.values:
            body["ExpressionAttributeValues"] = dict(self.values)
        return body

    def returns(self, body, table, some):
        if self.often(0.4):
            every = ("NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW", "all")
            body["ReturnValues"] = self.pick(every if self.fault(0.03) else some)
        if self.often(0.1):
            body["ReturnValuesOnConditionCheckFailure"] = self.pick(("ALL_OLD", "NONE"))
        # DynamoDB Local counts the entry of an index also for an item that lacks a part of its key.
        if not table.indexes and self.often(0.05):
            body["ReturnConsumedCapacity"] = self.pick(("TOTAL", "INDEXES", "NONE"))

    def put(self):
        table = self.table()
        body = {"TableName": table.name, "Item": self.item(table)}
        if self.often(0.25):
            self.expression(body, "ConditionExpression", self.condition())
        self.returns(body, table, ("NONE", "ALL_OLD", "ALL_OLD"))
        return "PutItem", self.placeholders(body)

    def update_item(self):
        table = self.table()
        body = {"TableName": table.name, "Key": self.key(table)}
        if self.often(0.97):
            names = ("pk", "sk", "a") if self.fault(0.02) else ATTRIBUTES
            self.expression(body, "UpdateExpression", self.update(names))
        if self.often(0.25):
            self.expression(body, "ConditionExpression", self.condition())
        self.returns(body, table, ("NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"))
        return "UpdateItem", self.placeholders(body)

    def delete(self):
        table = self.table()
        body = {"TableName": table.name, "Key": self.key(table)}
        if self.often(0.3):
            self.expression(body, "ConditionExpression", self.condition())
        self.returns(body, table, ("NONE", "ALL_OLD", "ALL_OLD"))
        return "DeleteItem", self.placeholders(body)

    def get(self):
        table = self.table()
        body = {"TableName": table.name, "Key": self.key(table)}
        if self.often(0.4):
            self.expression(body, "ProjectionExpression", self.projection())
        if self.often(0.5):
            body["ConsistentRead"] = True
        if self.often(0.05):
            body["ReturnConsumedCapacity"] = "TOTAL"
        return "GetItem", self.placeholders(body)

    def key_condition(self, keys, kinds):
        hash_key = keys[0]
        literal = self.literal(None)
        if literal in self.values:
            self.values[literal] = self.key_value(kinds[hash_key])
        text = f"{self.word(hash_key)} = {literal}"
        if len(keys) < 2 or keys[1] is None or self.often(0.4):
            return text
        kind = self.pick("SNB") if self.fault(0.02) else kinds[keys[1]]
        name = self.word(keys[1])
        roll = self.chance.random()
        if roll < 0.6:
            more = f"{name} {self.pick(('=', '<', '<=', '>', '>='))} {self.key_literal(kind)}"
        elif roll < 0.8:
            more = f"{name} BETWEEN {self.key_bounds(kind)}"
        else:
            begins = kind != "N" or self.fault(0.1)
            more = f"begins_with({name}, {self.key_literal(kind)})" if begins else f"{name} > {self.key_literal(kind)}"
        if self.fault(0.02):
            more = self.comparison()
        return f"{text} AND {more}" if self.often(0.8) else f"{more} AND {text}"

    def key_literal(self, kind):
        short = self.literal(kind)
        if short in self.values:
            self.values[short] = self.key_value(kind)
        return short

    def key_bounds(self, kind):
        rank = {"S": lambda text: text.encode(), "N": decimal.Decimal, "B": base64.b64decode}[kind]
        bounds = [self.key_value(kind) for _ in range(2)]
        if all(list(bound) == [kind] and isinstance(bound[kind], str) for bound in bounds) and not self.faulty:
            bounds.sort(key=lambda bound: rank(bound[kind]))
        one, two = f":v{len(self.values)}", f":v{len(self.values) + 1}"
        self.values[one], self.values[two] = bounds
        return f"{one} AND {two}"

    def reading(self, body, table):
        """The common members of Query and Scan."""
        if self.often(0.3):
            self.expression(body, "FilterExpression", self.condition())
        if self.often(0.2):
            self.expression(body, "ProjectionExpression", self.projection())
        if self.often(0.15):
            fits = ["SPECIFIC_ATTRIBUTES"] if "ProjectionExpression" in body else ["COUNT", "COUNT", *(
                ("ALL_PROJECTED_ATTRIBUTES",) if "IndexName" in body else ("ALL_ATTRIBUTES",))]
            every = ("COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "SPECIFIC_ATTRIBUTES")
            body["Select"] = self.pick(every if self.fault(0.2) else fits)
        if self.often(0.3):
            body["Limit"] = 0 if self.fault(0.03) else self.pick((1, 1, 2, 2, 3, 5, 100))
        if self.often(0.2):
            body["ConsistentRead"] = not body.get("IndexName", "").startswith("gsi") or self.fault(0.2)
        # Attributes that are fetched from the table for a local index are charged (docs/compatibility.md); DynamoDB
        # Local does not charge them.
        if body.get("IndexName") != "lsi" and self.often(0.04):
            body["ReturnConsumedCapacity"] = self.pick(("TOTAL", "INDEXES"))

    def index(self, body, table, share):
        """The keys that a read goes by."""
        if table.indexes and self.often(share):
            index = self.pick(list(table.indexes))
            body["IndexName"] = index
            return table.indexes[index]
        if self.fault(0.01):
            body["IndexName"] = "nowhere"
        return tuple(table.keys)

    def query(self):
        table = self.table()
        body = {"TableName": table.name}
        keys = self.index(body, table, 0.5)
        kinds = dict(table.keys, g1="S", g2="N", r1="N")
        self.expression(body, "KeyConditionExpression", self.key_condition(keys, kinds))
        self.reading(body, table)
        if self.often(0.3):
            body["ScanIndexForward"] = self.often(0.3)
        if "IndexName" not in body and self.fault(0.08):
            body["ExclusiveStartKey"] = self.key(table)
        return "Query", self.placeholders(body)

    def scan(self):
        table = self.table()
        body = {"TableName": table.name}
        self.index(body, table, 0.3)
        self.reading(body, table)
        return "Scan", self.placeholders(body)

    def distinct(self, least, most):
        """Some (table, key): of items that differ, as batches and transactions want them; seldom with one that is there twice."""
        found = {}
        for _ in range(self.chance.randint(least, most)):
            table = self.table()
            key = self.key(table)
            found[table.name, json.dumps(key, sort_keys=True)] = table, key
        places = list(found.values())
        if self.fault(0.03):
            places.append(self.pick(places))
        return places

    def action(self, table, key):
        """One action of a transaction, with placeholders of its own."""
        self.clear()
        kind = self.pick(("Put", "Update", "Delete", "ConditionCheck"))
        body = {"TableName": table.name}
        if kind == "Put":
            body["Item"] = {**self.item(table), **key}
        else:
            body["Key"] = key
        if kind == "Update":
            self.expression(body, "UpdateExpression", self.update())
        if kind == "ConditionCheck" or self.often(0.3):
            self.expression(body, "ConditionExpression", self.condition(1))
            if self.often(0.2):
                body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return {kind: self.placeholders(body)}

    def transact_write(self):
        body = {"TransactItems": [self.action(*place) for place in self.distinct(1, 4)]}
        if self.often(0.05):
            body["ClientRequestToken"] = "x" * 37 if self.fault(0.1) else self.prefix + self.pick(("-one", "-two"))
        return "TransactWriteItems", body

    def transact_get(self):
        gets = []
        for table, key in self.distinct(1, 4):
            self.clear()
            get = {"TableName": table.name, "Key": key}
            if self.often(0.3):
                self.expression(get, "ProjectionExpression", self.projection())
            if self.names:
                get["ExpressionAttributeNames"] = dict(self.names)
            gets.append({"Get": get})
        return "TransactGetItems", {"TransactItems": gets}

    def batch_write(self):
        wanted = {}
        for table, key in self.distinct(1, 5):
            put = self.often(0.7)
            one = {"PutRequest": {"Item": {**self.item(table), **key}}} if put else {"DeleteRequest": {"Key": key}}
            wanted.setdefault(table.name, []).append(one)
        return "BatchWriteItem", {"RequestItems": wanted}

    def batch_get(self):
        wanted = {}
        for table, key in self.distinct(1, 5):
            wanted.setdefault(table.name, {"Keys": []})["Keys"].append(key)
        for get in wanted.values():
            self.clear()
            if self.often(0.3):
                self.expression(get, "ProjectionExpression", self.projection())
            if self.names:
                get["ExpressionAttributeNames"] = dict(self.names)
        return "BatchGetItem", {"RequestItems": wanted}

    def table_operation(self):
        table = self.table()
        roll = self.chance.randrange(6)
        if roll < 2:
            return "DescribeTable", {"TableName": table.name if self.often(0.9) else self.prefix + "-none"}
        if roll == 2:
            operation, body = self.create_table(plain=False)
            self.tables.pop()
            body["TableName"] = self.pick((table.name, body["TableName"]))
            return operation, body
        if roll == 3:
            return "UpdateTimeToLive", {"TableName": table.name, "TimeToLiveSpecification": {
                "AttributeName": "" if self.fault(0.1) else self.pick(("ttl", "n")), "Enabled": self.often(0.7)}}
        if roll == 4:
            return "DescribeTimeToLive", {"TableName": table.name}
        return "DeleteTable", {"TableName": self.prefix + "-none"}

    def compared(self):
        """A condition of old; of a type that its operator is for."""
        operator = self.pick(("EQ", "NE", "LT", "GE", "NULL", "NOT_NULL", "CONTAINS", "BEGINS_WITH", "IN"))
        if operator.endswith("NULL"):
            return {"ComparisonOperator": operator}
        value = self.of_type(self.pick("SB" if operator == "BEGINS_WITH" else "SNB"))
        return {"ComparisonOperator": operator, "AttributeValueList": [value]}

    def legacy(self):
        table = self.table()
        roll = self.chance.randrange(4)
        if roll == 0:
            return "PutItem", {"TableName": table.name, "Item": self.item(table), "Expected": {self.pick(ATTRIBUTES): self.compared()}}
        if roll == 1:
            name = self.pick(ATTRIBUTES)
            value = self.attribute(name)
            fits = {"ADD": ("N", "SS", "NS", "BS"), "DELETE": ("SS", "NS", "BS")}
            action = self.pick(("PUT", "ADD", "DELETE"))
            if action in fits and next(iter(value)) not in fits[action] and not self.fault(0.1):
                action = "PUT"
            return "UpdateItem", {"TableName": table.name, "Key": self.key(table), "ReturnValues": "ALL_NEW",
                                  "AttributeUpdates": {name: {"Action": action, "Value": value}}}
        if roll == 2:
            return "Scan", {"TableName": table.name, "ScanFilter": {self.pick(ATTRIBUTES): self.compared()}}
        return "GetItem", {"TableName": table.name, "Key": self.key(table), "AttributesToGet": self.some(ATTRIBUTES, 1, 3)}

    def damaged(self, body):
        """The body with one member gone, of another type, or one too many."""
        body = dict(body)
        name = self.pick(list(body))
        roll = self.chance.randrange(4)
        if roll == 0:
            del body[name]
        elif roll == 1:
            body[name] = self.pick(("x", 1, True, {}, [], None, -1, {"a": "b"}, ["a"]))
        elif roll == 2:
            body[self.pick(("Unknown", "ReturnValues", "Limit", "Select", "ConditionExpression"))] = self.pick(("x", 0, "NONE"))
        elif "TableName" in body:
            body["TableName"] = self.pick((self.prefix + "-none", "a", "", "bad name", "x" * 256))
        return body
