// JSON whose numbers stay as they were written. The item store has numbers of 38 digits; a browser's have 15.

export class Exact {
  constructor(text) {
    this.text = text;
  }
}

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\]|\\.)*"/y;

// Objects become Maps, so that no member name means anything to JavaScript.
export function parseExact(text) {
  let at = 0;
  const fail = () => {
    throw new SyntaxError(`not JSON at ${at}`);
  };
  const skip = () => {
    while (' \n\r\t'.includes(text[at]) && at < text.length) ++at;
  };
  const match = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (!found) fail();
    at += found[0].length;
    return found[0];
  };
  const expect = (character) => {
    skip();
    if (text[at] !== character) fail();
    ++at;
  };
  const several = (end, one) => {
    ++at;
    skip();
    if (text[at] === end) return ++at;
    for (;;) {
      one();
      skip();
      if (text[at] === end) return ++at;
      expect(',');
    }
  };
  const value = () => {
    skip();
    const first = text[at];
    if (first === '{') {
      const out = new Map();
      several('}', () => {
        skip();
        const name = JSON.parse(match(STRING));
        expect(':');
        out.set(name, value());
      });
      return out;
    }
    if (first === '[') {
      const out = [];
      several(']', () => out.push(value()));
      return out;
    }
    if (first === '"') return JSON.parse(match(STRING));
    for (const [word, meaning] of [['true', true], ['false', false], ['null', null]]) {
      if (text.startsWith(word, at)) {
        at += word.length;
        return meaning;
      }
    }
    return new Exact(match(NUMBER));
  };
  const out = value();
  skip();
  if (at !== text.length) fail();
  return out;
}

export function writeExact(value, indent = 2, depth = 0) {
  const pad = indent ? `\n${' '.repeat(indent * (depth + 1))}` : '';
  const end = indent ? `\n${' '.repeat(indent * depth)}` : '';
  if (value instanceof Exact) return value.text;
  if (value instanceof Map) {
    if (value.size === 0) return '{}';
    const members = [...value].map(
      ([name, one]) => `${pad}${JSON.stringify(name)}:${indent ? ' ' : ''}${writeExact(one, indent, depth + 1)}`,
    );
    return `{${members.join(',')}${end}}`;
  }
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return `[${value.map((one) => pad + writeExact(one, indent, depth + 1)).join(',')}${end}]`;
  }
  return JSON.stringify(value);
}

// A number for comparisons and times.
export function numberOf(value) {
  return value instanceof Exact ? Number(value.text) : null;
}
