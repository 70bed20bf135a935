"""Faults that are planted into a history of a fleet's clients, each with words that its judge must say."""
from fleet_history import History

LEASE_S = 5.0


class Story:
    """A history of one task: what its clients do and see, second by second. Without a fault the judge accepts it."""

    def __init__(self):
        self.history, self.now = History(), 100.0
        self.item = {"taskStatus": {"S": "PENDING"}, "taskRev": {"N": "0"}}

    def create(self, outcome="ok"):
        self.history.create_sent("Q", "t")
        self.history.created("t", outcome)

    def take(self, lease, rev, after=1.0):
        self.now += after
        self.item.update(taskRev={"N": str(rev)})
        answer = {"taskId": "t", "payload": "t", "lease": lease, "taskRev": rev}
        return self.history.taken("Q", answer, self.now, self.now + 0.01, LEASE_S)

    def settle(self, claim, outcome="complete", after=1.0):
        self.now += after
        if outcome != "heartbeat":
            self.history.settle_sent(claim, outcome, self.now)
        self.history.settled("t", claim, outcome, self.now)
        if outcome == "complete":
            rev = str(int(self.item["taskRev"]["N"]) + 1)
            self.item.update(taskStatus={"S": "SUCCESS"}, taskRev={"N": rev}, lastEnd={"S": f"{claim.lease} completed w"})

    def done(self):
        self.create()
        self.settle(self.take("a:1:1", 1))

    def judge(self):
        self.history.judge("Q", {"t": self.item} if self.item else {})


def all_is_well(story):
    story.create("unknown")
    story.create()
    first = story.take("a:1:1", 1)
    story.settle(first, "heartbeat")
    second = story.take("b:1:1", 4, LEASE_S + 1)
    story.history.settle_refused("t", first, story.now + 1)
    story.settle(second, "fail")
    story.history.life_begins("c", story.now)
    story.take("c:1:1", 6)
    story.history.life_begins("c", story.now + 0.5)  # That ends the lease.
    story.settle(story.take("c:2:1", 8))


def lose_a_task(story):
    story.create()
    story.item = None


def lose_a_task_in_work(story):
    story.create("unknown")
    story.take("a:1:1", 1)
    story.item = None


def do_what_was_refused(story):
    story.create("failed")
    story.item.update(taskStatus={"S": "SUCCESS"}, lastEnd={"S": "a:1:1 completed w"})


def invent_a_task(story):
    story.done()
    story.history.tasks["u"] = story.history.tasks.pop("t")


def leave_a_task(story):
    story.create()


def hold_twice(story):
    story.create()
    story.take("a:1:1", 1)
    story.settle(story.take("b:1:1", 3))


def hold_twice_after_a_heartbeat(story):
    story.create()
    story.settle(story.take("a:1:1", 1), "heartbeat", LEASE_S - 0.5)
    story.settle(story.take("b:1:1", 4))


def hold_twice_by_rev(story):
    story.create()
    story.take("a:1:1", 1)
    story.settle(story.take("b:1:1", 2, LEASE_S + 1))


def go_back_by_rev(story):
    story.create()
    story.take("a:1:1", 5)
    story.settle(story.take("b:1:1", 1, LEASE_S + 1))


def give_a_lease_twice(story):
    story.create()
    story.take("a:1:1", 1)
    story.settle(story.take("a:1:1", 3, LEASE_S + 1))


def let_a_stale_holder_settle(story):
    story.create()
    first = story.take("a:1:1", 1)
    story.take("b:1:1", 3, LEASE_S + 1)
    story.settle(first)


def complete_twice(story):
    story.done()
    story.settle(story.take("b:1:1", 4, LEASE_S + 1))


def refuse_a_holder(story):
    story.done()
    story.history.settle_refused("t", story.history.tasks["t"].claims[0], 101.5)


def lose_a_completion(story):
    story.done()
    story.item.update(lastEnd={"S": "b:1:1 completed w"})


WRONG = {lose_a_task: "was acknowledged, and is lost", lose_a_task_in_work: "was given out, and is lost",
         do_what_was_refused: "was refused",
         invent_a_task: "nobody created it", leave_a_task: "has not ended", hold_twice: "two workers hold",
         hold_twice_after_a_heartbeat: "two workers hold", hold_twice_by_rev: "valid by rev", go_back_by_rev: "has a lower rev",
         give_a_lease_twice: "have one lease", let_a_stale_holder_settle: "a stale holder's", complete_twice: "given out again",
         refuse_a_holder: "refused within its lease", lose_a_completion: "its last end is"}


def the_judge_can_fail():
    """The judge finds every planted fault, and nothing where there is none."""
    for plant, said in {all_is_well: None, Story.done: None, **WRONG}.items():
        story = Story()
        plant(story)
        try:
            story.judge()
            found = None
        except AssertionError as error:
            found = str(error)
        assert (found is None) if said is None else said in str(found), f"{plant.__name__}: {found}"
