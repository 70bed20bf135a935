// Calls of the item store, and its items as plain JSON. Numbers keep all their digits: the store has 38, a browser 15.
import { ask } from './api.js';
import { Exact, parseExact } from './exact.js';

export const PAGE = 50;

// `input`: an object. Gives the answer with Maps for objects.
export async function itemStore(operation, input, signal) {
  const headers = { 'Content-Type': 'application/x-amz-json-1.0', 'X-Amz-Target': `DynamoDB_20120810.${operation}` };
  return parseExact((await ask('POST', '/', input, { signal, headers })).text);
}

// An attribute as the store sends it, {"N": "12"}, as the value that it stands for. Sets become lists, bytes Base64.
export function plainOf(attribute) {
  const [[type, value]] = attribute;
  if (type === 'N') return new Exact(value);
  if (type === 'NS') return value.map((one) => new Exact(one));
  if (type === 'M') return plainItem(value);
  if (type === 'L') return value.map(plainOf);
  return type === 'NULL' ? null : value;
}
export function plainItem(item) {
  return new Map([...item].map(([name, attribute]) => [name, plainOf(attribute)]));
}

// The other way: what somebody typed, as an attribute of that type of a key.
export const attributeOf = (type, text) => ({ [type]: text.trim() });

// { name, items, bytes, keys: [{ name, type }], indexes: [{ name, keys, items }], stream }
export function describe(answer) {
  const table = answer.get('Table');
  const types = new Map((table.get('AttributeDefinitions') ?? []).map((one) => [one.get('AttributeName'), one.get('AttributeType')]));
  const keysOf = (of) => of.get('KeySchema').map((one) => ({ name: one.get('AttributeName'), type: types.get(one.get('AttributeName')) }));
  const number = (of, name) => Number(of.get(name)?.text ?? 0);
  const indexes = [...(table.get('GlobalSecondaryIndexes') ?? []), ...(table.get('LocalSecondaryIndexes') ?? [])];
  return {
    name: table.get('TableName'),
    state: table.get('TableStatus'),
    items: number(table, 'ItemCount'),
    bytes: number(table, 'TableSizeBytes'),
    keys: keysOf(table),
    indexes: indexes.map((one) => ({ name: one.get('IndexName'), keys: keysOf(one), items: number(one, 'ItemCount') })),
    stream: table.get('StreamSpecification')?.get('StreamViewType') ?? null,
  };
}
export async function describeTable(name, signal) {
  return describe(await itemStore('DescribeTable', { TableName: name }, signal));
}

// The key of an item, as text for an address.
export function keyText(item, keys) {
  return JSON.stringify(Object.fromEntries(keys.map(({ name }) => [name, Object.fromEntries(item.get(name))])));
}

// Objects of a Map of the store's, as requests have them: they hold texts, flags, lists and one another.
export function objectOf(value) {
  if (value instanceof Map) return Object.fromEntries([...value].map(([name, one]) => [name, objectOf(one)]));
  return Array.isArray(value) ? value.map(objectOf) : value;
}
