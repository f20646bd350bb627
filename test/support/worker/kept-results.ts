import { fileURLToPath } from 'node:url';
import type { StdioServerConfig } from '@signalbox/mcp-host';
import { ResultStore, type ResultStoreOptions } from '@signalbox/orchestrator';
import { compileCache, tempDir } from '@signalbox/testing';
import type { ToolStackOptions } from '../orchestrator/tool-stack.ts';
import { connectHttpFace, startHttpFaceStack } from './http-face.ts';
import { connectFace, type McpClient } from './mcp-client.ts';

const script = fileURLToPath(new URL('./large-results-server.ts', import.meta.url));
const large: StdioServerConfig = {
  type: 'stdio',
  command: process.execPath,
  args: [script],
  env: compileCache(),
};
const resultRules = { reader: { maxInlineBytes: 16_384 } };
export const tool = 'signalbox_result_read';

/** A stack with an HTTP face that keeps large results of the role `reader`. */
export async function startKeepingStack(
  options: ToolStackOptions = {},
  storeOptions: Partial<ResultStoreOptions> = {},
) {
  await using starting = new AsyncDisposableStack();
  const { path } = starting.use(await tempDir());
  const results = starting.use(await ResultStore.open({ directory: `${path}/results`, ...storeOptions }));
  const opened = starting.use(
    await startHttpFaceStack({ servers: { large }, counter: false, results, resultRules, ...options }),
  );
  const { stack, face } = opened;
  const started = starting.move();
  return {
    ...{ stack, results },
    client: async (agent: string, role = 'reader') =>
      await connectHttpFace(face.url, await stack.broker.tokenOf(agent, role), 'modern'),
    stdio: async (agent: string, role = 'reader') =>
      await connectFace(await stack.executor(agent, role), { era: 'legacy' }),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

export const textsOf = (result: Record<string, unknown>) =>
  (result.content as { text?: string }[]).flatMap(({ text }) => text ?? []);
export const uriOf = (result: Record<string, unknown>) =>
  (result._meta as Record<string, { uri: string }>)['signalbox/kept_result']!.uri;
export const read = async (client: McpClient, args: Record<string, unknown>) =>
  textsOf(await client.call(tool, args)).join('\n');
