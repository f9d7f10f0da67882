// Replies of a service with every field set, for goldens of what the commands make of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/outlook.hpp"
#include "proto/methods.hpp"

namespace lyk::cli::test {

inline Digest digest(char digit) {
  return *Digest::parse(std::string(64, digit));
}

inline std::string commit() {
  return "4d2393e5d7879f7cf68db04cc7c9c7342272bc05";
}

inline wire::Image image(std::string arch, wire::ImageKind kind, char digit) {
  return {.container = "library",
          .kind = kind,
          .arch = std::move(arch),
          .compression = "zstd",
          .bytes = 81'920,
          .sha256 = digest(digit),
          .kernels = {{.symbol = "_Z6im2colIfEvPKT_i",
                       .name = "void im2col<float>(float const*, int)",
                       .parameters = {{0, 8}, {8, 4}}},
                      {.symbol = "lyk_nms", .name = "lyk_nms", .parameters = {}}}};
}

inline wire::Pin pin() {
  return {.slot = "ms_deform_attn",
          .repo = "kernels-community/deformable-detr",
          .repo_types = {"kernel", "model"},
          .revision = commit(),
          .license = "Apache-2.0",
          .abi = "ms_deform_im2col",
          .deterministic = {"forward"},
          .is_public = false,
          .variants = {},
          .digests = 3,
          .source = "/etc/libreyolo-kernels/pins.d/ms_deform_attn.toml",
          .parity = {{.image = digest('7'),
                      .arch = {9, 0, ArchVariant::none},
                      .driver = {13, 0},
                      .gpu = "NVIDIA H100 PCIe",
                      .set = "whole",
                      .greatest_error = "1.2e-07"}}};
}

inline wire::RefusedPin refused_pin() {
  const std::string source = "/etc/libreyolo-kernels/pins.d/softnms.toml";
  return {.source = source, .reason = source + ":3: unknown key 'repoo'; did you mean 'repo'"};
}

inline wire::Revision revision() {
  return {.slot = "ms_deform_attn",
          .repo = "kernels-community/deformable-detr",
          .repo_type = "kernel",
          .commit = commit(),
          .proof = wire::ProofKind::git,
          .gated = false,
          .files = 3,
          .images = 24,
          .bytes = 12'582'912};
}

inline std::vector<wire::File> files() {
  return {{.path = "build/torch29-cxx11-cu130-x86_64-linux/_ops.so",
           .bytes = 4'194'304,
           .sha256 = digest('a'),
           .images = {image("sm_90", wire::ImageKind::cubin, '1'),
                      image("sm_90", wire::ImageKind::ptx, '2')}},
          {.path = "build/torch29-cxx11-cu130-x86_64-linux/metadata.json",
           .bytes = 311,
           .sha256 = digest('b'),
           .images = {}}};
}

inline wire::ResolveReply resolve_reply() {
  return {.slot = "ms_deform_attn",
          .image = image("sm_90", wire::ImageKind::cubin, '1'),
          .repo = "kernels-community/deformable-detr",
          .repo_type = "kernel",
          .commit = commit(),
          .proof = wire::ProofKind::git,
          .file = files().front().path,
          .pin = pin().source,
          .refused = {{"build/x.so sm_80 cubin", "runs on 8.x only"},
                      {"build/x.so sm_100a cubin", "built for sm_100a, which runs on 10.0 only"}}};
}

inline wire::FetchReply fetched() {
  return {.progress = std::nullopt,
          .fetched = std::vector<wire::FetchedSlot>{
              {.slot = "ms_deform_attn",
               .repo = "kernels-community/deformable-detr",
               .repo_type = "kernel",
               .commit = commit(),
               .proof = wire::ProofKind::git,
               .files = 3,
               .images = 24,
               .bytes = 12'582'912,
               .downloaded_bytes = 12'000'000,
               .adopted_bytes = 582'912,
               .warnings = {"repo type model: the Hub answers 401"}}}};
}

inline wire::VerifyReply verified() {
  return {
      .progress = std::nullopt,
      .files = 3,
      .bytes = 12'582'912,
      .damaged = {{.repo = "kernels-community/deformable-detr",
                   .commit = commit(),
                   .path = "build/x.so",
                   .expected = digest('a').hex(),
                   .actual = digest('c').hex()}},
      .missing = {
          {.repo = "kernels-community/deformable-detr", .commit = commit(), .path = "build/y.so"}}};
}

inline wire::ProbeReply probed() {
  return {.progress = std::nullopt,
          .pin =
              "slot = \"ms_deform_attn\"\nrepo = \"kernels-community/deformable-detr\"\n"
              "revision = \"4d2393e5d7879f7cf68db04cc7c9c7342272bc05\"\n"
              "abi = \"ms_deform_im2col\"\n",
          .commit = commit(),
          .repo_type = "kernel",
          .license = "Apache-2.0",
          .files = files(),
          .warnings = {"the branch v1 can move; the pin cannot"},
          .kept = {"deterministic"}};
}

inline wire::StatusReply status_reply() {
  return {.version = "0.1.0",
          .mode = wire::Mode::system,
          .pid = 41,
          .uptime_s = 7500,
          .endpoint = "https://huggingface.co",
          .offline = false,
          .store = {.path = "/var/cache/libreyolo-kernels",
                    .writable = true,
                    .bytes = 12'582'912,
                    .bytes_max = 2'147'483'648,
                    .files = 3,
                    .images = 24,
                    .quarantined = 1},
          .slots = {{.slot = "ms_deform_attn",
                     .repo = "kernels-community/deformable-detr",
                     .commit = commit(),
                     .state = wire::SlotState::cached,
                     .images = 24,
                     .reason = std::nullopt},
                    {.slot = "nms",
                     .repo = "yolo/nms",
                     .commit = commit(),
                     .state = wire::SlotState::failed,
                     .images = 0,
                     .reason = "the Hub answers 404"}},
          .counters = {.resolve_calls = 100,
                       .resolve_memory_hits = 90,
                       .resolve_store_hits = 7,
                       .resolve_misses = 3,
                       .fetches_started = 4,
                       .fetches_done = 3,
                       .fetches_failed = 1,
                       .fetched_bytes = 12'000'000,
                       .adopted_bytes = 582'912,
                       .quarantined_files = 1,
                       .refused_calls = 2,
                       .connections = 5,
                       .connections_accepted = 40,
                       .connections_refused = 6,
                       .images_in_memory = 8,
                       .images_in_memory_bytes = 655'360},
          .refused = {refused_pin()}};
}

inline client::MachineGpu gpu() {
  client::MachineGpu out{0, "NVIDIA H100 PCIe", {}};
  out.device.arch = {9, 0, ArchVariant::none};
  out.device.driver = CudaVersion{13, 0};
  return out;
}

// A machine on which nothing is in the way of ms_deform_attn.
inline Situation situation() {
  return {{}, std::vector{gpu()}, ServiceView{status_reply(), {.pins = {pin()}, .refused = {}}}};
}

inline Outlooks outlooks() {
  Outlooks out{situation(), {}};
  out.rows.push_back({"ms_deform_attn", gpu(), "hub", "the sm_90 cubin of build/a.so", {}});
  out.rows.push_back({"nms",
                      {},
                      {},
                      "the Hub answers 404",
                      Obstacle{{Code::not_cached, "the Hub answers 404"}, "mend it"}});
  return out;
}

}  // namespace lyk::cli::test
