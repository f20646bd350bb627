import { join } from 'node:path';
import { type BrokerClient, connectBroker } from '@signalbox/client';
import { startTestBroker, type TestBroker, tempDir } from '@signalbox/testing';
import { expect } from 'vitest';

export async function operatorOf(broker: Pick<TestBroker, 'url' | 'operatorToken'>): Promise<BrokerClient> {
  return await connectBroker({
    url: broker.url,
    token: await broker.operatorToken(),
    agent: 'operator#backup',
  });
}

/** A broker, its operator, and a directory for backups. */
export async function startAll() {
  await using starting = new AsyncDisposableStack();
  const { path } = starting.use(await tempDir());
  const broker = starting.use(await startTestBroker({ dataDir: join(path, 'data'), durability: 'process' }));
  const operator = starting.use(await operatorOf(broker));
  const started = starting.move();
  const at = (name: string) => join(path, name);
  return { broker, operator, at, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

export const refused = (message: string) => ({
  code: 'backup_failed',
  message: expect.stringContaining(message),
});
