#include "runtime/trace/recent_spans.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "runtime/trace/attempt_span.h"

namespace freshet {
namespace {

size_t bytes_of(const Span& span) {
  size_t out = sizeof(Span) + span.trace_id.size() + span.span_id.size() + span.parent_id.size() + span.name.size() +
               span.kind.size() + span.error.size();
  for (const auto& [name, value] : span.attributes) {
    out += sizeof(span.attributes[0]) + name.size() + value.size();
  }
  return out;
}

}  // namespace

void RecentSpans::take(const std::vector<Span>& spans) {
  for (const Span& span : spans) {
    bytes_ += bytes_of(span);
    spans_.push_back(span);
    while (spans_.size() > kMostSpans || bytes_ > kMostBytes) {
      bytes_ -= bytes_of(spans_.front());
      spans_.pop_front();
    }
  }
}

RecentSpans::OfTask RecentSpans::of_task(std::string_view queue, std::string_view task, size_t most) const {
  std::set<std::string_view> known;
  std::vector<const Span*> found;
  // A span mostly ends before its parent, so one look from the newest on finds all; a call that goes on after the
  // attempt takes another look.
  for (size_t before = SIZE_MAX; before != found.size();) {
    before = found.size();
    for (auto span = spans_.rbegin(); span != spans_.rend(); ++span) {
      const bool is_below = !span->parent_id.empty() && known.contains(span->parent_id);
      if (!is_below && !is_attempt_on(*span, queue, task)) continue;
      if (known.insert(span->span_id).second) found.push_back(&*span);
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Span* a, const Span* b) { return a->start_ns < b->start_ns; });
  OfTask out;
  out.more = found.size() > most;
  const auto first = found.end() - static_cast<ptrdiff_t>(std::min(most, found.size()));
  std::transform(first, found.end(), std::back_inserter(out.spans), [](const Span* span) { return *span; });
  return out;
}

}  // namespace freshet
