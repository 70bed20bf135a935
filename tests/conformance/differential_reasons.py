"""The reasons why DynamoDB Local and Freshet may differ: at most 30, each precise, each with a sentence why Freshet is right or why
it does not matter. What the service itself was seen to do (docs/compatibility.md and the tests of this folder) wins over
DynamoDB Local, which decides only where nothing else is known.

A reason takes the request and both documents, and gives both documents back without what it explains. What is left must be equal.
"""
import decimal
import re

from differential_sides import Answer, only_removing, spelt
from differential_texts import PATHS_THERE, SAME

UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
NUMBER = r"\{N:([^}]*)\}"
MOMENTS = 60.0  # Seconds that the clocks of two answers may lie apart.


class Reason:
    def __init__(self, name, why, settle):
        self.name, self.why, self.settle = name, why, settle


REASONS = []


def because(name, why):
    """Adds the function below it as a reason."""
    def add(settle):
        REASONS.append(Reason(name, why, settle))
        return settle
    return add


def texts(condition):
    """A reason that speaks of two errors: `condition` gets the request and both answers, whose words then do not matter."""
    def settle(operation, body, ours, theirs):
        if ours.kind and theirs.kind and condition(operation, body, ours, theirs):
            return ours, ours
        return ours, theirs
    return settle


def rewrite(change):
    """A reason that speaks of members of two documents, at whatever depth: `change` gets two objects and changes them."""
    def walk(mine, other):
        if isinstance(mine, dict) and isinstance(other, dict):
            mine, other = dict(mine), dict(other)
            change(mine, other)
            for name in mine.keys() & other.keys():
                mine[name], other[name] = walk(mine[name], other[name])
        elif isinstance(mine, list) and isinstance(other, list) and len(mine) == len(other):
            both = [walk(one, two) for one, two in zip(mine, other)]
            mine, other = [one for one, _ in both], [two for _, two in both]
        return mine, other

    def settle(operation, body, ours, theirs):
        mine, other = walk(ours.document, theirs.document)
        return Answer(ours.status, mine), Answer(theirs.status, other)
    return settle


@because("descriptions", "DynamoDB Local gives tables no id, names a region of its own, and says 1970 of a throughput that was never "
         "changed, where the service says nothing; the sizes that Freshet gives are stored sizes; the moments are two")
@rewrite
def _(mine, other):
    if "TableArn" in mine and "TableId" not in other and re.fullmatch(UUID, str(mine.get("TableId"))):
        del mine["TableId"]
    for name in ("TableArn", "IndexArn"):
        if str(other.get(name)).startswith("arn:aws:dynamodb:ddblocal:"):
            other[name] = other[name].replace(":ddblocal:", ":us-east-1:")
    for name in ("LastIncreaseDateTime", "LastDecreaseDateTime"):
        if other.get(name) == 0.0 and name not in mine:
            del other[name]
    if "IndexArn" in mine and "ProvisionedThroughput" not in other:
        mine.pop("ProvisionedThroughput", None)
    for name in ("TableSizeBytes", "IndexSizeBytes"):
        if isinstance(mine.get(name), int) and isinstance(other.get(name), int):
            other[name] = mine[name]
    for name in ("CreationDateTime", "LastUpdateToPayPerRequestDateTime"):
        if isinstance(mine.get(name), float) and isinstance(other.get(name), float) and abs(mine[name] - other[name]) < MOMENTS:
            other[name] = mine[name]


@because("full stop", "the service ends this text without a full stop")
@rewrite
def _(mine, other):
    for name in ("message", "Message"):
        if mine.get(name) == "The conditional request failed" and other.get(name) == "The conditional request failed.":
            other[name] = mine[name]


