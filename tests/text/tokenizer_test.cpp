#include "mlxn/text/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mlxn/text/tokenizer/internal/pre_tokenizer_table.h"
#include "mlxn/text/tokenizer/internal/tokenizer_parts.h"
#include "tests/text/toy_vocabulary.h"

namespace mlxn::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ids = std::vector<int32_t>;

std::unique_ptr<Tokenizer> make(const io::Metadata& metadata) {
  auto made = Tokenizer::create(metadata);
  EXPECT_TRUE(made) << made.error().to_string();
  return made ? std::move(made).value() : nullptr;
}

Error failure(const io::Metadata& metadata) {
  auto made = Tokenizer::create(metadata);
  EXPECT_FALSE(made);
  return made ? Error(ErrorCode::kInternal, "no error") : made.error();
}

TEST(Tokenizer, JoinsTheLowestRankFirst) {
  ToyVocabulary toy;
  const int32_t bc = toy.merge("b", "c");
  const int32_t ab = toy.merge("a", "b");
  const int32_t abab = toy.merge("ab", "ab");
  const auto tokenizer = make(toy.metadata());
  EXPECT_EQ(*tokenizer->encode("abc"), (Ids{'a', bc}));
  EXPECT_EQ(*tokenizer->encode("abababc"), (Ids{abab, 'a', bc}));
  EXPECT_EQ(*tokenizer->encode("aab"), (Ids{'a', ab}));
  EXPECT_EQ(*tokenizer->encode(""), Ids{});
}

TEST(Tokenizer, PiecesAreNotJoined) {
  ToyVocabulary toy;
  const int32_t merged = toy.merge("a", " ");
  const auto tokenizer = make(toy.metadata());
  EXPECT_EQ(*tokenizer->encode("a b"), (Ids{'a', ' ', 'b'}));
  EXPECT_EQ(tokenizer->piece(merged), "a ");
}

TEST(Tokenizer, WholePiecesWinWhereTheFamilySaysSo) {
  ToyVocabulary toy;
  const int32_t whole = toy.add("xyz", 1);  // no merges lead here
  toy.add("<s>", 3);
  const auto ids = [&](std::string pre) {
    toy.pre = std::move(pre);
    auto metadata = toy.metadata();
    ToyVocabulary::put(metadata, "tokenizer.ggml.add_bos_token", io::MetaType::kBool, false);
    return *make(metadata)->encode("xyz");
  };
  EXPECT_EQ(ids("gpt-2"), (Ids{'x', 'y', 'z'}));
  EXPECT_EQ(ids("llama-bpe"), Ids{whole});
}

TEST(Tokenizer, SpecialTokensOnlyWhenAsked) {
  ToyVocabulary toy;
  const int32_t end = toy.add("<|end|>", 3);
  const int32_t ending = toy.add("<|end|>ing", 3);
  const int32_t user = toy.add("<tool>", 4);
  const auto tokenizer = make(toy.metadata());
  EXPECT_EQ(tokenizer->encode("<|end|>")->size(), 7u);
  EXPECT_EQ(*tokenizer->encode("a<|end|>", {.parse_special = true}), (Ids{'a', end}));
  EXPECT_EQ(*tokenizer->encode("<|end|>ing<|end|>in", {.parse_special = true}),
            (Ids{ending, end, 'i', 'n'}));
  EXPECT_EQ(*tokenizer->encode("<tool>"), Ids{user});
  EXPECT_EQ(*tokenizer->decode(Ids{'a', end, user}), "a<|end|><tool>");
  EXPECT_EQ(*tokenizer->decode(Ids{'a', end, user}, {.show_special = false}), "a<tool>");
  EXPECT_TRUE(tokenizer->ends_text(end));
  EXPECT_FALSE(tokenizer->ends_text(user));
  EXPECT_EQ(tokenizer->special().eot, end);
  EXPECT_EQ(tokenizer->find("<tool>"), user);
  EXPECT_EQ(tokenizer->type(user), TokenType::kUserDefined);
}

