import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { startTestBroker, tempDir } from '@signalbox/testing';
import { expect, test, vi } from 'vitest';
import { cleanEnv, jsonOf, signalbox, signalboxArgv } from '../support/cli/command-line.ts';

test('A question whose token is revoked meanwhile ends at once, with the reason and exit code 77.', async () => {
  await using broker = await startTestBroker();
  const walt = await connectBroker({ url: broker.url, token: await broker.token('walt'), agent: 'walt' });
  await using _walt = walt;
  const { id, token } = await broker.broker.issueToken({ agent: 'rosa', role: 'worker' });
  const env = { SIGNALBOX_TOKEN: token, SIGNALBOX_URL: broker.url };
  const asking = signalbox(['ask', 'walt', 'well?', '--json'], { env });
  await vi.waitFor(async () => expect(await walt.peek()).toHaveLength(1));
  const revoked = await signalbox(['token', 'revoke', '--data', broker.dataDir, '--', id]);
  expect(revoked.code).toBe(0);
  const run = await asking;
  expect(run.code).toBe(77);
  expect(jsonOf(run)).toMatchObject({
    error: { code: 'unauthorized', message: expect.stringContaining('revoked'), may_have_run: true },
  });
});

test('A broker works on when nobody reads what it prints.', async () => {
  await using directory = await tempDir();
  const data = join(directory.path, 'state');
  const args = signalboxArgv(['broker', '--listen', '127.0.0.1:0', '--data', data]);
  const broker = spawn(process.execPath, args, { env: cleanEnv(), stdio: ['ignore', 'pipe', 'ignore'] });
  broker.stdout.destroy();
  const ended = once(broker, 'exit');
  try {
    await vi.waitFor(async () => expect((await signalbox(['agents', '--data', data])).code).toBe(0));
    expect(broker.exitCode).toBe(null);
  } finally {
    broker.kill();
  }
  expect(await ended).toEqual([0, null]);
});
