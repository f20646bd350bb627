import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { connectBroker } from '@signalbox/client';
import { startMcpHost } from '@signalbox/mcp-host';
import { startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { startTestBroker, tempDir, testAuthority } from '@signalbox/testing';
import { serveSharedFace } from '@signalbox/worker/internal';
import { expect, it } from 'vitest';
import { cleanEnv, signalboxArgv } from '../support/cli/command-line.ts';
import { connectMcpClient } from '../support/worker/mcp-client.ts';

it('With SIGNALBOX_CA_FILE worker mcp reaches an encrypted broker through a shared face, and by itself where there is none.', async () => {
  const { ca, issue } = await testAuthority();
  await using directory = await tempDir();
  await using broker = await startTestBroker({ tls: await issue({ names: ['localhost', '127.0.0.1'] }) });
  const { url } = broker;
  const token = await broker.tokenOf('orchestrator', 'orchestrator');
  await using client = await connectBroker({
    url,
    ca,
    token,
    agent: 'orchestrator',
  });
  await using host = startMcpHost({ servers: {} });
  await using _orchestrator = await startOrchestrator({ client, host, policy: wholePolicy() });
  const path = join(directory.path, 'face.sock');
  await using face = await serveSharedFace({ path, connect: { url, ca }, face: { version: '1.2.3' } });
  const env = {
    SIGNALBOX_URL: url,
    SIGNALBOX_TOKEN_FILE: join(directory.path, 'rosa.token'),
    SIGNALBOX_FACE: path,
    SIGNALBOX_CA_FILE: join(directory.path, 'ca.pem'),
  };
  await writeFile(env.SIGNALBOX_CA_FILE, ca);
  await writeFile(env.SIGNALBOX_TOKEN_FILE, await broker.token('rosa'), { mode: 0o600 });
  const toolsOfWorker = async (): Promise<{ tools: string[]; sessions: number }> => {
    const args = signalboxArgv(['worker', 'mcp']);
    const transport = new StdioClientTransport({ command: process.execPath, args, env: cleanEnv(env) });
    const { client: agent, list } = await connectMcpClient(transport);
    const tools = (await list()).map(({ name }) => name);
    const sessions = face.sessionCount;
    await agent.close();
    return { tools, sessions };
  };
  const served = { tools: expect.arrayContaining(['signalbox_inbox_read']) };
  expect(await toolsOfWorker()).toEqual({ ...served, sessions: 1 });
  await face.close();
  expect(await toolsOfWorker()).toEqual({ ...served, sessions: 0 });
});
