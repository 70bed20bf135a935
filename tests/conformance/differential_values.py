"""Random attribute values and expressions for differential.py: from few words, so that requests meet each other's items."""
import base64
import decimal

ATTRIBUTES = ("a", "b", "n", "s", "list", "m", "ss", "ns", "bs", "g1", "g2", "r1", "nothing", "name", "ttl")
INDEX_KEYS = {"g1": "S", "g2": "N", "r1": "N"}  # With the type that they are keys with.
TEXTS = ("", "a", "b", "ab", "abc", "B", "é", "日本", "a b", "\U0001f600", "0", "x" * 40)
NUMBERS = ("0", "1", "-1", "2", "3", "10", "1.5", "-0", "0.10", "1e2", "100", "1E-5", "123456789012345678901234567890",
           "12345678901234567890123456789012345678", "0.00000000000000000001", "1E125", "-9.9E125", "1E-130")
BAD_NUMBERS = ("", "x", "1E126", "1E-131", "123456789012345678901234567890123456789", "0x1", "1 ", " 1", "+1", "NaN", "1e")
BYTES = tuple(base64.b64encode(raw).decode() for raw in (b"", b"a", b"b", b"\x00", b"\xff\xfe", b"ab", b"a" * 30))
TYPES = ("S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M")


class Values:
    """Values from a source of random numbers (random.Random)."""

    def __init__(self, chance):
        self.chance = chance
        self.faulty = False

    def often(self, share):
        return self.chance.random() < share

    def fault(self, share):
        """True if a fault should be made here, in that share of the requests. A request has one fault at most: the
        order in which two are reported says little about either."""
        made = not self.faulty and self.often(share)
        self.faulty = self.faulty or made
        return made

    def pick(self, some):
        return some[self.chance.randrange(len(some))]

    def some(self, of, least, most):
        count = self.chance.randint(least, most)
        return self.chance.sample(list(of), min(count, len(of)))

    def of_type(self, kind, depth=2):
        if kind == "S":
            return {"S": self.pick(TEXTS)}
        if kind == "N":
            return {"N": self.pick(NUMBERS[:9] if self.often(0.8) else NUMBERS)}
        if kind == "B":
            return {"B": self.pick(BYTES)}
        if kind == "BOOL":
            return {"BOOL": self.often(0.5)}
        if kind == "NULL":
            return {"NULL": True}
        if kind == "SS":
            return {"SS": self.some(TEXTS[1:], 1, 3)}
        if kind == "NS":
            return {"NS": self.some(("0", "1", "-1", "2", "3", "10", "1.5"), 1, 3)}
        if kind == "BS":
            return {"BS": self.some(BYTES[1:], 1, 3)}
        if kind == "L":
            return {"L": [self.value(depth - 1) for _ in range(self.chance.randint(0, 3))]}
        return {"M": {name: self.value(depth - 1) for name in self.some(("a", "b", "n", "list", "m"), 0, 3)}}

    def value(self, depth=2):
        return self.of_type(self.pick(TYPES if depth > 0 else TYPES[:8]), depth)

    def bad_value(self):
        return self.pick((
            {"N": self.pick(BAD_NUMBERS)}, {"SS": []}, {"NS": ["1", "1"]}, {"SS": ["a", "a"]}, {"NULL": False},
            {"NS": ["1", "1.0"]}, {"BS": []}, {"S": "a", "N": "1"}, {}, {"NS": [self.pick(BAD_NUMBERS)]},
            {"L": [{"N": "x"}]}, {"M": {"a": {"SS": []}}}, {"X": "1"}, {"N": 1}, {"S": 1}, {"BOOL": "true"}, {"L": {}},
            {"M": []}, {"B": "?"}))

    def attribute(self, name):
        """A value that fits the name in most items."""
        fits = {"a": "S", "b": "B", "n": "N", "s": "S", "list": "L", "m": "M", "ss": "SS", "ns": "NS", "bs": "BS", "name": "S",
                "ttl": "N"}
        if name in INDEX_KEYS:
            if self.fault(0.01):
                return self.value()
            return {"S": self.pick(TEXTS[1:])} if name == "g1" else {"N": self.pick(("0", "1", "-1", "2", "10", "1.5"))}
        return self.of_type(fits.get(name, "S")) if self.often(0.8) else self.value()


