// Runs a fuzz target without libFuzzer, so that every build's tests do: each file of its corpus as it is, then seeded
// changes of them (bytes flipped, taken out, doubled, other files' parts let in).
//
//   fuzz_TARGET CORPUS_DIRECTORY|FILE [CHANGED_INPUTS=0] [SEED=1]
//
// Before each input the process notes it; when the target ends the process, the input's name, or seed and number, and
// its bytes (also in the file `fuzz-input`) are the bug report.
#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/random.h"
#include "tests/fuzz/target.h"

namespace {

using freshet::Random;

struct Running {
  std::string name;
  std::string bytes;
};
Running running;  // The report of a signal handler; the program has one thread.

extern "C" void report(int signal) {
  std::fprintf(stderr, "fuzz: ended at %s (%zu bytes, written to ./fuzz-input)\n", running.name.c_str(),
               running.bytes.size());
  if (std::FILE* file = std::fopen("fuzz-input", "wb")) {
    std::fwrite(running.bytes.data(), 1, running.bytes.size(), file);
    std::fclose(file);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void run(std::string name, std::string bytes) {
  running = {std::move(name), std::move(bytes)};
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(running.bytes.data()), running.bytes.size());
}

std::string changed(const std::vector<std::string>& corpus, Random& random) {
  std::string input = corpus[random.below(corpus.size())];
  const auto place = [&](const std::string& in) { return random.below(in.size() + 1); };
  for (uint64_t left = 1 + random.below(6); left > 0; --left) {
    const size_t at = place(input);
    switch (random.below(5)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1u << random.below(8)));
        break;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(random.below(256));
        break;
      case 2:
        input.erase(at, random.below(20));
        break;
      case 3:
        input.insert(at, input.substr(place(input), random.below(40)));
        break;
      default: {
        const std::string& other = corpus[random.below(corpus.size())];
        input.insert(at, other.substr(place(other), random.below(200)));
      }
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s CORPUS_DIRECTORY|FILE [CHANGED_INPUTS=0] [SEED=1]\n", argv[0]);
    return 2;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, report);
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(argv[1])) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[1])) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
  } else {
    files.emplace_back(argv[1]);
  }
  std::vector<std::string> corpus;
  for (const auto& file : files) {
    corpus.push_back(read(file));
    run(file.string(), corpus.back());
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "no input in %s\n", argv[1]);
    return 2;
  }
  const uint64_t rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  const uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  Random random(seed);
  for (uint64_t i = 0; i < rounds; ++i) {
    run("seed " + std::to_string(seed) + ", changed input " + std::to_string(i), changed(corpus, random));
  }
  std::printf("%zu inputs of the corpus, %llu changed ones (seed %llu)\n", corpus.size(),
              static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(seed));
  return 0;
}
