import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { programOptions, readCounter, startChild, startTestBroker, tempDir } from '@signalbox/testing';
import { McpProxyExecutor } from '@signalbox/worker';
import { expect, test, vi } from 'vitest';
import type { OrchestratorSettings } from '../faults/process-messages.ts';
import { connectMailbox } from '../support/worker/mailbox-client.ts';
import { connectMcpClient } from '../support/worker/mcp-client.ts';

const gate = 'mcp_counter__gate';

const orchestratorMain = new URL('../faults/orchestrator-main.ts', import.meta.url);
const faceMain = fileURLToPath(new URL('../support/worker/face-main.ts', import.meta.url));

test('after a kill -9 of a worker in mid-call, and of the orchestrator, a successor lists the call and reads its result', async () => {
  await using directory = await tempDir();
  await using broker = await startTestBroker({ durability: 'process' });
  const counterFile = join(directory.path, 'counter.jsonl');
  const settings: OrchestratorSettings = {
    url: broker.url,
    token: await broker.token('orchestrator', 'orchestrator'),
    counterFile,
    journalFile: join(directory.path, 'journal.db'),
  };
  const startOne = () => startChild(orchestratorMain, { args: [JSON.stringify(settings)] });
  await using orchestrator = await startOne();
  const token = await broker.token('rosa');
  const args = [...programOptions(), faceMain, broker.url, token, 'rosa'];
  const transport = new StdioClientTransport({ command: process.execPath, args });
  const agent = await connectMcpClient(transport);
  const file = join(directory.path, 'open');
  void agent.call(gate, { file }).catch(() => {});
  await vi.waitFor(() => expect(readCounter(counterFile)).toHaveLength(1));
  process.kill(transport.pid!, 'SIGKILL');
  await agent[Symbol.asyncDispose]();

  const connect = async () => {
    const executor = await McpProxyExecutor.connect({ url: broker.url, token, agent: 'rosa' });
    const mailbox = await connectMailbox(executor);
    return {
      ...mailbox,
      async [Symbol.asyncDispose]() {
        await mailbox[Symbol.asyncDispose]();
        await executor.close();
      },
    };
  };
  await using successor = await connect();
  const { calls } = (await successor.use('call_result')).data;
  expect(calls).toMatchObject([{ tool: gate, state: 'running' }]);
  const { call_id } = calls[0];
  await writeFile(file, '');
  expect((await successor.use('call_result', { call_id })).data).toEqual({ highWater: 1 });
  await orchestrator.end('SIGKILL');

  await using _next = await startOne();
  await using later = await connect();
  expect((await later.use('call_result')).data.calls).toMatchObject([
    { call_id, tool: gate, state: 'finished', outcome: 'ok', result_kept: true },
  ]);
  expect((await later.use('call_result', { call_id })).data).toEqual({ highWater: 1 });
});
