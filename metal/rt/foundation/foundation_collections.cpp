// NS::Array, Dictionary, Set and their enumerators.
#include <algorithm>

#include "metal/rt/device/validation.h"
#include "metal/rt/foundation/property.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {
namespace {

bool same_objects(const std::vector<Ref<Object>>& a, const std::vector<Ref<Object>>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](auto& x, auto& y) { return x->equals(*y); });
}

std::string joined(const std::vector<Ref<Object>>& items) {
  std::string out = "(";
  for (auto& item : items) out += str(out.size() > 1 ? ", " : "", item->description());
  return out + ")";
}

// The objects of a C array; nothing, with a report, when one is null.
bool collect(const char* call, const NS::Object* const* objects, NS::UInteger count,
             std::vector<Ref<Object>>& out) {
  for (NS::UInteger i = 0; i < count; ++i) {
    if (!objects || !objects[i]) {
      report(call, str("object ", i, " of ", count, " is null, expected an object"));
      return false;
    }
    out.emplace_back(impl(objects[i]));
  }
  return true;
}

}  // namespace

std::string ArrayObject::description() const {
  return joined(items);
}
std::string SetObject::description() const {
  return joined(items);
}

bool ArrayObject::equals(const Object& other) const {
  auto* array = dynamic_cast<const ArrayObject*>(&other);
  return array && same_objects(items, array->items);
}

bool SetObject::contains(const Object& item) const {
  return std::any_of(items.begin(), items.end(), [&](auto& mine) { return mine->equals(item); });
}

bool SetObject::equals(const Object& other) const {
  auto* set = dynamic_cast<const SetObject*>(&other);
  return set && items.size() == set->items.size() &&
         std::all_of(items.begin(), items.end(), [&](auto& item) { return set->contains(*item); });
}

std::string DictionaryObject::description() const {
  std::string out = "{";
  for (auto& [key, value] : items) {
    out += str(out.size() > 1 ? "; " : "", key->description(), " = ", value->description());
  }
  return out + "}";
}

Object* DictionaryObject::find(const Object& key) const {
  for (auto& [mine, value] : items) {
    if (mine->equals(key)) return value.get();
  }
  return nullptr;
}

void DictionaryObject::set(Ref<Object> key, Ref<Object> value) {
  for (auto& [mine, old] : items) {
    if (mine->equals(*key)) {
      old = std::move(value);
      return;
    }
  }
  items.emplace_back(std::move(key), std::move(value));
}

bool DictionaryObject::equals(const Object& other) const {
  auto* map = dynamic_cast<const DictionaryObject*>(&other);
  if (!map || map->items.size() != items.size()) return false;
  return std::all_of(items.begin(), items.end(), [&](auto& item) {
    Object* value = map->find(*item.first);
    return value && value->equals(*item.second);
  });
}

}  // namespace mlxn::rt

namespace NS {

using namespace mlxn::rt;

MLXN_ALLOC(Array)
MLXN_ALLOC(Dictionary)
MLXN_ALLOC(Set)

Array* Array::init(const Object* const* pObjects, UInteger count) {
  auto* self = impl(this);
  if (self && !collect("NS::Array::init", pObjects, count, self->items)) self->items.clear();
  return this;
}

Array* Array::array() {
  return alloc()->init()->autorelease();
}
Array* Array::array(const Object* pObject) {
  return array(&pObject, pObject ? 1 : 0);
}
Array* Array::array(const Object* const* pObjects, UInteger count) {
  return alloc()->init(pObjects, count)->autorelease();
}

UInteger Array::count() const {
  auto* self = impl(this);
  return self ? self->items.size() : 0;
}

Object* Array::objectAt(UInteger index) const {
  auto* self = impl(this);
  if (!self) return nullptr;
  if (index >= self->items.size()) {
    report("NS::Array::object",
           mlxn::str("index ", index, ", expected less than the count ", self->items.size()));
    return nullptr;
  }
  return api(self->items[index].get());
}

Enumerator<Object>* Array::objectEnumerator() const {
  auto* self = impl(this);
  return self ? autoreleased(make<EnumeratorObject>(self->items)) : nullptr;
}

Dictionary* Dictionary::init(const Object* const* pObjects, const Object* const* pKeys,
                             UInteger count) {
  auto* self = impl(this);
  std::vector<Ref<mlxn::rt::Object>> values, keys;
  if (!self || !collect("NS::Dictionary::init", pObjects, count, values) ||
      !collect("NS::Dictionary::init", pKeys, count, keys)) {
    return this;
  }
  for (UInteger i = 0; i < count; ++i) self->set(adopt(keys[i]->clone()), values[i]);
  return this;
}

Dictionary* Dictionary::dictionary() {
  return alloc()->init()->autorelease();
}
Dictionary* Dictionary::dictionary(const Object* pObject, const Object* pKey) {
  return dictionary(&pObject, &pKey, 1);
}
Dictionary* Dictionary::dictionary(const Object* const* pObjects, const Object* const* pKeys,
                                   UInteger count) {
  return alloc()->init(pObjects, pKeys, count)->autorelease();
}

UInteger Dictionary::count() const {
  auto* self = impl(this);
  return self ? self->items.size() : 0;
}

Object* Dictionary::objectFor(const Object* pKey) const {
  auto* self = impl(this);
  return self && pKey ? api(self->find(*impl(pKey))) : nullptr;
}

Enumerator<Object>* Dictionary::keys() const {
  auto* self = impl(this);
  if (!self) return nullptr;
  std::vector<Ref<mlxn::rt::Object>> keys;
  for (auto& item : self->items) keys.push_back(item.first);
  return autoreleased(make<EnumeratorObject>(std::move(keys)));
}

Set* Set::init(const Object* const* pObjects, UInteger count) {
  auto* self = impl(this);
  std::vector<Ref<mlxn::rt::Object>> items;
  if (!self || !collect("NS::Set::init", pObjects, count, items)) return this;
  for (auto& item : items) {
    if (!self->contains(*item)) self->items.push_back(item);
  }
  return this;
}

UInteger Set::count() const {
  auto* self = impl(this);
  return self ? self->items.size() : 0;
}

Enumerator<Object>* Set::objectEnumerator() const {
  auto* self = impl(this);
  return self ? autoreleased(make<EnumeratorObject>(self->items)) : nullptr;
}

Object* detail::nextObject(void* pEnumerator) {
  auto* self = static_cast<EnumeratorObject*>(pEnumerator);
  if (!self || self->position == self->items.size()) return nullptr;
  return api(self->items[self->position++].get());
}

Array* detail::allObjects(void* pEnumerator) {
  auto* self = static_cast<EnumeratorObject*>(pEnumerator);
  if (!self) return nullptr;
  auto rest = make<ArrayObject>();
  rest->items.assign(self->items.begin() + static_cast<ptrdiff_t>(self->position),
                     self->items.end());
  self->position = self->items.size();
  return autoreleased(std::move(rest));
}

UInteger FastEnumeration::countByEnumerating(FastEnumerationState* pState, Object** pBuffer,
                                             UInteger len) {
  auto* self = impl(this);
  if (!self || !pState || !pBuffer) return 0;
  UInteger count = 0;
  while (count < len && self->position < self->items.size()) {
    pBuffer[count++] = api(self->items[self->position++].get());
  }
  pState->itemsPtr = pBuffer;
  static unsigned long unchanged = 0;  // collections never change
  pState->mutationsPtr = &unchanged;
  pState->state = 1;
  return count;
}

}  // namespace NS
