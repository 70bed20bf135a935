#!/usr/bin/env python3
"""PartiQL through boto3. Started like conformance_test.py, with the same environment variables.

What is expected is the service's documented behaviour (Developer Guide, "PartiQL for DynamoDB"); texts of syntax errors
are compared up to the place, which Freshet adds.
"""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from conformance_test import Case, setUpModule, tearDownModule  # noqa: E402, F401

MALFORMED = "Statement wasn't well formed, can't be processed: "


class Statements(Case):
    """Music, as in the guide: Artist, SongTitle; the index AlbumIndex by AlbumTitle."""

    def setUp(self):
        self.name = self.make_table(
            KeySchema=[{"AttributeName": "Artist", "KeyType": "HASH"}, {"AttributeName": "SongTitle", "KeyType": "RANGE"}],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"}
                                  for name in ("Artist", "SongTitle", "AlbumTitle")],
            GlobalSecondaryIndexes=[{"IndexName": "AlbumIndex", "Projection": {"ProjectionType": "ALL"},
                                     "KeySchema": [{"AttributeName": "AlbumTitle", "KeyType": "HASH"}]}])

    def run_statement(self, statement, *parameters, **more):
        if parameters:
            more["Parameters"] = list(parameters)
        return self.client.execute_statement(Statement=statement.replace("Music", f'"{self.name}"'), **more)

    def items(self, statement, *parameters, **more):
        return self.run_statement(statement, *parameters, **more)["Items"]

    def refused(self, name, text, statement, *parameters, **more):
        return self.fails(name, text, lambda: self.run_statement(statement, *parameters, **more))

    def insert(self, artist, song, more=""):
        self.run_statement(f"INSERT INTO Music VALUE {{'Artist':'{artist}','SongTitle':'{song}'{more}}}")

    def get(self, artist, song):
        return self.client.get_item(TableName=self.name, ConsistentRead=True,
                                    Key={"Artist": {"S": artist}, "SongTitle": {"S": song}}).get("Item")

    def test_the_guide(self):
        self.assertEqual(self.items("INSERT INTO Music VALUE {'Artist':'Acme Band','SongTitle':'PartiQL Rocks'}"), [])
        self.assertEqual(self.items("UPDATE Music SET AwardsWon=1 SET AwardDetail={'Grammys':[2020, 2018]} "
                                    "WHERE Artist='Acme Band' AND SongTitle='PartiQL Rocks'"), [])
        where = "WHERE Artist='Acme Band' AND SongTitle='PartiQL Rocks'"
        for change in ("SET AwardDetail.Grammys =list_append(AwardDetail.Grammys,[2016])",
                       "REMOVE AwardDetail.Grammys[2]", "SET AwardDetail.BillBoard=[2020]",
                       "SET BandMembers =set_add(BandMembers, <<'member1', 'newbandmember'>>)",
                       "SET BandMembers =set_delete(BandMembers, <<'member1'>>)"):
            self.run_statement(f"UPDATE Music {change} {where}")
        old = self.items(f"UPDATE Music SET AwardsWon = AwardsWon + 1 {where} RETURNING ALL OLD *")
        self.assertEqual(old, [{"Artist": {"S": "Acme Band"}, "SongTitle": {"S": "PartiQL Rocks"},
                                "AwardsWon": {"N": "1"}, "BandMembers": {"SS": ["newbandmember"]},
                                "AwardDetail": {"M": {"Grammys": {"L": [{"N": "2020"}, {"N": "2018"}]},
                                                      "BillBoard": {"L": [{"N": "2020"}]}}}}])
        new = self.items(f"UPDATE Music REMOVE BandMembers SET AwardsWon = AwardsWon - 2 {where} RETURNING MODIFIED NEW *")
        self.assertEqual(new, [{"AwardsWon": {"N": "0"}}])
        self.assertEqual(self.items(f"SELECT AwardDetail.Grammys[0], AwardsWon FROM Music {where}"),
                         [{"Grammys[0]": {"N": "2020"}, "AwardsWon": {"N": "0"}}])
        gone = self.items(f"DELETE FROM Music {where} AND AwardsWon=0 RETURNING ALL OLD *")
        self.assertEqual(gone[0]["Artist"], {"S": "Acme Band"})
        self.assertIsNone(self.get("Acme Band", "PartiQL Rocks"))

    def test_writes_that_find_what_they_should_not(self):
        self.insert("a", "1", ", 'n': 1")
        self.refused("DuplicateItemException", "Duplicate primary key exists in table",
                     "INSERT INTO Music VALUE {'Artist':'a','SongTitle':'1'}")
        self.refused("ConditionalCheckFailedException", "The conditional request failed",
                     "UPDATE Music SET n=2 WHERE Artist='a' AND SongTitle='none'")
        self.refused("ConditionalCheckFailedException", "The conditional request failed",
                     "UPDATE Music SET n=2 WHERE Artist='a' AND SongTitle='1' AND n=5")
        self.refused("ConditionalCheckFailedException", "The conditional request failed",
                     "DELETE FROM Music WHERE Artist='a' AND SongTitle='1' AND attribute_exists(nope)")
        self.assertEqual(self.items("DELETE FROM Music WHERE Artist='a' AND SongTitle='none' AND n=1"), [])
        self.refused("ValidationException", "Where clause does not contain a mandatory equality on all key attributes",
                     "DELETE FROM Music WHERE Artist='a'")
        self.assertEqual(self.get("a", "1")["n"], {"N": "1"})

    def test_conditions(self):
        self.insert("a", "1", ", 's': 'str', 'n': 5, 'ss': <<'x','y'>>, 'nul': null, 'flag': true, 'm': {'k': [1]}")
        held = ["n=5", "n<>6", "n != 6", "5<=n", "n BETWEEN 4 AND 5", "n IN [1,5]", "NOT n=6", "nope IS MISSING",
                "n IS NOT MISSING", "nul IS NULL", "s IS NOT NULL", "flag IS BOOL", "begins_with(s,'st')",
                "contains(ss,'x')", "contains(\"s\",'tr')", "attribute_type(ss,'SS')", "size(s) = 3", "SIZE(ss) > 1",
                "attribute_exists(m.k[0])", "attribute_not_exists(m.k[1])", "attribute_exists(n) = true",
                "(n=6 OR (s='str' AND flag=true))", "m = {'k':[1]}", "ss = <<'y','x'>>", "n > -5", "n NOT IN (1,2)"]
        for condition in held:
            self.assertEqual(len(self.items(f"SELECT n FROM Music WHERE Artist='a' AND {condition}")), 1, condition)
            none = self.items(f"SELECT n FROM Music WHERE Artist='a' AND NOT ({condition})")
            self.assertEqual(none, [], condition)
        self.refused("ValidationException",
                     "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL",
                     "SELECT * FROM Music WHERE Artist='a' AND n < ?", {"BOOL": True})

    def test_parameters_are_never_syntax(self):
        evil = "x' OR Artist <> '"
        self.run_statement("INSERT INTO Music VALUE {'Artist':?,'SongTitle':?}", {"S": evil}, {"S": ":0 OR #0"})
        self.assertEqual(len(self.items("SELECT * FROM Music WHERE Artist=?", {"S": evil})), 1)
        self.assertEqual(self.items("SELECT * FROM Music WHERE Artist=?", {"S": "x"}), [])
        self.assertEqual(self.items("SELECT * FROM Music WHERE \"Artist = :0 OR Artist\" = 'x'"), [])
        for parameters in ([], [{"S": "a"}, {"S": "b"}]):
            self.refused("ValidationException", "Number of parameters in request and statement don't match.",
                         "SELECT * FROM Music WHERE Artist=?", *parameters)

    def songs(self, statement, **more):
        """The song titles page by page."""
        pages, token = [], {}
        while True:
            page = self.run_statement(statement, **token, **more)
            pages.append([item["SongTitle"]["S"] for item in page["Items"]])
            if "NextToken" not in page:
                return pages
            token = {"NextToken": page["NextToken"]}

    def test_order_and_pages(self):
        for artist in "ab":
            for song in "123":
                self.insert(artist, artist + song)
        self.assertEqual(self.songs("SELECT * FROM Music WHERE Artist='a' ORDER BY SongTitle DESC"), [["a3", "a2", "a1"]])
        self.assertEqual(self.songs("SELECT * FROM Music WHERE Artist IN ['a','b'] ORDER BY Artist DESC, SongTitle ASC",
                                    Limit=4), [["b1", "b2", "b3", "a1"], ["a2", "a3"]])
        self.assertEqual(self.songs("SELECT * FROM Music WHERE Artist='a' AND SongTitle >= 'a2'"), [["a2", "a3"]])
        self.assertEqual(self.songs("SELECT * FROM Music WHERE Artist='b' AND SongTitle IN ['b3','b1']"), [["b1", "b3"]])
        scanned = self.songs("SELECT * FROM Music WHERE SongTitle > 'a2'", Limit=2)
        self.assertEqual(sorted(song for page in scanned for song in page), ["a3", "b1", "b2", "b3"])
        page = self.run_statement("SELECT * FROM Music WHERE Artist='a'", Limit=1)
        self.assertEqual(page["LastEvaluatedKey"], {"Artist": {"S": "a"}, "SongTitle": {"S": "a1"}})
        self.refused("ValidationException", "NextToken does not match request",
                     "SELECT * FROM Music WHERE Artist='b'", NextToken=page["NextToken"])
        self.refused("ValidationException", "Invalid NextToken", "SELECT * FROM Music", NextToken="garbage")
        self.refused("ValidationException", "Must have at least one non-optional hash key condition in WHERE clause",
                     "SELECT * FROM Music WHERE n=1 ORDER BY Artist")

    def test_pages_of_a_megabyte(self):
        for song in range(6):
            self.client.put_item(TableName=self.name, Item={"Artist": {"S": "a"}, "SongTitle": {"S": str(song)},
                                                            "b": {"B": b"x" * 300_000}})
        self.assertEqual([len(page) for page in self.songs("SELECT SongTitle FROM Music WHERE Artist='a'")], [4, 2])
        one = "SELECT SongTitle FROM Music WHERE Artist IN ['a','b'] AND SongTitle IN ['0','1','2','3','4','5']"
        self.assertEqual([song for page in self.songs(one) for song in page], list("012345"))

    def test_indexes_and_capacity(self):
        self.insert("a", "1", ", 'AlbumTitle': 'x'")
        self.insert("a", "2")
        answer = self.run_statement("SELECT * FROM Music.\"AlbumIndex\" WHERE AlbumTitle='x'",
                                    ReturnConsumedCapacity="INDEXES")
        self.assertEqual([item["SongTitle"]["S"] for item in answer["Items"]], ["1"])
        self.assertEqual(answer["ConsumedCapacity"]["GlobalSecondaryIndexes"], {"AlbumIndex": {"CapacityUnits": 0.5}})
        self.assertEqual(answer["ConsumedCapacity"]["Table"], {"CapacityUnits": 0.0})
        consistent = self.run_statement("SELECT * FROM Music WHERE Artist='a'", ConsistentRead=True,
                                        ReturnConsumedCapacity="TOTAL")
        self.assertEqual(consistent["ConsumedCapacity"], {"TableName": self.name, "CapacityUnits": 1.0})
        self.refused("ValidationException", "Strongly consistent read is not supported on Global Secondary Indexes",
                     "SELECT * FROM Music.AlbumIndex", ConsistentRead=True)
        self.refused("ValidationException", "This operation is not supported on an index",
                     "DELETE FROM Music.AlbumIndex WHERE Artist='a' AND SongTitle='1'")

    def test_syntax_errors_say_where(self):
        for statement, text in (("SELEC * FROM Music", "Expected data manipulation at 1:1:5"),
                                ("SELECT * FROM t WHERE", "Unexpected term at 1:22:0"),
                                ("SELECT * FROM t\nWHERE a=1 foo", "Unexpected token after expression at 2:11:3"),
                                ("SELECT * FROM t WHERE a='x' AND", "Missing right-hand side expression of infix operator"),
                                ("DELETE FROM", "Expected identifier for simple path")):
            self.refused("ValidationException", MALFORMED + text, statement)
        self.refused("ValidationException", "Unsupported clause: LIMIT at 1:23:1", "SELECT * FROM t LIMIT 5")
        self.refused("ValidationException", "Aliasing is not supported", "SELECT * FROM t AS x")
        self.refused("ResourceNotFoundException", "Requested resource not found", "SELECT * FROM \"no-such-table\"")
        self.refused("ValidationException", "", "(" * 8000)

    def batch(self, *statements, **more):
        return self.client.batch_execute_statement(Statements=[
            dict(one, Statement=one["Statement"].replace("Music", f'"{self.name}"')) for one in statements], **more)

    def test_batches(self):
        written = self.batch({"Statement": "INSERT INTO Music VALUE {'Artist':'a','SongTitle':'1'}"},
                             {"Statement": "INSERT INTO Music VALUE {'Artist':'a','SongTitle':?}",
                              "Parameters": [{"S": "2"}]},
                             {"Statement": "INSERT INTO Music VALUE {'Artist':'a','SongTitle':'1'}"},
                             {"Statement": "SLECT"}, ReturnConsumedCapacity="TOTAL")
        self.assertEqual([r.get("Error", {}).get("Code") for r in written["Responses"]],
                         [None, None, "DuplicateItem", "ValidationError"])
        self.assertEqual(written["ConsumedCapacity"], [{"TableName": self.name, "CapacityUnits": 2.0}])
        read = self.batch({"Statement": "SELECT * FROM Music WHERE Artist='a' AND SongTitle='2'", "ConsistentRead": True},
                          {"Statement": "SELECT * FROM Music WHERE Artist='a' AND SongTitle='9'"},
                          {"Statement": "SELECT * FROM Music WHERE Artist='a'"})["Responses"]
        self.assertEqual(read[0], {"TableName": self.name, "Item": {"Artist": {"S": "a"}, "SongTitle": {"S": "2"}}})
        self.assertEqual(read[1], {"TableName": self.name})
        self.assertIn("must specify the primary key in the where clause", read[2]["Error"]["Message"])
        self.fails("ValidationException", "does not support both read and write operations", lambda: self.batch(
            {"Statement": "SELECT * FROM Music WHERE Artist='a' AND SongTitle='2'"},
            {"Statement": "DELETE FROM Music WHERE Artist='a' AND SongTitle='2'"}))
        self.fails("ValidationException", "Member must have length less than or equal to 25",
                   lambda: self.batch(*[{"Statement": "x"}] * 26))

    def transact(self, *statements, **more):
        return self.client.execute_transaction(TransactStatements=[
            {"Statement": one.replace("Music", f'"{self.name}"')} for one in statements], **more)

    def test_transactions(self):
        self.insert("a", "1", ", 'n': 1")
        add = "UPDATE Music SET n=n+1 WHERE Artist='a' AND SongTitle='1'"
        token = {"ClientRequestToken": "token-" + self.name[-12:]}
        for _ in range(2):
            self.assertEqual(self.transact(add, "INSERT INTO Music VALUE {'Artist':'a','SongTitle':'2'}", **token)
                             ["Responses"], [])
        self.assertEqual(self.get("a", "1")["n"], {"N": "2"})
        self.fails("IdempotentParameterMismatchException", "", lambda: self.transact(add, **token))
        read = self.transact("SELECT n FROM Music WHERE Artist='a' AND SongTitle='1'",
                             "SELECT * FROM Music WHERE Artist='a' AND SongTitle='9'")
        self.assertEqual(read["Responses"], [{"Item": {"n": {"N": "2"}}}, {}])
        exists = "EXISTS(SELECT * FROM Music WHERE Artist='a' AND SongTitle='1' AND n={})"
        self.transact(exists.format(2), "DELETE FROM Music WHERE Artist='a' AND SongTitle='2'")
        self.assertIsNone(self.get("a", "2"))
        response = self.fails(
            "TransactionCanceledException", "[ConditionalCheckFailed, DuplicateItem]",
            lambda: self.transact(exists.format(3).replace("'1'", "'9'"),
                                  "INSERT INTO Music VALUE {'Artist':'a','SongTitle':'1'}"))
        self.assertEqual([reason["Code"] for reason in response["CancellationReasons"]],
                         ["ConditionalCheckFailed", "DuplicateItem"])
        for statements, text in (
                ([add, "SELECT * FROM Music WHERE Artist='a' AND SongTitle='9'"],
                 "does not support both read and write operations"),
                ([add, "UPDATE"], "Validation failed in TransactStatements[1]: " + MALFORMED),
                ([add + " RETURNING ALL NEW *"], "RETURNING clause is not supported in ExecuteTransaction.")):
            self.fails("ValidationException", text, lambda: self.transact(*statements))


if __name__ == "__main__":
    unittest.main()
