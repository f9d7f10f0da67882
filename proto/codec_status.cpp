// Pins and Status: what the service was told and how it fares.
#include "proto/codec_methods.hpp"
#include "proto/codec_types.hpp"

namespace lyk::wire {

template <>
inline constexpr auto fields_of<StoreStatus> =
    std::make_tuple(field("path", &StoreStatus::path),
                    field("writable", &StoreStatus::writable),
                    field("bytes", &StoreStatus::bytes),
                    field("bytes_max", &StoreStatus::bytes_max),
                    field("files", &StoreStatus::files),
                    field("images", &StoreStatus::images),
                    field("quarantined", &StoreStatus::quarantined));

template <>
inline constexpr auto fields_of<SlotStatus> = std::make_tuple(field("slot", &SlotStatus::slot),
                                                              field("repo", &SlotStatus::repo),
                                                              field("commit", &SlotStatus::commit),
                                                              field("state", &SlotStatus::state),
                                                              field("images", &SlotStatus::images),
                                                              field("reason", &SlotStatus::reason));

template <>
inline constexpr auto fields_of<Counters> =
    std::make_tuple(field("resolve_calls", &Counters::resolve_calls),
                    field("resolve_memory_hits", &Counters::resolve_memory_hits),
                    field("resolve_store_hits", &Counters::resolve_store_hits),
                    field("resolve_misses", &Counters::resolve_misses),
                    field("fetches_started", &Counters::fetches_started),
                    field("fetches_done", &Counters::fetches_done),
                    field("fetches_failed", &Counters::fetches_failed),
                    field("fetched_bytes", &Counters::fetched_bytes),
                    field("adopted_bytes", &Counters::adopted_bytes),
                    field("quarantined_files", &Counters::quarantined_files),
                    field("refused_calls", &Counters::refused_calls),
                    field("connections", &Counters::connections),
                    field("connections_accepted", &Counters::connections_accepted),
                    field("connections_refused", &Counters::connections_refused),
                    field("images_in_memory", &Counters::images_in_memory),
                    field("images_in_memory_bytes", &Counters::images_in_memory_bytes));

template <>
inline constexpr auto fields_of<PinsCall> = std::make_tuple();
template <>
inline constexpr auto fields_of<PinsReply> = std::make_tuple(field("pins", &PinsReply::pins),
                                                             field("refused", &PinsReply::refused));
LYK_WIRE_METHOD(Pins);

template <>
inline constexpr auto fields_of<StatusCall> = std::make_tuple();
template <>
inline constexpr auto fields_of<StatusReply> =
    std::make_tuple(field("version", &StatusReply::version),
                    field("mode", &StatusReply::mode),
                    field("pid", &StatusReply::pid),
                    field("uptime_s", &StatusReply::uptime_s),
                    field("endpoint", &StatusReply::endpoint),
                    field("offline", &StatusReply::offline),
                    field("store", &StatusReply::store),
                    field("slots", &StatusReply::slots),
                    field("counters", &StatusReply::counters),
                    field("refused", &StatusReply::refused, Presence::unless_empty));
LYK_WIRE_METHOD(Status);

}  // namespace lyk::wire
