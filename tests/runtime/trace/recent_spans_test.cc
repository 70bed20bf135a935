// Spans in memory: those of one task's attempts are found with all that went on below them, and the memory is bounded.
#include "runtime/trace/recent_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/loop/sim_loop.h"
#include "runtime/trace/attempt_span.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct RecentSpansTest : testing::Test {
  SimClock clock{WallTime(seconds(1'700'000'000))};
  Random random{7};
  SimLoop sim{clock};
  Tracer tracer{sim.loop(), random};
  RecentSpans recent;

  Span attempt(const std::string& queue, const std::string& task, int64_t number = 1) {
    return begin_attempt(tracer, {}, queue, task, number);
  }
  Span below(const Span& parent, const std::string& name) {
    clock.advance(milliseconds(1));
    return tracer.begin(name, Tracer::header_of(parent));
  }
  std::vector<std::string> names(const std::string& queue, const std::string& task, size_t most = 100) const {
    std::vector<std::string> out;
    for (const Span& span : recent.of_task(queue, task, most).spans) out.push_back(span.name);
    return out;
  }
};

TEST_F(RecentSpansTest, ATaskHasItsAttemptsAndAllThatWentOnBelowThem) {
  const Span first = attempt("emails", "a");
  const Span request = below(first, "POST");
  const Span segment = below(request, "charge");
  const Span others = attempt("emails", "b");
  const Span other_request = below(others, "other POST");
  recent.take({segment, request, first, other_request, others, attempt("letters", "a")});
  EXPECT_THAT(names("emails", "a"), ElementsAre("emails attempt", "POST", "charge"));
  EXPECT_THAT(names("letters", "a"), ElementsAre("letters attempt"));
  EXPECT_THAT(names("emails", "c"), IsEmpty());
  // A call that goes on after its attempt, and what it calls.
  const Span late = below(first, "late");
  recent.take({below(late, "deep")});
  recent.take({late});
  EXPECT_THAT(names("emails", "a"), ElementsAre("emails attempt", "POST", "charge", "late", "deep"));
}

TEST_F(RecentSpansTest, TheNewestAreShownIfThereAreMany) {
  for (int i = 1; i <= 5; ++i) {
    clock.advance(seconds(1));
    recent.take({attempt("emails", "a", i)});
  }
  const auto some = recent.of_task("emails", "a", 2);
  ASSERT_EQ(some.spans.size(), 2u);
  EXPECT_TRUE(some.more);
  EXPECT_EQ(some.spans[0].attributes.back().second, "4");
  EXPECT_FALSE(recent.of_task("emails", "a", 5).more);
}

TEST_F(RecentSpansTest, OldSpansMakeRoomForNewOnes) {
  const std::string text(Tracer::kMostText, 'x');
  for (size_t i = 0; i < RecentSpans::kMostSpans + 10; ++i) recent.take({attempt("emails", std::to_string(i))});
  EXPECT_EQ(recent.count(), RecentSpans::kMostSpans);
  EXPECT_THAT(names("emails", "9"), IsEmpty());
  EXPECT_EQ(names("emails", "10").size(), 1u);
  for (size_t i = 0; i < RecentSpans::kMostSpans; ++i) {
    Span span = attempt("emails", "long");
    span.error = text;
    recent.take({span});
    ASSERT_LE(recent.bytes(), RecentSpans::kMostBytes);
  }
  EXPECT_LT(recent.count(), RecentSpans::kMostSpans);
}

TEST_F(RecentSpansTest, AnIdThatASpanCutsIsFound) {
  const std::string id(2 * Tracer::kMostText, 'i');
  tracer.add_sink(std::make_unique<RecentSpans>());  // finish() needs one to pass the span on to.
  Span span = attempt("emails", id);
  for (auto& [name, value] : span.attributes) value = std::string(Tracer::kept_of(value));
  recent.take({span});
  EXPECT_EQ(names("emails", id).size(), 1u);
}

}  // namespace
}  // namespace freshet