@because("units", "a read that finds nothing costs the service half a unit, and nobody is told of units who did not ask")
def _(operation, body, ours, theirs):
    if ours.status != 200 or theirs.status != 200 or "ConsumedCapacity" not in theirs.document:
        return ours, theirs
    unasked = operation == "DeleteItem" and body.get("ReturnConsumedCapacity", "NONE") == "NONE"
    empty = operation in ("Query", "Scan") and ours.document.get("ScannedCount") == 0 and (
        theirs.document["ConsumedCapacity"].get("CapacityUnits") == 0.0)
    if not unasked and not empty:
        return ours, theirs
    without = [{name: held for name, held in one.document.items() if name != "ConsumedCapacity"} for one in (ours, theirs)]
    return Answer(200, without[0]), Answer(200, without[1])


@because("number spelling", "the service gives a number back in one spelling; DynamoDB Local keeps the one that it was written with")
@rewrite
def _(mine, other):
    one, two = mine.get("N"), other.get("N")
    if isinstance(one, str) and isinstance(two, str) and one != two and decimal.Decimal(one) == decimal.Decimal(two):
        if "E" not in one.upper() and one != "-0" and not ("." in one and one.endswith("0")):
            other["N"] = one


@because("removing from nothing", "an update that only removes makes no item where there is none; DynamoDB Local makes an empty one. An "
         "attribute of AttributeUpdates without an action is put; DynamoDB Local leaves it out")
def _(operation, body, ours, theirs):
    if only_removing(operation, body) and ours.status == theirs.status == 200 and "Attributes" not in ours.document and (
            spelt(theirs.document) == spelt({**ours.document, "Attributes": body["Key"]})):
        return ours, ours
    return ours, theirs


def _holds(less, more):
    """True if the one is contained in the other: for maps the same members, for lists the elements in their order.
    Numbers may be spelt in two ways, as everywhere."""
    if isinstance(less, dict) and isinstance(more, dict) and set(less) == set(more) == {"N"} and isinstance(less["N"], str):
        return _equal(less, more)
    if isinstance(less, dict) and isinstance(more, dict):
        return all(name in more and _holds(held, more[name]) for name, held in less.items())
    if isinstance(less, list) and isinstance(more, list):
        rest = iter(more)
        return all(any(_holds(one, other) for other in rest) for one in less)
    return less == more


@because("updated values", "UPDATED_OLD and UPDATED_NEW give what the paths of the update hold; DynamoDB Local at times gives the whole map "
         "or list around it, and nothing of an element that was set beyond the end of its list")
def _(operation, body, ours, theirs):
    asked = str(body.get("UpdateExpression"))
    if operation == "UpdateItem" and str(body.get("ReturnValues")).startswith("UPDATED_") and ours.status == theirs.status == 200 and (
            re.search(r"[.\[]", asked) and _holds(ours.document, theirs.document)
            or re.search(r"\[\d+\] *[=:]", asked) and _holds(theirs.document, ours.document)):
        return ours, ours
    return ours, theirs


def _is_last(body, key):
    """True if no other item can follow this one: it is the whole partition, or the last one that the key condition
    allows."""
    values = body.get("ExpressionAttributeValues", {}).values()
    return len(key) == 1 or key.get("sk") in values or any(_equal(key.get("sk"), one) for one in values)


def _equal(one, two):
    return bool(one and two and "N" in one and "N" in two and decimal.Decimal(one["N"]) == decimal.Decimal(two["N"]))


@because("last keys", "a page that is full has a last key; DynamoDB Local leaves it out where no other item can follow")
def _(operation, body, ours, theirs):
    if operation == "Query" and ours.status == theirs.status == 200 and "LastEvaluatedKey" not in theirs.document and (
            ours.document.get("ScannedCount") == body.get("Limit") and _is_last(body, ours.document.get("LastEvaluatedKey", {}))):
        return Answer(200, {name: held for name, held in ours.document.items() if name != "LastEvaluatedKey"}), theirs
    return ours, theirs


@because("ends of a query", "an empty text is a bound like any other. A key that lies outside of the query is no place to start from; "
         "DynamoDB Local says so in another text, also of the last key that the condition allows")
