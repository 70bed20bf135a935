"""Random statements of PartiQL for differential_requests.py."""
from differential_values import ATTRIBUTES

NAMES = ("a", "n", "s", "m", "g1", "g2", "ss")


class Statements:
    """`source` makes the values and knows the tables (Requests)."""

    def __init__(self, source):
        self.source = source

    def literal(self, value, parameters):
        """The value as a literal or as a parameter."""
        (kind, held), = value.items()
        if kind in ("B", "BS") or isinstance(held, int) and kind in "SN" or self.source.often(0.5):
            parameters.append(value)
            return "?"
        return self.text(kind, held, parameters)

    def text(self, kind, held, parameters):
        if kind == "S":
            return "'" + held.replace("'", "''") + "'"
        if kind == "N":
            return held
        if kind == "BOOL":
            return str(held).lower()
        if kind == "NULL":
            return "NULL"
        if kind == "SS":
            return "<<" + ", ".join(f"'{one}'" for one in held) + ">>"
        if kind == "NS":
            return "<<" + ", ".join(held) + ">>"
        parameters.append({kind: held})
        return "?"

    def key(self, key, parameters):
        if key and self.source.fault(0.02):
            key = dict(list(key.items())[:-1])
        parts = [f"{name} = {self.literal(value, parameters)}" for name, value in key.items() if len(value) == 1]
        return " AND ".join(parts) or "pk = 'a'"

    def condition(self, parameters):
        source = self.source
        name = source.pick(NAMES)
        roll = source.chance.randrange(8)
        if roll < 3:
            operator = source.pick(("=", "<>", "<", ">", "<=", ">="))
            every = operator in ("=", "<>") or source.fault(0.05)
            value = source.attribute(name) if every else source.of_type(source.pick("SN"))
            return f"{name} {operator} {self.literal(value, parameters)}"
        if roll == 3:
            return f"{name} IS {source.pick(('MISSING', 'NOT MISSING', 'NULL'))}"
        if roll == 4:
            lower, upper = sorted(source.some(("0", "1", "2", "3", "10"), 2, 2), key=int)
            return f"n BETWEEN {self.literal({'N': lower}, parameters)} AND {self.literal({'N': upper}, parameters)}"
        if roll == 5:
            return f"s IN [{', '.join(self.literal(source.of_type('S'), parameters) for _ in range(2))}]"
        if roll == 6:
            return f"begins_with(s, {self.literal(source.of_type('S'), parameters)})"
        return f"contains({source.pick(('s', 'ss'))}, {self.literal(source.of_type('S'), parameters)})"

    def select(self, table, parameters, key, by_key):
        source = self.source
        columns = source.pick(("*", "*", "a", "pk, n", "m.a", "a, s"))
        text = f'SELECT {columns} FROM "{table.name}"'
        if by_key:
            return f"{text} WHERE {self.key(key, parameters)}"
        parts = []
        if source.often(0.6):
            parts.append(self.key(key, parameters))
        if source.often(0.5):
            parts.append(self.condition(parameters))
        return text + (f" WHERE {' AND '.join(parts)}" if parts else "")

    def insert(self, table, parameters, key, _):
        item = {**self.source.item(table), **key}
        held = [f"'{name}': {self.literal(value, parameters) if len(value) == 1 else '1'}" for name, value in item.items()]
        return f'INSERT INTO "{table.name}" VALUE {{{", ".join(held)}}}'

    def update(self, table, parameters, key, whole):
        source = self.source
        changes = []
        for name in source.some(NAMES, 1, 2):
            roll = source.chance.randrange(4)
            if roll < 2:
                changes.append(f"SET {name} = {self.literal(source.attribute(name), parameters)}")
            elif roll == 2 or name != "n":
                changes.append(f"REMOVE {name}")
            else:
                changes.append(f"SET n = n + {self.literal(source.of_type('N'), parameters)}")
        text = f'UPDATE "{table.name}" {" ".join(changes)} WHERE {self.key(key, parameters)}'
        if source.often(0.2):
            text += f" AND {self.condition(parameters)}"
        if source.often(0.3) and (not whole or source.fault(0.05)):
            text += f" RETURNING {source.pick(('ALL', 'MODIFIED'))} {source.pick(('OLD', 'NEW'))} *"
        return text

    def delete(self, table, parameters, key, whole):
        text = f'DELETE FROM "{table.name}" WHERE {self.key(key, parameters)}'
        if self.source.often(0.2):
            text += f" AND {self.condition(parameters)}"
        if self.source.often(0.3) and (not whole or self.source.fault(0.05)):
            text += " RETURNING ALL OLD *"
        return text

    def one(self, make, table, key, whole):
        """A statement. `whole`: one of several, which must name one item and return nothing."""
        parameters = []
        text = make(table, parameters, key, whole)
        if self.source.fault(0.02):
            text = self.source.spoiled(text, parentheses=False)
        return {"Statement": text, **({"Parameters": parameters} if parameters else {})}

    def writing(self):
        return self.source.pick((self.insert, self.update, self.delete))

    def statement(self):
        table = self.source.table()
        make = self.select if self.source.often(0.4) else self.writing()
        return "ExecuteStatement", self.one(make, table, self.source.key(table), False)

    def several(self, most):
        reading = self.source.often(0.4)
        return [self.one(self.select if reading else self.writing(), *place, True) for place in self.source.distinct(1, most)]

    def batch(self):
        return "BatchExecuteStatement", {"Statements": self.several(4)}

    def transaction(self):
        return "ExecuteTransaction", {"TransactStatements": self.several(4)}


assert set(NAMES) <= set(ATTRIBUTES)
