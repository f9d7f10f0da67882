#include "daemon/service.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/daemon/house.hpp"

namespace lyk::daemon {
namespace {

using test::House;

SlotName slot(const char* text) {
  return SlotName::parse(text).value();
}

TEST(Service, PinsAreReadAndReadAgain) {
  House house;
  house.pin_kernel();
  const auto service = house.open();
  const auto before = service->snapshot();
  EXPECT_NE(before->pins.find(slot("ms_deform_attn")), nullptr);
  house.pin("other", {House::kernel()});
  ASSERT_TRUE(service->reload());
  EXPECT_NE(service->snapshot()->pins.find(slot("other")), nullptr);
  EXPECT_EQ(before->pins.find(slot("other")), nullptr);  // who holds a snapshot keeps it
}

TEST(Service, AReloadForgetsTheImagesInMemory) {
  House house;
  const auto service = house.open();
  const std::uint64_t generation = service->images.lock()->generation();
  ASSERT_TRUE(service->reload());
  EXPECT_NE(service->images.lock()->generation(), generation);
}

TEST(Service, AConfigurationThatIsRefusedChangesNothing) {
  House house;
  house.pin_kernel();
  const auto service = house.open();
  house.write_config("nonsense = 1\n");
  const auto reloaded = service->reload();
  ASSERT_FALSE(reloaded);
  EXPECT_EQ(reloaded.error().code, Code::invalid_argument);
  EXPECT_EQ(service->snapshot()->settings.endpoint.port(), 9);
  EXPECT_NE(service->snapshot()->pins.find(slot("ms_deform_attn")), nullptr);
}

TEST(Service, DoesNotStartWithAConfigurationThatIsRefused) {
  House house;
  house.write_config("nonsense = 1\n");
  const auto service = Service::open({.household = {.mode = wire::Mode::user, .own_uid = 0},
                                      .places = {.config = house.path() / "daemon.toml",
                                                 .missing_config = MissingFile::is_empty,
                                                 .cache = house.cache(),
                                                 .pins = {},
                                                 .socket = {}},
                                      .environment = {},
                                      .log = Log(-1, Level::debug)});
  EXPECT_FALSE(service);
}

TEST(Service, TheStoreIsOpenedAtTheFirstNeedAndTriedAgainLater) {
  House house;
  std::ofstream{house.cache()} << "a file where the folder should be";
  const auto service = house.open();
  EXPECT_FALSE(service->store());
  std::filesystem::remove(house.cache());
  const auto store = service->store();
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ(service->store().value(), *store);  // the same one from now on
}

TEST(Service, AStoreThatIsTakenAwayIsOpenedAnew) {
  House house;
  house.pin_kernel();
  const auto service = house.open();
  const auto before = service->store().value();
  ASSERT_TRUE(before->revisions());
  std::filesystem::remove_all(house.cache());
  const auto after = service->store();
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_NE(*after, before);
  EXPECT_TRUE((*after)->try_lock("anything"));
  EXPECT_EQ(service->store().value(), *after);
}

TEST(Service, ALimitOfTheStoreIsChangedByAReload) {
  House house;
  const auto service = house.open();
  const auto store = service->store().value();
  house.write_config("cache_max_bytes = 12345\n");
  ASSERT_TRUE(service->reload());
  EXPECT_EQ(store->bytes_max(), 12'345U);
}

TEST(Service, ASlotWithoutPinsAroundItGetsNoSuggestion) {
  House house;
  const auto service = house.open();
  const auto pin = Service::find_pin(*service->snapshot(), slot("anything"));
  ASSERT_FALSE(pin);
  EXPECT_EQ(
      pin.error().message,
      "slot 'anything': no pin names it; `libreyolo-kernels pins` shows those that there are");
}

}  // namespace
}  // namespace lyk::daemon
