// The measuring stick of our HTTP server: bare Beast on one thread, with the same answer to every request.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace freshet {

class BareBeast {
 public:
  explicit BareBeast(std::string answer);  // On a free port of 127.0.0.1.
  ~BareBeast();
  BareBeast(const BareBeast&) = delete;
  BareBeast& operator=(const BareBeast&) = delete;
  uint16_t port() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet
