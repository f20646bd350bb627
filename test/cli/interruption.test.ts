import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connectBroker } from '@signalbox/client';
import { startTestBroker, type TestBroker } from '@signalbox/testing';
import { expect, test, vi } from 'vitest';
import { cleanEnv, signalboxArgv } from '../support/cli/command-line.ts';

async function envOf(broker: TestBroker, agent: string): Promise<Record<string, string>> {
  return { SIGNALBOX_TOKEN: await broker.token(agent), SIGNALBOX_URL: broker.url };
}

test.each(['SIGINT', 'SIGTERM'] as const)(
  'A question is withdrawn at %s, and the command exits 130.',
  async (signal) => {
    await using broker = await startTestBroker();
    const walt = await connectBroker({ url: broker.url, token: await broker.token('walt'), agent: 'walt' });
    await using _walt = walt;
    const env = cleanEnv(await envOf(broker, 'rosa'));
    const asking = spawn(process.execPath, signalboxArgv(['ask', 'walt', 'well?', '--json']), { env });
    let stdout = '';
    asking.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    const ended = once(asking, 'close');
    await vi.waitFor(async () => expect(await walt.peek()).toHaveLength(1));
    asking.kill(signal);
    expect(await ended).toEqual([130, null]);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'cancelled' } });
    expect(await walt.peek()).toEqual([]);
  },
);
