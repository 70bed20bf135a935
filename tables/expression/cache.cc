#include <absl/container/flat_hash_map.h>

#include <functional>
#include <list>

#include "tables/expression/ast.h"

namespace freshet {
namespace {

// Entries in order of use, the latest first; the map's keys point into them.
template <class T>
class LeastRecentlyUsed {
 public:
  using Pointer = std::shared_ptr<const T>;
  explicit LeastRecentlyUsed(size_t capacity) : capacity_(capacity) {}

  // Null if absent.
  const Pointer* find(std::string_view text) {
    const auto known = by_text_.find(text);
    if (known == by_text_.end()) return nullptr;
    if (known->second != entries_.begin()) entries_.splice(entries_.begin(), entries_, known->second);
    return &known->second->compiled;
  }

  void add(std::string_view text, Pointer compiled) {
    entries_.push_front({std::string(text), std::move(compiled)});
    by_text_.emplace(entries_.front().text, entries_.begin());
    text_bytes_ += text.size();
    while (entries_.size() > capacity_ || text_bytes_ > kMaxTextBytes) {
      text_bytes_ -= entries_.back().text.size();
      by_text_.erase(entries_.back().text);
      entries_.pop_back();
    }
  }

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string text;
    Pointer compiled;
  };
  // Compiled forms grow with the text, some 30 times as large.
  static constexpr size_t kMaxTextBytes = 256u << 10;

  size_t capacity_;
  size_t text_bytes_ = 0;
  std::list<Entry> entries_;
  absl::flat_hash_map<std::string_view, typename std::list<Entry>::iterator, std::hash<std::string_view>> by_text_;
};

}  // namespace

struct ExpressionCache::Impl {
  explicit Impl(size_t capacity)
      : conditions{LeastRecentlyUsed<CompiledCondition>(capacity), LeastRecentlyUsed<CompiledCondition>(capacity),
                   LeastRecentlyUsed<CompiledCondition>(capacity)},
        updates(capacity),
        projections(capacity) {}

  template <class T, class Compile>
  Result<std::shared_ptr<const T>> get(LeastRecentlyUsed<T>& from, std::string_view text, Compile compile) {
    if (const auto* known = from.find(text)) {
      ++hits;
      return *known;
    }
    ++misses;
    auto compiled = compile();
    if (compiled) from.add(text, *compiled);
    return compiled;
  }

  LeastRecentlyUsed<CompiledCondition> conditions[3];  // kCondition, kFilter, kKeyCondition.
  LeastRecentlyUsed<CompiledUpdate> updates;
  LeastRecentlyUsed<CompiledProjection> projections;
  uint64_t hits = 0;
  uint64_t misses = 0;
};

ExpressionCache::ExpressionCache(size_t capacity_per_kind) : impl_(std::make_unique<Impl>(capacity_per_kind)) {}
ExpressionCache::~ExpressionCache() = default;

Result<std::shared_ptr<const CompiledCondition>> ExpressionCache::condition(std::string_view text,
                                                                            ExpressionKind kind) {
  const size_t which = kind == ExpressionKind::kCondition ? 0 : kind == ExpressionKind::kFilter ? 1 : 2;
  return impl_->get(impl_->conditions[which], text, [&] { return compile_condition(text, kind); });
}

Result<std::shared_ptr<const CompiledUpdate>> ExpressionCache::update(std::string_view text) {
  return impl_->get(impl_->updates, text, [&] { return compile_update(text); });
}

Result<std::shared_ptr<const CompiledProjection>> ExpressionCache::projection(std::string_view text) {
  return impl_->get(impl_->projections, text, [&] { return compile_projection(text); });
}

uint64_t ExpressionCache::hits() const {
  return impl_->hits;
}
uint64_t ExpressionCache::misses() const {
  return impl_->misses;
}
size_t ExpressionCache::size() const {
  size_t total = impl_->updates.size() + impl_->projections.size();
  for (const auto& cache : impl_->conditions) total += cache.size();
  return total;
}

}  // namespace freshet