def _(operation, body, ours, theirs):
    if operation == "Query" and ours.status == 200 and re.search(
            r"The AttributeValue for a key attribute cannot contain an empty (string|binary) value\.", theirs.message or "") and any(
            one in ({"S": ""}, {"B": ""}) for one in body.get("ExpressionAttributeValues", {}).values()):
        return ours, ours
    if "ExclusiveStartKey" in body and theirs.kind == "ValidationException" and re.match(
            r"The provided starting key does not match the range key predicate|"
            r"The query can return at most one row and cannot be restarted", theirs.message):
        if ours.message == "The provided starting key is outside query boundaries based on provided conditions" or (
                ours.status == 200 and ours.document.get("Count") == 0 and _is_last(body, body["ExclusiveStartKey"])):
            return ours, ours
    return ours, theirs


@because("statements of a transaction", "the text is the same; DynamoDB Local says in front of it which statement it is about")
def _(operation, body, ours, theirs):
    front = re.match(r"Validation failed in TransactStatements\[\d+\]: ", theirs.message or "")
    if operation != "ExecuteTransaction" or not front or (ours.message or "").startswith("Validation failed in "):
        return ours, theirs
    return ours, Answer(theirs.status, {**theirs.document, "message": theirs.message[front.end():]})


@because("answers of statements", "each answer of a batch of statements names its table, and a column is named by the last name of its "
         "path; DynamoDB Local's answers do so only where there is no error, and in ExecuteStatement")
def _(operation, body, ours, theirs):
    mine, other = dict(ours.document), dict(theirs.document)
    if operation == "ExecuteStatement" and ours.kind and theirs.kind and "TableName" not in other:
        mine.pop("TableName", None)
    for one, two in [(mine, other), *zip(mine.get("Responses", []), other.get("Responses", []))]:
        if "Item" in one and spelt(two.get("Item")) == {"m": {"M": spelt(one["Item"])}}:
            one["Item"] = two["Item"]
    return Answer(ours.status, mine), Answer(theirs.status, other)


@because("batches of statements", "each statement of a batch has an answer of its own, also where two are on one item, or one has a "
         "parameter that is no value")
def _(operation, body, ours, theirs):
    if operation != "BatchExecuteStatement" or ours.status != 200 or theirs.kind != "ValidationException":
        return ours, theirs
    said = [one.get("Error", {}).get("Message", "").rstrip(".") for one in ours.document["Responses"]]
    number = {"A value provided cannot be converted into a number": "The parameter cannot be converted to a numeric value",
              "DynamoDB only supports precision up to 38 digits": "Attempting to store more than 38 significant digits in a Number"}
    several = theirs.message == "Provided list of item keys contains duplicates"
    if several or number.get(theirs.message, "\n") in "".join(said) or theirs.message in filter(None, said):
        return ours, ours
    return ours, theirs


@because("operands of if_not_exists", "the second operand is of no matter where the first is there; DynamoDB Local looks at it, and "
         "refuses twice the same")
def _(operation, body, ours, theirs):
    asked = str(body)
    said = " ".join(_says(theirs))
    passes = ours.status == 200 or ours.kind in ("ConditionalCheckFailedException", "TransactionCanceledException") or (
        "Type mismatch for Index Key " in (ours.message or ""))
    if "if_not_exists(" in asked and ("operator: if_not_exists, first operand: " in said or passes and (
            "The provided expression refers to an attribute that does not exist in the item" in said)):
        return ours, ours
    return ours, theirs


def _says(answer):
    """All messages of an error, those of the reasons of a transaction too."""
    return [answer.message or "", *(one.get("Message", "") for one in answer.rest().get("CancellationReasons", []))]


@because("indexes", "the service refuses another type in a key of any index; DynamoDB Local does not in those of local ones. What a local "
         "index lacks is fetched from the table, for filters too; what a global one lacks is not there for a filter, where DynamoDB "
         "Local looks into the table")
