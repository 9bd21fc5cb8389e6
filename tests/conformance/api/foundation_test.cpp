#include <thread>

#include "api_test.h"

namespace mlxn_test {
namespace {

using ::testing::HasSubstr;

class FoundationTest : public ApiTest {};

TEST_F(FoundationTest, StringKeepsUtf8AndCountsUtf16Units) {
  auto value = NS::String::string("a\xc3\xa4\xf0\x9f\x98\x80", NS::UTF8StringEncoding);
  EXPECT_EQ(value->length(), 4u);  // one, one and a surrogate pair
  EXPECT_EQ(value->character(1), 0xe4);
  EXPECT_EQ(value->character(2), 0xd83d);
  EXPECT_STREQ(value->utf8String(), "a\xc3\xa4\xf0\x9f\x98\x80");
  EXPECT_EQ(value->lengthOfBytes(NS::UTF8StringEncoding), 7u);
  EXPECT_EQ(value->lengthOfBytes(NS::UTF16LittleEndianStringEncoding), 8u);
  EXPECT_EQ(value->cString(NS::ASCIIStringEncoding), nullptr);
}

TEST_F(FoundationTest, StringRefusesBytesThatAreNotValid) {
  EXPECT_EQ(NS::String::string("\xff", NS::UTF8StringEncoding), nullptr);
  EXPECT_EQ(NS::String::string("\xc0\x80", NS::UTF8StringEncoding), nullptr);      // overlong
  EXPECT_EQ(NS::String::string("\xed\xa0\x80", NS::UTF8StringEncoding), nullptr);  // surrogate
  // Bytes above 127 in "ASCII" are UTF-8 where they can be, else ISO Latin 1.
  EXPECT_EQ(text(NS::String::string("// \u00a9 2024", NS::ASCIIStringEncoding)), "// \u00a9 2024");
  EXPECT_EQ(text(NS::String::string("\xa9 2024", NS::ASCIIStringEncoding)), "\u00a9 2024");
  EXPECT_EQ(text(NS::String::string("\xe4", NS::ISOLatin1StringEncoding)), "\xc3\xa4");
  char16_t units[] = u"h\u00e9";
  auto wide =
      TransferPtr(NS::String::alloc()->init(units, 4, NS::UTF16LittleEndianStringEncoding, false));
  EXPECT_EQ(text(wide.get()), "h\xc3\xa9");
  EXPECT_EQ(NS::String::alloc()->init(units, 3, NS::UTF16LittleEndianStringEncoding, false),
            nullptr);
}

TEST_F(FoundationTest, StringSearchCompareAndAppend) {
  auto value = string("Metal on Metal");
  EXPECT_TRUE(value->rangeOfString(string("Metal"), 0).Equal(NS::Range(0, 5)));
  EXPECT_TRUE(value->rangeOfString(string("Metal"), NS::BackwardsSearch).Equal(NS::Range(9, 5)));
  EXPECT_EQ(value->rangeOfString(string("metal"), 0).location,
            static_cast<NS::UInteger>(NS::NotFound));
  EXPECT_EQ(value->rangeOfString(string("METAL"), NS::CaseInsensitiveSearch).location, 0u);
  EXPECT_EQ(text(value->stringByAppendingString(string("!"))), "Metal on Metal!");
  EXPECT_EQ(string("abc")->caseInsensitiveCompare(string("ABD")), NS::OrderedAscending);
  EXPECT_TRUE(value->isEqualToString(string("Metal on Metal")));
  EXPECT_TRUE(value->isEqual(string("Metal on Metal")));
  EXPECT_EQ(value->hash(), string("Metal on Metal")->hash());
}

TEST_F(FoundationTest, ConstantStringsAreOneObjectAndSurviveRelease) {
  NS::String* first = MTLSTR("constant");
  NS::String* second = MTLSTR("constant");
  EXPECT_EQ(first, second);
  first->release();
  second->release();
  EXPECT_EQ(text(MTLSTR("constant")), "constant");
}

TEST_F(FoundationTest, ArrayRetainsAndChecksIndices) {
  auto item = TransferPtr(NS::String::alloc()->init("x", NS::UTF8StringEncoding));
  EXPECT_EQ(item->retainCount(), 1u);
  const NS::Object* objects[] = {item.get(), string("y")};
  auto array = TransferPtr(NS::Array::alloc()->init(objects, 2));
  EXPECT_EQ(item->retainCount(), 2u);
  EXPECT_EQ(array->count(), 2u);
  EXPECT_EQ(text(array->object<NS::String>(1)), "y");
  EXPECT_EQ(array->object(2), nullptr);
  ASSERT_EQ(messages().size(), 1u);
  EXPECT_THAT(messages()[0], HasSubstr("index 2, expected less than the count 2"));
  int seen = 0;
  auto* enumerator = array->objectEnumerator();
  while (enumerator->nextObject()) ++seen;
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(enumerator->allObjects()->count(), 0u);
  renew_pool();
  array.reset();
  EXPECT_EQ(item->retainCount(), 1u);
}

TEST_F(FoundationTest, DictionaryComparesKeysByValue) {
  const NS::Object* values[] = {NS::Number::number(1), NS::Number::number(2.5)};
  const NS::Object* keys[] = {string("one"), string("half")};
  auto* map = NS::Dictionary::dictionary(values, keys, 2);
  EXPECT_EQ(map->count(), 2u);
  EXPECT_EQ(map->object<NS::Number>(string("one"))->intValue(), 1);
  EXPECT_EQ(map->object<NS::Number>(string("half"))->doubleValue(), 2.5);
  EXPECT_EQ(map->object(string("none")), nullptr);
  EXPECT_EQ(text(map->keyEnumerator<NS::String>()->nextObject()), "one");
}

TEST_F(FoundationTest, SetDropsEqualMembers) {
  const NS::Object* objects[] = {string("a"), string("b"), string("a")};
  auto set = TransferPtr(NS::Set::alloc()->init(objects, 3));
  EXPECT_EQ(set->count(), 2u);
}

TEST_F(FoundationTest, NumbersConvertAndCompare) {
  EXPECT_EQ(NS::Number::number(-1)->unsignedLongLongValue(), ~0ull);
  EXPECT_EQ(NS::Number::number(1e300)->intValue(), INT32_MAX);
  EXPECT_TRUE(NS::Number::number(true)->boolValue());
  EXPECT_STREQ(NS::Number::number(2.5f)->objCType(), "f");
  EXPECT_EQ(text(NS::Number::number(42u)->stringValue()), "42");
  EXPECT_EQ(NS::Number::number(-1)->compare(NS::Number::number(~0ull)), NS::OrderedAscending);
  EXPECT_TRUE(NS::Number::number(3)->isEqualToNumber(NS::Number::number(3.0)));
  int value = 7;
  auto* boxed = NS::Value::value(&value, "i");
  int copy = 0;
  boxed->getValue(&copy, sizeof copy);
  EXPECT_EQ(copy, 7);
  EXPECT_EQ(NS::Value::value(&value)->pointerValue(), &value);
}

TEST_F(FoundationTest, ErrorCarriesDomainCodeAndInfo) {
  const NS::Object* description = string("it broke");
  const NS::Object* key = NS::LocalizedDescriptionKey;
  auto* error =
      NS::Error::error(NS::CocoaErrorDomain, 42, NS::Dictionary::dictionary(&description, &key, 1));
  EXPECT_EQ(error->code(), 42);
  EXPECT_EQ(text(error->domain()), "NSCocoaErrorDomain");
  EXPECT_EQ(text(error->localizedDescription()), "it broke");
  EXPECT_EQ(error->userInfo()->count(), 1u);
  auto* bare = NS::Error::error(NS::POSIXErrorDomain, 2, nullptr);
  EXPECT_THAT(text(bare->localizedDescription()), HasSubstr("NSPOSIXErrorDomain error 2"));
  EXPECT_EQ(bare->localizedFailureReason(), nullptr);
}

TEST_F(FoundationTest, UrlGivesThePathOfAFile) {
  EXPECT_STREQ(NS::URL::fileURLWithPath(string("/a/b"))->fileSystemRepresentation(), "/a/b");
  auto url = TransferPtr(NS::URL::alloc()->init(string("file:///c")));
  EXPECT_STREQ(url->fileSystemRepresentation(), "/c");
}

TEST_F(FoundationTest, ProcessInfoKnowsTheProcess) {
  auto* info = NS::ProcessInfo::processInfo();
  EXPECT_GT(info->processIdentifier(), 0);
  EXPECT_GE(info->processorCount(), 1u);
  EXPECT_GT(info->physicalMemory(), 1u << 20);
  EXPECT_GE(info->arguments()->count(), 1u);
  EXPECT_NE(text(info->processName()), "");
}

TEST_F(FoundationTest, SharedPtrFollowsTheReferenceCount) {
  auto first = TransferPtr(NS::String::alloc()->init("x", NS::UTF8StringEncoding));
  auto* raw = first.get();
  {
    Ptr<NS::Object> second = first;
    EXPECT_EQ(raw->retainCount(), 2u);
    Ptr<NS::String> third = NS::RetainPtr(raw);
    EXPECT_EQ(raw->retainCount(), 3u);
    Ptr<NS::String> moved = std::move(third);
    EXPECT_EQ(raw->retainCount(), 3u);
    EXPECT_FALSE(third);
  }
  EXPECT_EQ(raw->retainCount(), 1u);
  auto& same = first;
  first = same;
  EXPECT_EQ(raw->retainCount(), 1u);
  Ptr<NS::String> empty, copy = empty;
  EXPECT_FALSE(copy);
}

TEST_F(FoundationTest, PoolsNestAndReleaseWhatTheyHold) {
  auto object = TransferPtr(NS::String::alloc()->init("x", NS::UTF8StringEncoding));
  auto* outer = NS::AutoreleasePool::alloc()->init();
  object->retain()->autorelease();
  auto* inner = NS::AutoreleasePool::alloc()->init();
  object->retain()->autorelease();
  EXPECT_EQ(object->retainCount(), 3u);
  inner->release();
  EXPECT_EQ(object->retainCount(), 2u);
  outer->drain();
  EXPECT_EQ(object->retainCount(), 1u);
}

TEST_F(FoundationTest, ReleasingAnOuterPoolFirstClosesTheInnerOnes) {
  auto object = TransferPtr(NS::String::alloc()->init("x", NS::UTF8StringEncoding));
  auto* outer = NS::AutoreleasePool::alloc()->init();
  auto* inner = NS::AutoreleasePool::alloc()->init();
  object->retain()->autorelease();
  outer->release();
  EXPECT_EQ(object->retainCount(), 1u);
  inner->release();
}

TEST_F(FoundationTest, PoolsBelongToOneThread) {
  auto object = TransferPtr(NS::String::alloc()->init("x", NS::UTF8StringEncoding));
  std::thread([&] {
    auto* pool = NS::AutoreleasePool::alloc()->init();
    object->retain()->autorelease();
    EXPECT_EQ(object->retainCount(), 2u);
    pool->release();
  }).join();
  EXPECT_EQ(object->retainCount(), 1u);
}

TEST_F(FoundationTest, DescriptorsCopyAndImmutablesShare) {
  auto descriptor = TransferPtr(MTL::HeapDescriptor::alloc()->init());
  descriptor->setSize(100);
  auto copy = TransferPtr(descriptor->copy());
  copy->setSize(200);
  EXPECT_EQ(descriptor->size(), 100u);
  EXPECT_EQ(copy->size(), 200u);
  auto* value = string("same");
  auto same = TransferPtr(value->copy());
  EXPECT_EQ(same.get(), value);
}

}  // namespace
}  // namespace mlxn_test
