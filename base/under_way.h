// Counts something for as long as it lives: a call, an event in a host.
#pragma once

namespace freshet {

// `Number`: an integer, which outlives it.
template <class Number>
class UnderWay {
 public:
  explicit UnderWay(Number& count) : count_(count) { ++count_; }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
  ~UnderWay() { --count_; }

 private:
  Number& count_;
};

}  // namespace freshet
