import { newMessageId } from '@signalbox/client';
import { isJsonObject, type Tool, toolCallError } from '@signalbox/protocol';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import type { FaceAnswer, FaceCall, FaceTools } from '../tools/face-tools.ts';
import { type PermissionAnswer, permissionAnswer } from './permission-answer.ts';

/** The name of the tool that an agent's CLI calls when it needs a permission. */
export const permissionToolName = 'permission_prompt';

/** The CLI whose contract the tool implements, by its name for people. */
const cli = 'claude';

const definition: Tool = {
  name: permissionToolName,
  title: 'Ask a person for a permission',
  description:
    'For agent CLIs, not for models: asks a person whether the CLI may use a tool of its own. To call it gives no permission.',
  inputSchema: {
    type: 'object',
    properties: {
      tool_name: { type: 'string' },
      input: { type: 'object' },
      tool_use_id: { type: 'string' },
    },
    required: ['tool_name', 'input'],
  },
};

/**
 * The tool by which an agent's CLI asks whether it may use a tool of its own. The question waits in the queue of approvals until it is
 * decided. It is cancelled when its client cancels the call or hangs up, because the answer would then have no effect.
 */
export function permissionTools(executor: Pick<McpProxyExecutor, 'askPermission'>): FaceTools {
  return {
    list: () => [definition],
    call: (call) => (call.name === permissionToolName ? ask(executor, call) : undefined),
    onChanged: () => () => {},
    instructions: () => [],
  };
}

async function ask(
  executor: Pick<McpProxyExecutor, 'askPermission'>,
  { arguments: args, signal, key, traceparent, onProgress, onAwaitingApproval }: FaceCall,
): Promise<FaceAnswer> {
  // Claude Code also sends `tool_use_id`, which has a meaning only in that process.
  const { tool_name: tool, input } = isJsonObject(args) ? args : {};
  if (typeof tool !== 'string' || !isJsonObject(input)) {
    const message = 'a question for a permission needs tool_name, a text, and input, an object';
    const error = toolCallError('invalid_arguments', message, { mayHaveRun: false });
    return answered(permissionAnswer({}, error));
  }
  const { error } = await executor.askPermission(
    { cli, tool, input },
    {
      signal,
      requestId: key?.id ?? newMessageId(),
      traceparent,
      mayBeRepeated: key?.over,
      onProgress,
      onAwaitingApproval,
    },
  );
  // The CLI uses its tool with the input of the answer: unchanged, and not as it was shown to a person.
  return answered(permissionAnswer(input, error));
}

function answered(answer: PermissionAnswer): FaceAnswer {
  return { result: { content: [{ type: 'text', text: JSON.stringify(answer) }] } };
}
