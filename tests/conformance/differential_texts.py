"""Messages of errors that say the same in two ways: what Freshet says, as the service does where that is known, and what DynamoDB Local
says. What is in parentheses must be the same in both.
"""
WORDS = "(?i:AND|OR|NOT|IN|BETWEEN|SET|ADD|REMOVE|DELETE)"
PLACEHOLDERS = (r"ExpressionAttribute(?:Names|Values) can only be specified when using expressions(?:: .*)?|"
                r"Value provided in ExpressionAttribute(?:Names|Values) unused in expressions: .*|"
                r"Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
IN_TRANSACTION = r"(?:Validation failed in TransactStatements\[\d+\]: )?"
INVALID = "One or more parameter values were invalid: "
PATHS = (r"The provided expression refers to an attribute that does not exist in the item|An operand in the update expression has an "
         r"incorrect data type|The document path provided in the update expression is invalid for update|"
         r"Attempting to store more than 38 significant digits in a Number|Number overflow\. .*")
PATHS_THERE = PATHS + r"|DynamoDB only supports precision up to 38 digits|Type mismatch for attribute to update"

# Name: (why, [(Freshet's text, DynamoDB Local's text)]).
SAME = {
    "tables": ("the service names the table that is not there, or is there already, and takes a name of one character for one", [
        (r"Requested resource not found.*", r"Cannot do operations on a non-existent table|Invalid table/index name\..*"),
        (r"Table already exists: .*", r"Cannot create preexisting table")]),
    "keys": ("of a key that does not fit its table or index the service says which, or that it does not match the schema", [
        (r"One or more parameter values are not valid\. The AttributeValue for a key attribute cannot contain an empty (\w+) value\. Key: (\w+)",
         r"One or more parameter values are not valid\. A value specified for a secondary index key is not supported\. The AttributeValue for "
         r"a key attribute cannot contain an empty (\w+) value\. IndexName: \w+, IndexKey: (\w+)"),
        (r"The provided key element does not match the schema|The provided starting key is invalid|"
         rf"{INVALID}(?:Missing the key \S+ in the item|Type mismatch for (?:key|Index Key) .*)",
         r"The number of conditions on the keys is invalid|Invalid attribute value type|Key value must be of type S, N, or B\..*|"
         r"Type mismatch for attribute to update|One of the required keys was not given a value|"
         rf"{INVALID}Type mismatch for (?:Index Key|key).*|Key attribute should be present in the item: .*|Key attribute's .*|"
         r"One or more parameter values are not valid\. The update expression attempted to update a secondary index key to .*|"
         r"Exclusive Start Key must have same size as table's key schema|The list of keys in RequestItems .* empty keys")]),
    "constraints": ("the service says of every member in one form which constraint it does not satisfy, and which values it may have", [
        (r"ReturnValues can only be .*", r"Return values set to invalid value"),
        (r"\d+ validation errors? detected: Value.* at '\S+' failed to satisfy constraint: Member must .*|"
         r"The parameter 'TableName' is required but was not present in the request|The requestItems parameter is required for .*",
         r"Value .* at '\S+' failed to satisfy constraint: .*|Item to put in PutItem cannot be null|Cannot have null key for .*|"
         r"BatchGetItem must have some requests set|BatchWriteItem cannot have a null or no requests set|The statement was empty\.|"
         r"Select must be .*|Names of key attributes and attributes projected .*|TimeToLive is already disabled|Number of parameters in request and statement don't match\.|TimeToLive is active on a different AttributeName|"
         r"The table does not have the specified index: ?\S{0,2}|ExecutePartiQLTransaction can not have empty statement\.|"
         r"Limit must be greater than or equal to 1|TimeToLiveSpecification cannot be null|"
         r"(?:AttributeName|Enabled) cannot be null when time to live is .*|Return values set to invalid value|Invalid table/index name\..*|"
         r"Statement wasn't well formed, can't be processed: ")]),
    "numbers": ("the service says which number it is, and that a sum is too large", [
        (r"(.*)The parameter cannot be converted to a numeric value(?:: .*?)?( for key :\w+)?",
         r"(.*)A value provided cannot be converted into a number( for key :\w+)?"),
        (r"(.*Number (?:over|under)flow\. .*?)(?: under root)?( for key :\w+)?", r"(.*Number (?:over|under)flow\. .*?)( for key :\w+)?"),
        (r"(.*)(?:Attempting to store more than 38 significant digits in a Number|Number overflow\. .*?)(?: under root)?( for key :\w+)?",
         r"(.*)DynamoDB only supports precision up to 38 digits( for key :\w+)?")]),
    "unprojected": ("of attributes that a global index lacks, keys in a filter and values of its keys, the two name others first, and in a "
                    "text of their own", [
        (rf"{INVALID}(?:Global secondary index \S+ does not project .*|Select type ALL_ATTRIBUTES is not supported .*)|"
         r"Cannot specify the ProjectionExpression when choosing to get .*|Filter Expression can only contain non-primary key attributes: .*|"
         r"(?:1 validation error detected: )?Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
         rf"{INVALID}(?:Global secondary|Secondary) index \S+ does not project .*|"
         r"One or more parameter values are not valid\. A value specified for a secondary index key is not supported\. .*|"
         rf"{INVALID}Condition parameter type does not match schema type|"
         r"Filter Expression can only contain non-primary key attributes: .*")]),
    "one of several": ("of several faults, as paths that overlap or are not defined, placeholders that nothing uses, keys that an update "
                       "is for, or expressions of a query (of which Freshet reads the key condition first), the two name different ones", [
        (r"Invalid KeyConditionExpression: .*|Either the KeyConditions or KeyConditionExpression parameter must be specified in the request\.",
         r"The table does not have the specified index: .*|Invalid (?:Filter|Projection)Expression: .*|"
         r"ExpressionAttribute(?:Names|Values) can only be .*|Value provided in ExpressionAttribute(?:Names|Values) unused .*"),
        (PLACEHOLDERS, PLACEHOLDERS),
        (r"ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName", r"Query condition missed key schema element"),
        (r"The number of query conditions \(\d+\) exceeds the number of key attributes defined in the schema \(\d+\)",
         r"Query key condition not supported"),
        (r"(Filter Expression can only contain non-primary key attributes: Primary key attribute): .*",) * 2,
        (r"(.*The function is not allowed to be used this way in an expression); function: .*",) * 2,
        (r"(.*Two document paths overlap with each other); .*",) * 2,
        (r"(.*An expression attribute (?:name|value) used in .* is not defined); .*",) * 2,
        (rf"{INVALID}Cannot update attribute \S+\. This attribute is part of the key|Key attributes must be scalars; .*",) * 2]),
    "statements": ("of a statement that is no statement Freshet says which one it is and at which place", [
        (IN_TRANSACTION + r"(?:Statement wasn't well formed, can't be processed: .*|Aliasing is not supported|Unrecognized function: .*|"
         r"Other attributes should not be present in the projection when '\*' is used\.|"
         r"Unsupported expression in the WHERE clause: .*|Unexpected path component.*|Empty bags are not supported|"
         r"A path may contain at most 2 components in the FROM clause|Unsupported (?:expression: |comparison: |data type: ).*)",
         IN_TRANSACTION + r"(?:Statement wasn't well formed, can't be processed: .*|Aliasing is not supported|Unexpected from source|"
         r"Unsupported operator in (?:Condition|Update) Expression\. .*|Unsupported data type: \S+ under key \w+ at .*|"
         r"Unsupported format in item expression\. .*|Unsupported data type in Bag\. .*|Tuple keys must be of type String\. .*|"
         r"Unsupported operation: \w+|Unsupported operation in transaction\.|Unexpected path component at .*|"
         r"The argument to NOT must be a Type or Expression|The arguments to AND/OR must be Expressions|"
         r"The left hand side argument to IS must be a Variable Reference, Literal, or Path|MISSING must be compared using IS operator|"
         r"Incorrect number of operands for operator or function; operator or function: [-+], number of operands: 1|"
         r"Incorrect operand type for operator or function; operator or function: \S+, operand type: BOOL|"
         r"Only single item select is supported|FROM clause may only contain a single table name .*|"
         r"Invalid operation\. Only select, insert, update and delete operations are valid|Empty bags are not supported .*|"
         r"EXISTS can only be used in ExecuteTransaction write requests\.)"),
        (IN_TRANSACTION + r"Unsupported (?:comparison: a condition can only equal true or false|"
         r"expression: a condition stands where a value should) at .*",
         IN_TRANSACTION + r"(?:(?:ValidationError )?Where clause does not contain a mandatory equality on all key attributes|"
         r"Select statements within (?:ExecuteTransaction|BatchExecuteStatement) must specify the primary key in the where clause\.)"),
        (r"Select statements within BatchExecuteStatement must specify the primary key in the where clause\.|Key attribute's data type .*",
         r"Only single item select is supported")]),
    "details": ("the service ends what it says of a set with a full stop, names types by their letters, says which attribute the time to "
                "live is kept in and what is wrong with a token that was used before, and has codes of its own for an item that is there "
                "(DuplicateItemException, DuplicateItem); Freshet says of a key condition which expression it stands in, and which "
                "values are not used where a projection is the only expression", [
        (r"Value provided in (ExpressionAttributeValues) unused in expressions: keys: .*",
         r"(ExpressionAttributeValues) can only be specified when using expressions: FilterExpression is null"),
        (r"Invalid KeyConditionExpression: ((?:Invalid operator used in KeyConditionExpression:|KeyConditionExpressions cannot have) .*)",
         r"((?:Invalid operator used in KeyConditionExpression:|KeyConditionExpressions cannot have) .*)"),
        (r"(Duplicate primary key exists in table)",) * 2,
        (r"(Query condition missed key schema element): .*", r"(Query condition missed key schema element)"),
        (r"(.*?)(?:One or more parameter values were invalid: )?Input collection .* contains duplicates(?:! under root|\.)",
         r"(.*?)Input collection contains duplicates"),
        (r"(.*Input collection .* contains duplicates)\.(.*)", r"(.*Input collection .* contains duplicates)(.*)"),
        (r"(.* is not supported for the type) [A-Z]+", r"(.* is not supported for the type) [A-Z_]+"),
        (r"(TimeToLive is active on a different AttributeName): .*", r"(TimeToLive is active on a different AttributeName)"),
        (r"The request was already made with this ClientRequestToken and other parameters", r"")]),
    "words of the grammar": ("both refuse a keyword that stands where a name must: as a syntax error at the keyword, or at what follows it, or "
                             "as a reserved word, or as a function that there is not", [
        (rf"(Invalid \w+Expression): (?:Syntax error; token: .*|Attribute name is a reserved keyword; reserved keyword: {WORDS}|"
         rf"Invalid function name; function: {WORDS})",
         rf"(Invalid \w+Expression): Syntax error; token: \"{WORDS}\", near: .*")]),
    "paths of an update": ("an update with several such faults names one of them", [
        (PATHS, PATHS_THERE)]),
}
