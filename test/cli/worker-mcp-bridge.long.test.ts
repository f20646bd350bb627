import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanEnv, signalbox, signalboxArgv } from '../support/cli/command-line.ts';
import { workerMcp } from '../support/cli/worker-mcp-bridge.ts';
import { type SharedFaceStack, startSharedFaceStack } from '../support/worker/shared-face.ts';

let site: SharedFaceStack;

beforeAll(async () => {
  site = await startSharedFaceStack();
});
afterAll(() => site?.[Symbol.asyncDispose]());

/** The environment of an agent that uses the shared face. */
async function agentEnv(agent: string): Promise<Record<string, string>> {
  const tokenFile = join(site.stack.directory, `${agent}.token`);
  await writeFile(tokenFile, `${await site.stack.broker.tokenOf(agent, 'worker')}\n`, { mode: 0o600 });
  return { SIGNALBOX_URL: site.stack.broker.url, SIGNALBOX_TOKEN_FILE: tokenFile, SIGNALBOX_FACE: site.path };
}

test('a face of another broker is not used: the worker serves by itself', async () => {
  await using other = await startSharedFaceStack({ counter: false });
  const env = { ...(await agentEnv('theo')), SIGNALBOX_FACE: other.path };
  const { client } = await workerMcp(env);
  expect((await client.list()).map(({ name }) => name)).toContain('mcp_counter__echo');
  expect(other.face.sessionCount).toBe(0);
  await client.client.close();
});

test('a token that the broker refuses ends the worker with 77, at its start and later', async () => {
  const env = await agentEnv('uta');
  const { broker } = site.stack.broker;
  const { id, token } = await broker.issueToken({ agent: 'uta', role: 'worker' });
  await writeFile(env.SIGNALBOX_TOKEN_FILE!, token, { mode: 0o600 });
  const worker = spawn(process.execPath, signalboxArgv(['worker', 'mcp']), { env: cleanEnv(env) });
  let stderr = '';
  worker.stderr.on('data', (chunk) => (stderr += chunk));
  const ended = once(worker, 'exit');
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  worker.stdin.write(`${JSON.stringify(ping)}\n`);
  await once(worker.stdout, 'data');
  const operator = await site.stack.client('operator');
  await operator.admin('token_revoke', { id });
  expect(await ended).toEqual([77, null]);
  expect(stderr).toContain('signalbox token issue');
  const again = await signalbox(['worker', 'mcp'], { env });
  expect(again).toMatchObject({
    code: 77,
    stdout: '',
    stderr: expect.stringContaining('signalbox token issue'),
  });
});

test('a client that hangs up and never read leaves a shim that ends in order and says nothing', async () => {
  const started = spawn(process.execPath, signalboxArgv(['worker', 'mcp']), {
    env: cleanEnv(await agentEnv('wes')),
  });
  let stderr = '';
  started.stderr.on('data', (chunk) => (stderr += chunk));
  const write = (message: object) =>
    started.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  write({ id: 0, method: 'initialize', params });
  write({ method: 'notifications/initialized' });
  for (let id = 1; id <= 4; id++)
    write({
      id,
      method: 'tools/call',
      params: { name: 'mcp_counter__big', arguments: { bytes: 1_000_000 } },
    });
  // An answer of this size fits into no pipe.
  await expect.poll(() => started.stdout.readableLength).toBeGreaterThan(16_384);
  started.stdin.end();
  expect(await once(started, 'exit')).toEqual([0, null]);
  expect(stderr).toBe('');
});
