// Counts something for as long as it lives: a call under way, a place in use.
#pragma once

namespace freshet {

// `Number`: an integer, which outlives it.
template <class Number>
class Counted {
 public:
  explicit Counted(Number& count) : count_(count) { ++count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --count_; }

 private:
  Number& count_;
};

}  // namespace freshet