def _(operation, body, ours, theirs):
    if theirs.status == 200 and ours.status == 400 and any(
            re.search(r"Type mismatch for Index Key .* IndexName: lsi", one) for one in _says(ours)):
        return ours, ours
    index = str(body.get("IndexName"))
    if index == "lsi" and ours.status == 200 and re.fullmatch(
            r".*Secondary index lsi does not project one or more filter attributes: .*", theirs.message or ""):
        return ours, ours
    if operation == "Scan" and index.startswith("gsi") and "FilterExpression" in body and ours.status == theirs.status == 200 and (
            ours.document["ScannedCount"] == theirs.document["ScannedCount"]):
        items = [one.document.get("Items", []) for one in (ours, theirs)]
        if any(all(item in more for item in less) for less, more in (items, items[::-1])):
            return ours, ours
    return ours, theirs


@because("refused statements", "a statement whose parameters are more or fewer than its question marks is refused before all else. A "
         "condition that stands where a value should is refused; DynamoDB Local compares it, and finds nothing")
def _(operation, body, ours, theirs):
    said = re.sub(r"^Validation failed in TransactStatements\[\d+\]: ", "", ours.message or "")
    nothing = theirs.kind == "ConditionalCheckFailedException" or theirs.kind == "ConditionalCheckFailed" or theirs.status == 200 and (
        not theirs.document.get("Items") and "Item" not in theirs.document and not any(theirs.document.get("Responses", [])))
    if said == "Number of parameters in request and statement don't match." or nothing and re.fullmatch(
            r"Unsupported (?:comparison: a condition can only equal true or false|expression: a condition stands where a value should) "
            r"at \d+:\d+:\d+", said):
        return ours, ours
    return ours, theirs


@because("requests first", "what is wrong with a request itself is said before its items, or the token of its transaction, are looked at")
@texts
def _(operation, body, ours, theirs):
    codes = [one["Code"] for one in theirs.rest().get("CancellationReasons", [])]
    of_items = theirs.kind in ("ConditionalCheckFailedException", "IdempotentParameterMismatchException") or (
        re.fullmatch(PATHS_THERE, theirs.message) or "ConditionalCheckFailed" in codes and set(codes) <= {"ConditionalCheckFailed", "None"})
    return bool(of_items and re.match(
        r"One or more parameter values were invalid: Cannot update attribute \S+\. This attribute is part of the key|"
        r"Key attributes must be scalars; |ExpressionAttribute(Names|Values) can only be specified|Invalid \w+Expression: |"
        r"Value provided in ExpressionAttribute(Names|Values) unused|One or more parameter values are not valid\. ", ours.message))


@because("failures", "what DynamoDB Local fails on with status 500 is refused")
@texts
def _(operation, body, ours, theirs):
    return theirs.status == 500 and theirs.kind == "InternalFailure" and ours.status == 400


@because("types of members", "the service refuses a member of another JSON type, and a value that is none of those of its "
         "member, before all else; DynamoDB Local converts the one and ignores the other")
def _(operation, body, ours, theirs):
    none_of = re.search(r"failed to satisfy constraint: Member must (?:satisfy enum value set: |have length greater than or equal to 1$)",
                        ours.message or "")
    return (ours, ours) if ours.kind == "SerializationException" or none_of else (ours, theirs)


def _same(pairs):
    def condition(operation, body, ours, theirs):
        for one, two in pairs:
            mine, other = re.fullmatch(one, ours.message), re.fullmatch(two, theirs.message)
            if mine and other and ours.status == theirs.status == 400 and mine.groups() == other.groups():
                return True
        return False
    return condition


for _name, (_why, _pairs) in SAME.items():
    because(_name, _why)(texts(_same(_pairs)))


@because("values in messages", "DynamoDB Local shows the numbers of a message as they were written, bytes as a Java object, and the "
         "types that there are and the names that are not used in another order; the rest is the same")
