// The functions of tests/ui/shop.yaml.
exports.receipt = async (event) => {
  for (const { dynamodb } of event.Records) {
    const { customer, number } = dynamodb.Keys;
    console.log(`receipt for order ${number.N} of ${customer.S}`);
  }
};

exports.mail = async (event) => {
  const message = event.Records ? event.Records[0].Sns.Message : JSON.stringify(event);
  console.log(`mail: ${message}`);
  if (message.includes('no server')) throw new Error(`the mail server does not answer: ${message}`);
};

exports.report = async (event) => {
  console.log(`report of ${event.hours ?? 24} hours (${event['detail-type'] ?? 'by hand'})`);
  return { orders: 12 };
};

exports.price = async (event) => {
  console.log(`price of ${event.pieces} pieces`);
  if (!(event.pieces > 0)) throw new RangeError(`an order has pieces, and not ${event.pieces}`);
  return { pieces: event.pieces, price: (event.pieces * 1990) / 100, note: event.note };
};
