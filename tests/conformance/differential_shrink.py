"""Makes a difference small: the requests before it that it does not need go, then what its bodies do not need."""
TRIES = 400


def smaller(value):
    """Values that are a step smaller than this one."""
    if isinstance(value, dict):
        for name in value:
            yield {other: held for other, held in value.items() if other != name}
        for name, held in value.items():
            for less in smaller(held):
                yield {**value, name: less}
    elif isinstance(value, list):
        for place in range(len(value)):
            yield value[:place] + value[place + 1:]
        for place, held in enumerate(value):
            for less in smaller(held):
                yield value[:place] + [less] + value[place + 1:]
    elif isinstance(value, str) and " " in value:
        words = value.split(" ")
        for size in (len(words) // 2, 4, 3, 2, 1):
            for place in range(0, len(words) - size + 1) if size else ():
                yield " ".join(words[:place] + words[place + size:])


def shrink(found, run):
    """`run` gives the first difference of requests on fresh tables, or None. What is left is of the same kind."""
    kind = found.kind()
    tries = TRIES

    def still(requests):
        nonlocal tries
        if tries <= 0:
            return None
        tries -= 1
        again = run(requests)
        return again if again and again.kind() == kind else None

    best = _drop(still(found.requests()) or found, still)
    changed = True
    while changed and tries > 0:
        changed = False
        requests = best.requests()
        for place in range(len(requests) - 1, -1, -1):
            operation, body = requests[place]
            for less in smaller(body):
                if tries <= 0:
                    break
                again = still(requests[:place] + [(operation, less)] + requests[place + 1:])
                if again:
                    best, changed = again, True
                    break
            if changed:
                break
    return best


def _drop(best, still):
    """Halves, quarters, … of the requests before it go."""
    size = len(best.before) // 2
    while size:
        place = 0
        while place < len(best.before):
            requests = best.requests()
            again = still(requests[:place] + requests[place + size:])
            if again and len(again.before) < len(best.before):
                best = again
            else:
                place += size
        size //= 2
    return best
