// Graphs that a capture made: their nodes, and replaying them.
#include <algorithm>

#include "tests/fakes/softcuda/edge.hpp"
#include "tests/fakes/softcuda/operations.hpp"

namespace softcuda {

namespace {

Status find_graph(GraphHandle handle, std::shared_ptr<Graph>& out) {
  out = process().graphs.find(handle);
  return out != nullptr ? Status::success : refuse(Status::invalid_value, "not a live graph");
}

// The nodes are in an order in which each comes after those it needs.
Task replay(Context& context, std::shared_ptr<const Graph> graph) {
  return [&context, graph = std::move(graph)] {
    for (const Node& node : graph->nodes) {
      if (context.fault.load() != Status::success)
        return;
      node.run();
    }
  };
}

Status launch(Context& context, GraphExecHandle handle, StreamHandle on, DefaultStream zero) {
  const auto exec = process().graph_execs.find(handle);
  if (exec == nullptr)
    return refuse(Status::invalid_value, "not a live executable graph");
  std::shared_ptr<Stream> stream;
  SOFTCUDA_TRY(stream_in(context, on, zero, stream));
  if (exec->context != &context)
    return refuse(Status::invalid_value, "a graph of another context");
  return enqueue(*stream, NodeKind::graph, replay(context, exec->graph));
}

}  // namespace

SOFTCUDA_API Status cuGraphGetNodes(GraphHandle handle, NodeHandle* nodes, std::size_t* count) {
  return call(Function::cuGraphGetNodes, {{"graph", handle}, result("count", count)},
              [&](Process&) {
                std::shared_ptr<Graph> graph;
                SOFTCUDA_TRY(find_graph(handle, graph));
                if (count == nullptr)
                  return Status::invalid_value;
                if (nodes != nullptr)
                  for (std::size_t i = 0; i < std::min(*count, graph->nodes.size()); ++i)
                    nodes[i] = node_handle(*graph, i);
                *count = graph->nodes.size();
                return Status::success;
              });
}

SOFTCUDA_API Status cuGraphInstantiateWithFlags(GraphExecHandle* out,
                                                GraphHandle handle,
                                                unsigned long long flags) {
  return call(Function::cuGraphInstantiateWithFlags,
              {{"graph", handle}, {"flags", flags}, result("out", out)}, [&](Context& context) {
                std::shared_ptr<Graph> graph;
                SOFTCUDA_TRY(find_graph(handle, graph));
                if (out == nullptr)
                  return Status::invalid_value;
                auto exec = std::make_shared<GraphExec>();
                exec->context = &context;
                exec->graph = graph;
                *out = process().graph_execs.add(exec);
                return Status::success;
              });
}

SOFTCUDA_API Status cuGraphLaunch(GraphExecHandle exec, StreamHandle stream) {
  return call(Function::cuGraphLaunch, {{"exec", exec}, {"stream", stream}}, [&](Context& context) {
    return launch(context, exec, stream, DefaultStream::legacy);
  });
}

SOFTCUDA_API Status cuGraphLaunch_ptsz(GraphExecHandle exec, StreamHandle stream) {
  return call(
      Function::cuGraphLaunch_ptsz, {{"exec", exec}, {"stream", stream}},
      [&](Context& context) { return launch(context, exec, stream, DefaultStream::per_thread); });
}

SOFTCUDA_API Status cuGraphDestroy(GraphHandle graph) {
  return call(Function::cuGraphDestroy, {{"graph", graph}}, [&](Process& state) {
    return state.graphs.take(graph) != nullptr ? Status::success
                                               : refuse(Status::invalid_value, "not a live graph");
  });
}

SOFTCUDA_API Status cuGraphExecDestroy(GraphExecHandle exec) {
  return call(Function::cuGraphExecDestroy, {{"exec", exec}}, [&](Process& state) {
    return state.graph_execs.take(exec) != nullptr
               ? Status::success
               : refuse(Status::invalid_value, "not a live executable graph");
  });
}

}  // namespace softcuda
