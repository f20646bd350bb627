import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { McpProxyExecutor } from '../mcp-proxy-executor.ts';
import type { FaceAnswer, FaceCall, FaceTools } from './face-tools.ts';
import { failedResultOf, toolResultOf } from './tool-result.ts';

/** The tools that the orchestrator hosts, as the role may see them. It takes every name: what it lacks is an error. */
export function proxiedTools(executor: McpProxyExecutor): FaceTools {
  return {
    list: () => executor.listTools(),
    call: (call) => callProxied(executor, call),
    onChanged: (listener) => executor.onManifestChanged(listener),
    instructions: () => [
      `These tools are shared by a fleet of agents; you are '${executor.agent}' and see those that the role '${executor.role}' may use.`,
      'A tool that is named mcp_SERVER__TOOL belongs to the MCP server SERVER. The list can change while you work.',
      'When a call fails (isError), the text says why and what to do; structuredContent.error holds the same as data: code, retryable, may_have_run and sometimes retry_after_seconds.',
      'Repeat a failed call only if retryable is true. If may_have_run is true, first find out whether the call took effect.',
    ],
  };
}

async function callProxied(executor: McpProxyExecutor, call: FaceCall): Promise<FaceAnswer> {
  const tool = executor.findTool(call.name);
  const { signal, onProgress } = call;
  const { result, error } = await executor.execute(
    { name: call.name, arguments: call.arguments },
    { signal, ...(onProgress && { onProgress }) },
  );
  if (!tool && error?.code === 'tool_not_found') {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, [error.message, error.hint].join('. '));
  }
  return {
    result: error ? failedResultOf(error, tool) : toolResultOf(result),
    ...(tool?.outputSchema && { outputSchema: tool.outputSchema }),
  };
}