TEST(Tokenizer, AddsBeginAndEnd) {
  ToyVocabulary toy;
  const int32_t bos = toy.add("<s>", 3);
  const int32_t eos = toy.add("</s>", 3);
  auto metadata = toy.metadata();
  ToyVocabulary::put(metadata, "tokenizer.ggml.bos_token_id", io::MetaType::kU32,
                     static_cast<uint64_t>(bos));
  ToyVocabulary::put(metadata, "tokenizer.ggml.eos_token_id", io::MetaType::kU32,
                     static_cast<uint64_t>(eos));
  ToyVocabulary::put(metadata, "tokenizer.ggml.add_bos_token", io::MetaType::kBool, true);
  ToyVocabulary::put(metadata, "tokenizer.ggml.add_eos_token", io::MetaType::kBool, true);
  const auto tokenizer = make(metadata);
  EXPECT_EQ(*tokenizer->encode("a"), (Ids{bos, 'a', eos}));
  EXPECT_EQ(*tokenizer->encode("a", {.add_special = false}), Ids{'a'});
  EXPECT_TRUE(tokenizer->ends_text(eos));
}

TEST(Tokenizer, AnyBytesComeBack) {
  ToyVocabulary toy;
  toy.merge("\xE4", "\xB8");
  toy.merge("\xE4\xB8", "\xAD");
  const auto tokenizer = make(toy.metadata());
  EXPECT_TRUE(tokenizer->has_all_bytes());
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const std::string& text : {all, std::string("\xE4\xB8"), std::string("\xE4\xB8\xAD\xE4"),
                                  std::string("a\xFF b\x80\x80"), std::string("\0\0", 2)})
    EXPECT_EQ(*tokenizer->decode(*tokenizer->encode(text)), text);
}

TEST(Tokenizer, MissingBytesAreLeftOutOrReported) {
  ToyVocabulary toy;
  toy.tokens[4] = "<unused>";
  const auto tokenizer = make(toy.metadata());
  EXPECT_FALSE(tokenizer->has_all_bytes());
  EXPECT_EQ(*tokenizer->encode("a\x04"
                               "b"),
            (Ids{'a', 'b'}));
  const auto strict = tokenizer->encode("ab\x04", {.strict = true});
  ASSERT_FALSE(strict);
  EXPECT_THAT(strict.error().message(), HasSubstr("byte 4 at offset 2"));
}

TEST(Tokenizer, LongRunsTakeLinearSpaceAndTime) {
  ToyVocabulary toy;
  toy.add("<s>", 3);
  for (std::string run = "a"; run.size() < 64; run += run) toy.merge(run, run);
  for (const PreTokenizerInfo& info : pre_tokenizers()) {
    const std::string_view name = info.names.substr(0, info.names.find(' '));
    toy.pre = name;
    auto metadata = toy.metadata();
    ToyVocabulary::put(metadata, "tokenizer.ggml.add_bos_token", io::MetaType::kBool, false);
    const auto tokenizer = make(metadata);
    for (std::string_view unit :
         {"a", "A", " ", "\n", ".", "1", " \n", "aA", "\xE4\xB8\xAD", "\xFF"}) {
      std::string text;
      while (text.size() < 100000) text += unit;
      text += "x";
      const auto ids = tokenizer->encode(text);
      ASSERT_TRUE(ids) << name << " '" << unit << "' " << ids.error().to_string();
      ASSERT_EQ(*tokenizer->decode(*ids), text) << name;
    }
  }
}

TEST(Tokenizer, RefusesIdsOutsideTheVocabulary) {
  const auto tokenizer = make(ToyVocabulary().metadata());
  const auto text = tokenizer->decode(Ids{65, 256});
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message(), HasSubstr("token 1 is 256, expected 0 to 255"));
  EXPECT_FALSE(tokenizer->decode(Ids{-1}));
  EXPECT_EQ(tokenizer->piece(-1), "");
  EXPECT_EQ(tokenizer->type(999), TokenType::kUndefined);
}

