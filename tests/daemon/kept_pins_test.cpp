#include "daemon/kept_pins.hpp"

#include <gtest/gtest.h>

#include "proto/text.hpp"

namespace lyk::daemon {
namespace {

using fetcher::PinSet;

const std::string etc = "/etc/pins.d";

// The pin of slot `name` whose commit consists of that digit.
fetcher::Pin pin(const std::string& name, char digit) {
  const auto parsed =
      fetcher::Pin::parse(str("slot = \"", name, "\"\nrepo = \"a/b\"\nrevision = \"",
                              std::string(40, digit), "\"\nabi = \"ms_deform_im2col\"\n"),
                          "test");
  EXPECT_TRUE(parsed);
  return *parsed;
}

void put_in_force(PinSet& set, const std::string& folder, const fetcher::Pin& pin) {
  set.pins.insert_or_assign(pin.slot,
                            fetcher::LoadedPin{pin, str(folder, "/", pin.slot.text(), ".toml")});
}

void refuse(PinSet& set, const std::string& source) {
  set.refused.push_back({source, Error{Code::invalid_argument, "not TOML"}});
}

// The commits that are kept, by their digits; "*" is everything.
std::string kept(const KeptPins& pins) {
  const auto pinned = pinned_revisions(pins);
  if (!pinned)
    return "*";
  std::string text;
  for (const cache::PinnedRevision& revision : *pinned)
    text += revision.commit.hex().front();
  return text;
}

TEST(KeptPins, AreThoseInForceWhileNothingIsRefused) {
  PinSet read;
  put_in_force(read, etc, pin("x", '1'));
  put_in_force(read, etc, pin("y", '2'));
  KeptPins pins = keep_pins(read, {});
  EXPECT_EQ(kept(pins), "12");
  EXPECT_TRUE(names(pins, *RepoId::parse("a/b"), *GitId::parse(std::string(40, '1'))));
  EXPECT_FALSE(names(pins, *RepoId::parse("a/b"), *GitId::parse(std::string(40, '3'))));
  PinSet without_x;
  put_in_force(without_x, etc, pin("y", '2'));
  EXPECT_EQ(kept(keep_pins(without_x, pins)), "2") << "whoever takes a pin away means it";
}

TEST(KeptPins, AFileThatIsRefusedKeepsWhatItPinnedLast) {
  PinSet read;
  put_in_force(read, etc, pin("x", '1'));
  put_in_force(read, etc, pin("y", '2'));
  PinSet refused;
  put_in_force(refused, etc, pin("y", '2'));
  refuse(refused, etc + "/x.toml");
  const KeptPins once = keep_pins(refused, keep_pins(read, {}));
  EXPECT_EQ(kept(once), "12");
  EXPECT_EQ(kept(keep_pins(refused, once)), "12") << "reading it again changes nothing";
  PinSet mended;
  put_in_force(mended, etc, pin("x", '3'));
  put_in_force(mended, etc, pin("y", '2'));
  EXPECT_EQ(kept(keep_pins(mended, once)), "32");
}

TEST(KeptPins, AFolderThatIsRefusedIsEveryFileInIt) {
  PinSet read;
  put_in_force(read, etc, pin("x", '1'));
  put_in_force(read, "/usr/pins.d", pin("y", '2'));
  for (const std::string& folder : {etc, etc + "/"}) {
    PinSet refused;
    put_in_force(refused, "/usr/pins.d", pin("y", '2'));
    refuse(refused, folder);
    EXPECT_EQ(kept(keep_pins(refused, keep_pins(read, {}))), "12") << folder;
  }
}

TEST(KeptPins, WhatWasNeverUnderstoodMayNameAnything) {
  PinSet read;
  put_in_force(read, etc, pin("y", '2'));
  refuse(read, etc + "/x.toml");
  const KeptPins unknown = keep_pins(read, {});
  EXPECT_EQ(kept(unknown), "*");
  PinSet folder;
  refuse(folder, etc);
  EXPECT_EQ(kept(keep_pins(folder, unknown)), "*") << "the file is still in there";
  PinSet mended;
  put_in_force(mended, etc, pin("x", '1'));
  put_in_force(mended, etc, pin("y", '2'));
  EXPECT_EQ(kept(keep_pins(mended, unknown)), "12");
}

}  // namespace
}  // namespace lyk::daemon
