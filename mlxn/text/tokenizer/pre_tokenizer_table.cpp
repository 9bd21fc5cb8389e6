#include "mlxn/text/tokenizer/internal/pre_tokenizer_table.h"

namespace mlxn::text {
namespace {

// Parts that several families share. Adjacent literals make one pattern.
#define MLXN_SUFFIXES R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define MLXN_SPACE_TAIL R"(|\s*[\r\n]+|\s+(?!\S)|\s+)"
#define MLXN_GPT2 R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"
// Llama 3 and its relatives differ in how many digits stay together.
#define MLXN_WORDS MLXN_SUFFIXES R"(|[^\r\n\p{L}\p{N}]?\p{L}+)"
#define MLXN_MARKS R"(| ?[^\s\p{L}\p{N}]+[\r\n]*)"
// Words that begin with capitals, and words that end with them (GPT-4o and its relatives).
#define MLXN_UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define MLXN_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define MLXN_CASED_1 R"([^\r\n\p{L}\p{N}]?)" MLXN_UPPER "*" MLXN_LOWER "+"
#define MLXN_CASED_2 R"([^\r\n\p{L}\p{N}]?)" MLXN_UPPER "+" MLXN_LOWER "*"
#define MLXN_CASED_MARKS R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*)"
#define MLXN_HAN_KANA R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)"
#define MLXN_EAST_ASIAN R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)"
#define MLXN_DEEPSEEK_WORDS                                                                 \
  R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)" \
  R"(| ?[\p{P}\p{S}]+[\r\n]*)" MLXN_SPACE_TAIL
#define MLXN_DEEPSEEK_MARKS \
  R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)"
#define MLXN_BLOOM R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)"
// The letters that deepseek-llm counts: those with case, of one version of Unicode.
#define MLXN_DEEPSEEK_LETTERS                                                               \
  R"(A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})"   \
  R"(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386})"            \
  R"(\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F})"   \
  R"(\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA})"  \
  R"(\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A})"                 \
  R"(\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D})"                 \
  R"(\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4})"          \
  R"(\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3})"         \
  R"(\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107})" \
  R"(\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D})"  \
  R"(\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184})"  \
  R"(\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D})" \
  R"(\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E})"                 \
  R"(\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A})"                 \
  R"(\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB})"           \
  R"(\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})"

const std::vector<PreTokenizerInfo>& table() {
  static const std::vector<PreTokenizerInfo> kTable = {
      {.names = "default",
       .patterns = {R"([\p{P}\$\+<=>\^~\|]+)", MLXN_GPT2, R"(\p{N}+)", R"([0-9][0-9][0-9])"}},
      {.names = "gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de gigachat a.x-4.0 mellum "
                "modern-bert exaone4 mpt olmo jais trillion granite-docling",
       .patterns = {MLXN_GPT2}},
      {.names = "smollm starcoder refact command-r codeshell exaone minerva-7b mellum2",
       .patterns = {R"(\p{N})", MLXN_GPT2}},
      {.names = "falcon",
       .patterns = {R"([\p{P}\$\+<=>\^~\|`]+)", MLXN_GPT2, R"([0-9][0-9][0-9])"}},
      {.names = "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
       .patterns = {MLXN_WORDS R"(|\p{N}{1,3})" MLXN_MARKS MLXN_SPACE_TAIL},
       .whole_pieces = true,
       .adds_bos = true},
      {.names = "dbrx smaug-bpe glm4 chatglm-bpe",
       .patterns = {MLXN_WORDS R"(|\p{N}{1,3})" MLXN_MARKS MLXN_SPACE_TAIL}},
      {.names = "minicpm5",
       .patterns = {R"(\p{N}{1,3})", MLXN_WORDS R"(|\p{N}+)" MLXN_MARKS MLXN_SPACE_TAIL},
       .whole_pieces = true},
      {.names = "qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 megrez hunyuan solar-open grok-2",
       .patterns = {MLXN_WORDS R"(|\p{N})" MLXN_MARKS MLXN_SPACE_TAIL}},
      {.names = "qwen35",
       .patterns = {MLXN_SUFFIXES R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N})"
                                  R"(| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)" MLXN_SPACE_TAIL}},
      {.names = "laguna",
       .patterns = {R"([^\n]+|[\n]+)", MLXN_WORDS R"(|\p{N})" MLXN_MARKS MLXN_SPACE_TAIL}},
      {.names = "bailingmoe bailingmoe2 llada-moe",
       .patterns = {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N})"
                    R"(| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"}},
      {.names = "seed-coder",
       .patterns = {MLXN_WORDS R"(|\p{N}| ?[^\s\p{L}\p{N}\r\n]+)" MLXN_SPACE_TAIL}},
      {.names = "jais-2",
       .patterns = {MLXN_WORDS
                    R"(|\p{N}{1,3})" MLXN_MARKS
                    R"(|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S))"
                    R"(|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"}},
      {.names = "gpt-4o llama4 kanana2 talkie minimax-m2",
       .patterns = {MLXN_CASED_1 MLXN_SUFFIXES "?|" MLXN_CASED_2 MLXN_SUFFIXES
                                               R"(?|\p{N}{1,3})" MLXN_CASED_MARKS MLXN_SPACE_TAIL}},
      {.names = "tekken",
       .patterns = {MLXN_CASED_1 "|" MLXN_CASED_2 R"(|\p{N})" MLXN_CASED_MARKS MLXN_SPACE_TAIL},
       .whole_pieces = true,
       .adds_bos = true},
      {.names = "deepseek-llm",
       .patterns = {R"([\r\n])", R"(\s?[)" MLXN_DEEPSEEK_LETTERS "]+", MLXN_DEEPSEEK_MARKS,
                    // \s+$ without looking again at every space of a long run.
                    R"((?<!\s)\s++\z)", MLXN_EAST_ASIAN, R"(\p{N}+)"}},
      {.names = "deepseek-coder",
       .patterns = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", MLXN_EAST_ASIAN, R"(\p{N})"}},
      {.names = "deepseek-v3 hunyuan-dense joyai-llm",
       .patterns = {R"(\p{N}{1,3})", MLXN_HAN_KANA, MLXN_DEEPSEEK_WORDS}},
      {.names = "youtu",
       .patterns = {R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|[\x{FF01}\x{2026}\x{201C}\x{201D})"
                    R"(\x{2018}\x{2019}\x{2014}\x{FF1A}\x{FF1B}\x{FF0C}\x{3001}-\x{303F})"
                    R"(\x{FE30}-\x{FE4F}]+|[\x{3105}-\x{312F}]+|)" MLXN_HAN_KANA,
                    MLXN_CASED_1 MLXN_SUFFIXES "?|" MLXN_CASED_2 MLXN_SUFFIXES
                                               R"(?|\p{N})" MLXN_CASED_MARKS MLXN_SPACE_TAIL},
       .whole_pieces = true},
      {.names = "bloom poro-chat gpt3-finnish", .patterns = {MLXN_BLOOM}},
      {.names = "viking", .patterns = {MLXN_BLOOM, R"(\p{N})"}},
      {.names = "chameleon",
       .patterns = {R"(<sentinel:[0-9]+>)", R"((IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z)",
                    R"(([\t\n]|    |  ))", R"(\p{N})", R"([\p{P}!-/:-@\[-`{-~])", MLXN_GPT2},
       .adds_bos = true},
  };
  return kTable;
}

}  // namespace

std::span<const PreTokenizerInfo> pre_tokenizers() {
  return table();
}

}  // namespace mlxn::text
