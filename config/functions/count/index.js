// Says how often each one has been greeted by now.
exports.handler = async (event) => {
  for (const { dynamodb } of event.Records) {
    const { name, greeted } = dynamodb.NewImage ?? {};
    if (name) console.log(`${name.S} was greeted ${greeted.N} times`);
  }
  return { seen: event.Records.length };
};
