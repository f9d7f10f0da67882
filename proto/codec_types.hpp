// The `type`s of the interface that more than one method uses. Internal to proto/codec_*.cpp.
// Thread rule: constants.
#pragma once

#include "proto/codec.hpp"

namespace lyk::wire {

template <>
inline constexpr auto fields_of<Parameter> = std::make_tuple(field("offset", &Parameter::offset),
                                                             field("size", &Parameter::size));

template <>
inline constexpr auto fields_of<Kernel> = std::make_tuple(field("symbol", &Kernel::symbol),
                                                          field("name", &Kernel::name),
                                                          field("parameters", &Kernel::parameters));

template <>
inline constexpr auto fields_of<Image> =
    std::make_tuple(field("container", &Image::container),
                    field("kind", &Image::kind),
                    field("arch", &Image::arch),
                    field("compression", &Image::compression),
                    field("bytes", &Image::bytes),
                    field("sha256", &Image::sha256),
                    field("kernels", &Image::kernels, Presence::unless_empty));

template <>
inline constexpr auto fields_of<RefusedImage> =
    std::make_tuple(field("image", &RefusedImage::image), field("reason", &RefusedImage::reason));

template <>
inline constexpr auto fields_of<ParityRecord> =
    std::make_tuple(field("image", &ParityRecord::image),
                    field("arch", &ParityRecord::arch),
                    field("driver", &ParityRecord::driver),
                    field("gpu", &ParityRecord::gpu),
                    field("set", &ParityRecord::set),
                    field("greatest_error", &ParityRecord::greatest_error));

template <>
inline constexpr auto fields_of<Pin> =
    std::make_tuple(field("slot", &Pin::slot),
                    field("repo", &Pin::repo),
                    field("repo_types", &Pin::repo_types),
                    field("revision", &Pin::revision),
                    field("license", &Pin::license),
                    field("abi", &Pin::abi),
                    field("deterministic", &Pin::deterministic),
                    field("public", &Pin::is_public),
                    field("variants", &Pin::variants),
                    field("digests", &Pin::digests),
                    field("source", &Pin::source),
                    field("parity", &Pin::parity, Presence::unless_empty));

template <>
inline constexpr auto fields_of<RefusedPin> = std::make_tuple(field("source", &RefusedPin::source),
                                                              field("reason", &RefusedPin::reason));

template <>
inline constexpr auto fields_of<File> = std::make_tuple(field("path", &File::path),
                                                        field("bytes", &File::bytes),
                                                        field("sha256", &File::sha256),
                                                        field("images", &File::images));

template <>
inline constexpr auto fields_of<Revision> = std::make_tuple(field("slot", &Revision::slot),
                                                            field("repo", &Revision::repo),
                                                            field("repo_type",
                                                                  &Revision::repo_type),
                                                            field("commit", &Revision::commit),
                                                            field("proof", &Revision::proof),
                                                            field("gated", &Revision::gated),
                                                            field("files", &Revision::files),
                                                            field("images", &Revision::images),
                                                            field("bytes", &Revision::bytes));

template <>
inline constexpr auto fields_of<FetchProgress> =
    std::make_tuple(field("slot", &FetchProgress::slot),
                    field("step", &FetchProgress::step),
                    field("file", &FetchProgress::file),
                    field("bytes_done", &FetchProgress::bytes_done),
                    field("bytes_total", &FetchProgress::bytes_total),
                    field("files_done", &FetchProgress::files_done),
                    field("files_total", &FetchProgress::files_total));

}  // namespace lyk::wire