TEST(Tokenizer, NamesKindsItDoesNotKnow) {
  io::Metadata metadata;
  EXPECT_THAT(failure(metadata).message(), HasSubstr("tokenizer.ggml.model"));
  ToyVocabulary::put(metadata, "tokenizer.ggml.model", io::MetaType::kString, std::string("t5"));
  EXPECT_EQ(failure(metadata).code(), ErrorCode::kUnsupported);
  EXPECT_THAT(failure(metadata).message(), HasSubstr("'t5'"));
  ToyVocabulary toy;
  toy.pre = "no-such";
  EXPECT_EQ(failure(toy.metadata()).code(), ErrorCode::kUnsupported);
  EXPECT_THAT(failure(toy.metadata()).message(), HasSubstr("'no-such'"));
}

TEST(Tokenizer, RefusesBadVocabularies) {
  const auto message = [](void (*damage)(ToyVocabulary&)) {
    ToyVocabulary toy;
    damage(toy);
    const Error error = failure(toy.metadata());
    EXPECT_EQ(error.code(), ErrorCode::kCorruptData);
    return error.message();
  };
  EXPECT_THAT(message([](ToyVocabulary& toy) { toy.types.pop_back(); }), HasSubstr("255 values"));
  EXPECT_THAT(message([](ToyVocabulary& toy) { toy.types[3] = 9; }),
              HasSubstr("type of token 3 is 9"));
  EXPECT_THAT(message([](ToyVocabulary& toy) { toy.add("a", 1); }), HasSubstr("tokens 97 and 256"));
  EXPECT_THAT(message([](ToyVocabulary& toy) { toy.merges = {"a b"}; }),
              HasSubstr("'ab' is not in"));
  EXPECT_THAT(message([](ToyVocabulary& toy) { toy.merges = {"ab"}; }), HasSubstr("expected two"));
  EXPECT_THAT(message([](ToyVocabulary& toy) { toy.merges = {"a "}; }), HasSubstr("expected two"));
  EXPECT_THAT(message([](ToyVocabulary& toy) { toy.add(std::string(600, 'x'), 3); }),
              HasSubstr("600 bytes"));
  EXPECT_THAT(message([](ToyVocabulary& toy) { toy.tokens.clear(), toy.types.clear(); }),
              HasSubstr("0 tokens"));
  ToyVocabulary toy;
  auto metadata = toy.metadata();
  ToyVocabulary::put(metadata, "tokenizer.ggml.eos_token_id", io::MetaType::kU32, uint64_t{256});
  EXPECT_THAT(failure(metadata).message(), HasSubstr("is 256, expected less than 256"));
  auto without = toy.metadata();
  ToyVocabulary::put(without, "tokenizer.ggml.add_bos_token", io::MetaType::kBool, true);
  EXPECT_THAT(failure(without).message(), HasSubstr("begin with a token"));
}

std::vector<std::string_view> split(std::string_view name, std::string_view text) {
  return *PreTokenizer::create(name)->split(text);
}

// Facts about families, by hand.
TEST(PreTokenizer, FamiliesDifferInDigitsAndCase) {
  EXPECT_THAT(split("gpt-2", "a 12345 b"), ElementsAre("a", " 12345", " b"));
  EXPECT_THAT(split("smollm", "a 123"), ElementsAre("a", " ", "1", "2", "3"));
  EXPECT_THAT(split("llama-bpe", "a 12345"), ElementsAre("a", " ", "123", "45"));
  EXPECT_THAT(split("qwen2", "x12"), ElementsAre("x", "1", "2"));
  EXPECT_THAT(split("falcon", "1234"), ElementsAre("123", "4"));
  EXPECT_THAT(split("gpt-2", "I'LL I'll"), ElementsAre("I", "'", "LL", " I", "'ll"));
  EXPECT_THAT(split("llama-bpe", "I'LL"), ElementsAre("I", "'LL"));
  EXPECT_THAT(split("gpt-4o", "HTTPServer's"), ElementsAre("HTTPServer's"));
  EXPECT_THAT(split("gpt-4o", "helloWorld"), ElementsAre("hello", "World"));
  EXPECT_THAT(split("deepseek-llm", "hi  \n\xE4\xB8\xAD"),
              ElementsAre("hi", "  ", "\n", "\xE4\xB8\xAD"));
  EXPECT_THAT(split("deepseek-llm", "a  b 12"), ElementsAre("a", " ", " b", " ", "12"));
  EXPECT_THAT(split("bloom", "Hi, you"), ElementsAre("Hi", ",", " you"));
}

