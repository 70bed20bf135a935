// The scenario of languages_test.py with the AWS SDK for Go 2, at the endpoint of AWS_ENDPOINT_URL.
package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
)

const table = "from-go"

var (
	nothing  = context.Background()
	settings = aws.Config{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(os.Getenv("AWS_ENDPOINT_URL")),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "conformance", SecretAccessKey: "conformance"}, nil
		}),
	}
)

func must[T any](result T, err error) T {
	if err != nil {
		log.Panic(err)
	}
	return result
}

func check(wanted, got any) {
	if !reflect.DeepEqual(wanted, got) {
		log.Panicf("wanted %v, got %v", wanted, got)
	}
}

func fails[T error](_ any, err error) T {
	var kind T
	if !errors.As(err, &kind) {
		log.Panicf("wanted %T, got %v", kind, err)
	}
	return kind
}

type item = map[string]types.AttributeValue

func s(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }

func n(number int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(number)}
}

func task(number int) item {
	return item{"id": s(fmt.Sprint("t", number)), "status": s("PENDING"), "created": n(number),
		"bytes": &types.AttributeValueMemberB{Value: []byte{0, 255}}}
}

func key(name string, kind types.KeyType) types.KeySchemaElement {
	return types.KeySchemaElement{AttributeName: aws.String(name), KeyType: kind}
}

func create(store *dynamodb.Client) string {
	attribute := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: kind}
	}
	made := must(store.CreateTable(nothing, &dynamodb.CreateTableInput{
		TableName: aws.String(table), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{attribute("id", "S"), attribute("status", "S"), attribute("created", "N")},
		KeySchema:            []types.KeySchemaElement{key("id", "HASH")},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{IndexName: aws.String("by-status"),
			KeySchema:  []types.KeySchemaElement{key("status", "HASH"), key("created", "RANGE")},
			Projection: &types.Projection{ProjectionType: "ALL"}}},
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: "NEW_AND_OLD_IMAGES"}}))
	waiter := dynamodb.NewTableExistsWaiter(store)
	if err := waiter.Wait(nothing, &dynamodb.DescribeTableInput{TableName: aws.String(table)}, time.Minute); err != nil {
		log.Panic(err)
	}
	return *made.TableDescription.LatestStreamArn
}

func items(store *dynamodb.Client) {
	for i := range 5 {
		must(store.PutItem(nothing, &dynamodb.PutItemInput{TableName: aws.String(table), Item: task(i)}))
	}
	got := must(store.GetItem(nothing, &dynamodb.GetItemInput{TableName: aws.String(table), Key: item{"id": s("t3")},
		ConsistentRead: aws.Bool(true)}))
	check(task(3), got.Item)
	pages := dynamodb.NewQueryPaginator(store, &dynamodb.QueryInput{TableName: aws.String(table), IndexName: aws.String("by-status"),
		Limit: aws.Int32(2), ScanIndexForward: aws.Bool(false), KeyConditionExpression: aws.String("#s = :s"),
		ExpressionAttributeNames:  map[string]string{"#s": "status"},
		ExpressionAttributeValues: item{":s": s("PENDING")}})
	var found []string
	for pages.HasMorePages() {
		for _, one := range must(pages.NextPage(nothing)).Items {
			found = append(found, one["id"].(*types.AttributeValueMemberS).Value)
		}
	}
	check([]string{"t4", "t3", "t2", "t1", "t0"}, found)
	refused := fails[*types.ConditionalCheckFailedException](store.UpdateItem(nothing, &dynamodb.UpdateItemInput{
		TableName: aws.String(table), Key: item{"id": s("t0")}, UpdateExpression: aws.String("SET created = :c"),
		ConditionExpression: aws.String("attribute_not_exists(id)"), ExpressionAttributeValues: item{":c": n(9)},
		ReturnValuesOnConditionCheckFailure: "ALL_OLD"}))
	check("The conditional request failed", refused.ErrorMessage())
	check(task(0), refused.Item)
	fails[*types.ResourceNotFoundException](store.DescribeTable(nothing, &dynamodb.DescribeTableInput{TableName: aws.String("none")}))
}