class Expressions(Values):
    """Expressions with the names and values that they use. `names` and `values` belong to the request."""

    def __init__(self, chance):
        super().__init__(chance)
        self.clear()

    def clear(self):
        self.names, self.values = {}, {}

    def word(self, name):
        """The name itself, or a placeholder for it."""
        if (self.fault(0.01) if name in ("list", "name", "ttl") else self.often(0.6)):
            return name
        for short, full in self.names.items():
            if full == name:
                return short
        short = f"#{name[:2]}{len(self.names)}"
        self.names[short] = name
        return short

    def path(self, of=ATTRIBUTES):
        name = self.pick(of)
        text = self.word(name)
        if name == "list" or self.often(0.05) and name not in INDEX_KEYS:
            if self.often(0.6):
                text += f"[{self.chance.randint(0, 4)}]"
        elif name == "m" or self.often(0.05) and name not in INDEX_KEYS:
            if self.often(0.7):
                text += "." + self.word(self.pick(("a", "b", "n", "list", "m")))
                if self.often(0.2):
                    text += self.pick(("[0]", "[1]", ".a", ".b"))
        return text

    def literal(self, kind=None):
        if self.fault(0.005):
            return ":undefined"
        value = self.bad_value() if self.fault(0.005) else self.of_type(kind) if kind else self.value()
        short = f":v{len(self.values)}"
        self.values[short] = value
        return short

    def operand(self, kinds=("S", "N", "B", "BOOL", "SS", "L", None), but=None):
        """A value or a path; not the path `but`, which an operator wants to differ from."""
        if self.often(0.5):
            return self.literal(self.pick(kinds))
        if but and self.fault(0.02):
            return but
        path = self.path([name for name in ATTRIBUTES if name != self.root(but)])
        return path if self.often(0.9) else f"size({path})"

    def root(self, path):
        """The name of the attribute that a path begins with."""
        word = (path or "").split(".")[0].split("[")[0]
        return self.names.get(word, word)

    def bounds(self):
        """Two values of one type in their order."""
        kind = self.pick("SNB")
        lower, upper = self.of_type(kind)[kind], self.of_type(kind)[kind]
        rank = {"S": lambda text: text.encode(), "N": decimal.Decimal, "B": base64.b64decode}[kind]
        if rank(lower) > rank(upper) and not self.fault(0.05):
            lower, upper = upper, lower
        one, two = f":v{len(self.values)}", f":v{len(self.values) + 1}"
        self.values[one], self.values[two] = {kind: lower}, {kind: upper} if not self.fault(0.03) else self.value()
        return f"{one} AND {two}"

    def comparison(self):
        roll = self.chance.random()
        if roll < 0.4:
            path, operator = self.path(), self.pick(("=", "<>", "<", "<=", ">", ">="))
            every = operator in ("=", "<>") or self.fault(0.03)
            return f"{path} {operator} {self.operand(but=path) if every else self.operand('SNB', path)}"
        if roll < 0.5:
            return f"{self.operand('SNB')} BETWEEN {self.bounds()}"
        if roll < 0.6:
            first = self.path()
            return f"{first} IN ({', '.join(self.operand(but=first) for _ in range(self.chance.randint(1, 3)))})"
        if roll < 0.72:
            return f"{self.pick(('attribute_exists', 'attribute_not_exists'))}({self.path()})"
        if roll < 0.8:
            kind = self.literal()
            if kind in self.values:
                self.values[kind] = {"S": "X" if self.fault(0.03) else self.pick(TYPES)}
            return f"attribute_type({self.path()}, {kind})"
        if roll < 0.9:
            return f"begins_with({self.path()}, {self.literal('N' if self.fault(0.03) else self.pick('SSSB'))})"
        return f"contains({self.path()}, {self.literal(self.pick(('S', 'N', 'B', 'S', None)))})"

    def condition(self, depth=2):
        roll = self.chance.random()
        if depth == 0 or roll < 0.5:
            return self.comparison()
        if roll < 0.6:
            return f"NOT {self.condition(depth - 1)}"
        if roll < 0.75:
            inner = self.condition(depth - 1)
            return inner if inner.startswith("(") else f"({inner})"
        return f"{self.condition(depth - 1)} {self.pick(('AND', 'OR', 'and'))} {self.condition(depth - 1)}"

    def assigned(self, name):
        kind = INDEX_KEYS.get(name)
        if kind and not self.fault(0.05):  # Any other type is a fault.
            short = self.literal(kind)
            if short in self.values:
                self.values[short] = self.attribute(name)
            return short
        roll = self.chance.random()
        if roll < 0.5:
            return self.literal()
        if roll < 0.6:
            return self.path()
        if roll < 0.8:
            return f"{self.value_of('n')} {self.pick('+-')} {self.literal(None if self.fault(0.03) else 'N')}"
        if roll < 0.9:
            path = self.path()
            return f"if_not_exists({path}, {self.operand(but=path).removeprefix('size(').removesuffix(')')})"
        return f"list_append({self.value_of('list')}, {self.literal(None if self.fault(0.03) else 'L')})"

    def value_of(self, name):
        plain = self.word(name)
        return f"if_not_exists({plain}, {self.literal('N' if name == 'n' else 'L')})" if self.often(0.4) else plain

    def clause(self, name):
        """A clause and what stands in it for this attribute."""
        fits = {"n": "N", "ss": "SS", "ns": "NS", "bs": "BS", **INDEX_KEYS}.get(name)
        kind = self.pick(("SET", "SET", "SET", "REMOVE", "ADD", "DELETE"))
        path = self.path((name,))
        if kind == "SET":
            return kind, f"{path} = {self.assigned(name)}"
        if kind == "REMOVE" or name in INDEX_KEYS and (kind == "DELETE" or fits != "N") and not self.fault(0.05):
            return "REMOVE", path
        kinds = ("SS", "NS", "BS", *(("N",) if kind == "ADD" else ()))
        if self.fault(0.03):
            return kind, f"{path} {self.literal()}"
        return kind, f"{path} {self.literal(fits if fits in kinds else self.pick(kinds))}"

    def update(self, attributes=ATTRIBUTES):
        clauses = {}
        for name in self.some(attributes, 1, 3):
            kind, text = self.clause(name)
            clauses.setdefault(kind, []).append(text)
        return " ".join(f"{kind if self.often(0.9) else kind.lower()} {', '.join(some)}" for kind, some in clauses.items())

    def projection(self):
        some = [self.path((name,)) for name in self.some(ATTRIBUTES, 1, 3)]
        if self.fault(0.02):
            some.append(some[0])
        return ", ".join(some)

    def spoiled(self, text, parentheses=True):
        """The text with a fault in it."""
        words = text.split(" ")
        place = self.chance.randrange(len(words))
        roll = self.chance.randrange(5)
        if roll == 0:
            del words[place]
        elif roll == 1:
            words.insert(place, self.pick(("AND", ")", "(", ",", "=", "NOT", "#undefined", "size", "+", "SET", "x")))
        elif roll == 2:
            words[place] = self.pick(("=", ")", "BETWEEN", "unknown(a)", ":undefined", "#undefined", "a.b.c", "?", "'a'"))
        elif roll == 3 and parentheses:
            return f"(({text}))"
        else:
            words.append(words[place])
        return " ".join(words)
