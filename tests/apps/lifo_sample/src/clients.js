"use strict";

const AWSXRay = require("aws-xray-sdk");
const { DynamoDBClient } = require("@aws-sdk/client-dynamodb");
const { SNSClient } = require("@aws-sdk/client-sns");

exports.dynamodb = AWSXRay.captureAWSv3Client(new DynamoDBClient({}));
exports.sns = AWSXRay.captureAWSv3Client(new SNSClient({}));

exports.log = (what, more = {}) => console.log(JSON.stringify({ what, ...more }));
exports.setting = (name, usual) => Number(process.env[name] || usual);