func transactions(store *dynamodb.Client) {
	put := func(number int, condition *string) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{TableName: aws.String(table), Item: task(number), ConditionExpression: condition}}
	}
	isNew := aws.String("attribute_not_exists(id)")
	must(store.TransactWriteItems(nothing, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{put(5, nil), put(6, isNew)}}))
	cancelled := fails[*types.TransactionCanceledException](store.TransactWriteItems(nothing, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{put(7, nil), put(6, isNew)}}))
	check("None", *cancelled.CancellationReasons[0].Code)
	check("ConditionalCheckFailed", *cancelled.CancellationReasons[1].Code)
	check(int32(7), must(store.Scan(nothing, &dynamodb.ScanInput{TableName: aws.String(table)})).Count)
	must(store.DeleteItem(nothing, &dynamodb.DeleteItemInput{TableName: aws.String(table), Key: item{"id": s("t6")}}))
}

func stream(arn string) {
	streams := dynamodbstreams.NewFromConfig(settings)
	shards := must(streams.DescribeStream(nothing, &dynamodbstreams.DescribeStreamInput{StreamArn: aws.String(arn)})).StreamDescription.Shards
	place := must(streams.GetShardIterator(nothing, &dynamodbstreams.GetShardIteratorInput{StreamArn: aws.String(arn),
		ShardId: shards[0].ShardId, ShardIteratorType: "TRIM_HORIZON"})).ShardIterator
	var records []streamtypes.Record
	for len(records) < 8 {
		page := must(streams.GetRecords(nothing, &dynamodbstreams.GetRecordsInput{ShardIterator: place, Limit: aws.Int32(3)}))
		records = append(records, page.Records...)
		place = page.NextShardIterator
	}
	check(streamtypes.OperationTypeInsert, records[0].EventName)
	check("t0", records[0].Dynamodb.NewImage["id"].(*streamtypes.AttributeValueMemberS).Value)
	check(streamtypes.OperationTypeRemove, records[7].EventName)
	check("t6", records[7].Dynamodb.OldImage["id"].(*streamtypes.AttributeValueMemberS).Value)
}

func topic() {
	client := sns.NewFromConfig(settings)
	arn := *must(client.CreateTopic(nothing, &sns.CreateTopicInput{Name: aws.String("news")})).TopicArn
	sent := must(client.Publish(nothing, &sns.PublishInput{TopicArn: aws.String(arn), Message: aws.String(table), Subject: aws.String("<ä> & 'b'"),
		MessageAttributes: map[string]snstypes.MessageAttributeValue{
			"kind": {DataType: aws.String("String"), StringValue: aws.String("a")}}}))
	check(36, len(*sent.MessageId))
	fails[*snstypes.NotFoundException](client.Publish(nothing, &sns.PublishInput{TopicArn: aws.String(arn + "-none"), Message: aws.String("x")}))
}

func functions() {
	client := lambda.NewFromConfig(settings)
	echo := aws.String("Echo")
	answer := must(client.Invoke(nothing, &lambda.InvokeInput{FunctionName: echo, Payload: []byte(`{"n": 1}`), LogType: "Tail"}))
	check(`{"n": 1}`, string(answer.Payload))
	check(true, strings.Contains(string(must(base64.StdEncoding.DecodeString(*answer.LogResult))), "seen"))
	failed := must(client.Invoke(nothing, &lambda.InvokeInput{FunctionName: echo, Payload: []byte("{}")}))
	check("Unhandled", *failed.FunctionError)
	event := must(client.Invoke(nothing, &lambda.InvokeInput{FunctionName: echo, InvocationType: "Event", Payload: []byte(`{"n": 2}`)}))
	check(int32(202), event.StatusCode)
	fails[*lambdatypes.ResourceNotFoundException](client.Invoke(nothing, &lambda.InvokeInput{FunctionName: aws.String("Nobody")}))
}

func main() {
	store := dynamodb.NewFromConfig(settings)
	arn := create(store)
	items(store)
	transactions(store)
	stream(arn)
	topic()
	functions()
	fmt.Println("done")
}