TEST(PreTokenizer, SpacesAreThoseOfUnicode) {
  EXPECT_THAT(split("gpt-2", "a \xC2\xA0 b"), ElementsAre("a", " \xC2\xA0", " b"));
  EXPECT_THAT(split("gpt-2", "a\xE1\xA0\x8E"), ElementsAre("a", "\xE1\xA0\x8E"));  // U+180E is none
  EXPECT_THAT(split("llama-bpe", "a\r\n\n b"), ElementsAre("a", "\r\n\n", " b"));
}

TEST(PreTokenizer, InvalidBytesStandAlone) {
  EXPECT_THAT(split("gpt-2",
                    "ab\xFF\xFE"
                    "cd"),
              ElementsAre("ab", "\xFF\xFE", "cd"));
}

// A kind with spellings and a way back of its own: '_' stands for a space, and a text begins with
// one that is not part of it.
class SpacePrefixed final : public Tokenizer {
 public:
  static std::unique_ptr<Tokenizer> create(const io::Metadata& metadata) {
    auto vocabulary = Vocabulary::load(metadata, [](std::string_view text, TokenType type) {
      std::string bytes(text);
      if (type == TokenType::kByte) bytes = "\n";
      std::ranges::replace(bytes, '_', ' ');
      return std::optional(std::move(bytes));
    });
    EXPECT_TRUE(vocabulary) << vocabulary.error().to_string();
    return std::make_unique<SpacePrefixed>(
        std::make_unique<Parts>(std::move(*vocabulary), "spaces", ""));
  }
  explicit SpacePrefixed(std::unique_ptr<Parts> parts) : Tokenizer(std::move(parts)) {}

 protected:
  Status encode_plain(std::string_view, bool, Ids&) const override { return {}; }
  void decode_plain(std::span<const int32_t> ids, bool begins, std::string& text) const override {
    for (const int32_t id : ids) {
      std::string_view bytes = piece(id);
      if (begins && bytes.starts_with(' ')) bytes.remove_prefix(1);
      begins = false;
      text += bytes;
    }
  }
};

TEST(TokenizerKinds, AKindHasItsOwnSpellingsAndItsOwnWayBack) {
  io::Metadata metadata;
  ToyVocabulary::put(
      metadata, "tokenizer.ggml.tokens", io::MetaType::kArray,
      io::MetaArray{io::MetaType::kString,
                    std::vector<std::string>{"_a", "b_", "<s>", "<user>", "<0x0A>"}});
  ToyVocabulary::put(metadata, "tokenizer.ggml.token_type", io::MetaType::kArray,
                     io::MetaArray{io::MetaType::kI32, std::vector<int64_t>{1, 1, 3, 4, 6}});
  const auto tokenizer = SpacePrefixed::create(metadata);
  EXPECT_EQ(tokenizer->piece(0), " a");
  EXPECT_EQ(*tokenizer->decode(Ids{0, 1, 0, 4}), "ab  a\n");
  EXPECT_EQ(*tokenizer->decode(Ids{0, 1}, {.continues = true}), " ab ");
  // Control tokens are no text; others that are found as a whole are.
  EXPECT_EQ(*tokenizer->decode(Ids{2, 0}), "<s>a");
  EXPECT_EQ(*tokenizer->decode(Ids{2, 0}, {.show_special = false}), "a");
  EXPECT_EQ(*tokenizer->decode(Ids{3, 0}, {.show_special = false}), "<user> a");
  EXPECT_EQ(*tokenizer->decode(Ids{0, 2, 0}), "a<s> a");
  EXPECT_THAT(tokenizer->decode(Ids{0, 5}).error().message(), HasSubstr("token 1 is 5"));
}

TEST(TokenizerKinds, TheTableHasAnEntryForEachFile) {
  std::vector<std::string_view> names;
  for (const TokenizerEntry* entry : tokenizers()) names.push_back(entry->name);
  EXPECT_THAT(names, ElementsAre("gpt2"));
}

}  // namespace
}  // namespace mlxn::text
