// Reads the XML of the topics' API: elements and text, no attributes that mean anything. The page's policy lets the
// browser's own parser not make documents of text.

const NAMED = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

// Text without character references.
export function plain(text) {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name) return NAMED[name] ?? whole;
    const code = hex ? parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

// { name, text, children }: the whole document is the only child of a root without a name.
export function parseXml(document) {
  const root = { name: '', text: '', children: [] };
  const open = [root];
  for (const [, end, name, alone, text] of document.matchAll(/<(\/?)([\w:.-]+)[^>]*?(\/?)>|<[?!][^>]*>|([^<]+)/g)) {
    const now = open.at(-1);
    if (text !== undefined) {
      now.text += plain(text);
    } else if (end) {
      if (now.name !== name || open.length === 1) throw new SyntaxError(`the element ${name} ends and had not begun`);
      open.pop();
    } else if (name) {
      const element = { name, text: '', children: [] };
      now.children.push(element);
      if (!alone) open.push(element);
    }
  }
  if (open.length > 1) throw new SyntaxError(`the element ${open.at(-1).name} does not end`);
  return root;
}

// The first element of that name, at any depth.
export function find(element, name) {
  if (element.name === name) return element;
  for (const child of element.children) {
    const found = find(child, name);
    if (found) return found;
  }
  return null;
}

// The `member` elements of the list of that name as objects of their texts.
export function members(document, list) {
  return (find(document, list)?.children ?? []).map((member) => Object.fromEntries(member.children.map((one) => [one.name, one.text])));
}