@texts
def _(operation, body, ours, theirs):
    if "Invalid attribute type name found" in ours.message or " unused in expressions: keys: {" in ours.message:
        return sorted(ours.message) == sorted(theirs.message)
    numbers = [re.findall(NUMBER, one.message) for one in (ours, theirs)]
    plain = [re.sub(r"\{B:[^}]*\}", "B", re.sub(NUMBER, "N", one.message)) for one in (ours, theirs)]
    return plain[0] == plain[1] and "BETWEEN" in ours.message and all(
        decimal.Decimal(one) == decimal.Decimal(two) for one, two in zip(*numbers))


@because("several operations", "two operations on one item are refused by the service before any of them is looked at; for DynamoDB Local "
         "the keys 0 and -0 are two")
def _(operation, body, ours, theirs):
    if operation in ("TransactWriteItems", "TransactGetItems", "ExecuteTransaction") and (
            ours.message == "Transaction request cannot include multiple operations on one item") and (
            theirs.kind or "'-0'" in str(body)):
        return ours, ours
    return ours, theirs


def _same_fault(ours, theirs):
    """True if the only part with a reason in the one answer is invalid in the other, too, or if each names another
    invalid part."""
    mine, other = ([one["Code"] for one in answer.rest().get("CancellationReasons", [])] for answer in (ours, theirs))
    if len(mine) == len(other) and all(codes.count("ValidationError") == 1 == len(codes) - codes.count("None") for codes in (mine, other)):
        return True
    for codes in (mine, other):
        at_fault = [place for place, code in enumerate(codes) if code != "None"]
        if len(mine) == len(other) and len(at_fault) == 1 and mine[at_fault[0]] == other[at_fault[0]] == "ValidationError":
            return True
    return False


@because("reasons of a transaction", "what the table or the item says against an action is a reason of the cancelled transaction, what is "
         "wrong with a key by itself is not; an action that is not valid alone has a reason, of statements all have. In DynamoDB Local it is the "
         "other way round")
@texts
def _(operation, body, ours, theirs):
    if operation == "ExecuteTransaction" and ours.message in _says(theirs)[1:] or _same_fault(ours, theirs):
        return True
    return (ours.kind == "TransactionCanceledException" and "CancellationReasons" not in theirs.rest()
            and theirs.kind in ("ValidationException", "TransactionCanceledException")
            and any(one["Code"] == "ValidationError" for one in ours.rest().get("CancellationReasons", [])))


def _parts(operation, body, ours, theirs):
    """The parts of a batch or a cancelled transaction: (operation, body, ours, theirs) for each."""
    if operation == "BatchExecuteStatement" and ours.status == theirs.status == 200:
        name, of, whole = "Responses", "Statements", "ExecuteStatement"
    elif ours.kind == theirs.kind == "TransactionCanceledException":
        name, whole = "CancellationReasons", "Action"
        of = "TransactStatements" if operation == "ExecuteTransaction" else "TransactItems"
    else:
        return None
    mine, other, wanted = ours.document.get(name, []), theirs.document.get(name, []), body.get(of, [])
    if not len(mine) == len(other) == len(wanted):
        return None
    return [(whole, one, _part(left), _part(right)) for one, left, right in zip(wanted, mine, other)]


def _part(document):
    error = document.get("Error", document)
    if error.get("Code", "None") == "None":
        return Answer(200, document)
    return Answer(400, {"__type": error["Code"], "message": error.get("Message", ""), **{
        name: held for name, held in document.items() if name not in ("Error", "Code", "Message")}})


def settle(operation, body, ours, theirs):
    """The names of the reasons that together explain the difference; None if something is left."""
    used = []
    for one in REASONS:
        before = ours, theirs
        ours, theirs = one.settle(operation, body, ours, theirs)
        if not (ours.same(before[0]) and theirs.same(before[1])):
            used.append(one.name)
        if ours.same(theirs):
            return used
    parts = _parts(operation, body, ours, theirs)
    if parts is None:
        return None
    for one in parts:
        if not one[2].same(one[3]):
            reasons = settle(*one)
            if reasons is None:
                return None
            used += reasons
    return used
