#include "examples/corpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "io/temporary_folder.h"

namespace examples {
namespace {

using Row = std::vector<std::int32_t>;

std::vector<Row> rows(const Samples& samples) {
  std::vector<Row> result;
  for (std::size_t i = 0; i < samples.count(); ++i) {
    const auto context = samples.contexts_at(i, 1);
    Row row(context.begin(), context.end());
    row.push_back(samples.targets_at(i, 1)[0]);
    result.push_back(row);
  }
  return result;
}

TEST(Corpus, EachLetterAndTheEndOfAWordIsASample) {
  EXPECT_EQ(rows(make_samples({"emma", "b"}, 3)),
            (std::vector<Row>{{0, 0, 0, 5},
                              {0, 0, 5, 13},
                              {0, 5, 13, 13},
                              {5, 13, 13, 1},
                              {13, 13, 1, 0},
                              {0, 0, 0, 2},
                              {0, 0, 2, 0}}));
  EXPECT_EQ(letter(0), '.');
  EXPECT_EQ(letter(1), 'a');
  EXPECT_EQ(letter(26), 'z');
}

TEST(Corpus, TheNamesAreThoseOfTheRecipe) {
  const auto words = read_words(NAMES);
  EXPECT_EQ(words.size(), 32033u);
  EXPECT_EQ(words.front(), "emma");
  EXPECT_EQ(words.back(), "zzyzx") << "no newline ends the list";
  EXPECT_EQ(make_samples(words, 3).count(), 228146u);
}

TEST(Corpus, ShufflesFromTheLastSampleDown) {
  Samples samples = make_samples({"abcdefgh"}, 2);
  auto expected = rows(samples);
  topos::SplitMix random(9);
  for (std::size_t i = expected.size() - 1; i >= 1; --i) {
    const double u = static_cast<double>(random.next() >> 11) * 0x1p-53;
    std::swap(
        expected[i],
        expected[static_cast<std::size_t>(u * static_cast<double>(i + 1))]);
  }
  topos::SplitMix same(9);
  shuffle(samples, same);
  EXPECT_EQ(rows(samples), expected);
  EXPECT_EQ(same.state(), random.state());
  auto sorted = rows(samples);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_TRUE(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
}

TEST(Corpus, NeitherEmptyLinesNorWindowsNorAMissingNewlineMatter) {
  const topos::TemporaryFolder folder;
  std::ofstream(folder / "words", std::ios::binary) << "ann\r\n\nbob\r\n\r\ncy";
  EXPECT_EQ(read_words(folder / "words"),
            (std::vector<std::string>{"ann", "bob", "cy"}));
}

TEST(Corpus, NamesTheCharacterThatIsNoLetter) {
  EXPECT_EQ(character_at_front("A"), "'A'");
  EXPECT_EQ(character_at_front(" "), "' '");
  EXPECT_EQ(character_at_front("\t"), "byte 0x09");
  EXPECT_EQ(character_at_front("\xC3\xA9t"), "'\xC3\xA9' (U+00E9)");
  EXPECT_EQ(character_at_front("\xE2\x82\xAC"), "'\xE2\x82\xAC' (U+20AC)");
  EXPECT_EQ(character_at_front("\xF0\x9F\x98\x80"),
            "'\xF0\x9F\x98\x80' (U+1F600)");
  EXPECT_EQ(character_at_front("\xC3"), "byte 0xC3") << "cut off";
  EXPECT_EQ(character_at_front("\xFFz"), "byte 0xFF");
  EXPECT_EQ(character_at_front(std::string_view("\0", 1)), "byte 0x00");
}

}  // namespace
}  // namespace examples
