import { join } from 'node:path';
import { counterServer, readCounter, tempDir } from '@signalbox/testing';
import { startTestHost } from './test-host.ts';

export async function counterHost(timeoutMs?: number) {
  const dir = await tempDir();
  const file = join(dir.path, 'count');
  const counter = { ...counterServer(file), ...(timeoutMs !== undefined && { timeoutMs }) };
  const host = startTestHost({ servers: { counter } });
  await host.inventory();
  return {
    host,
    lines: () => readCounter(file).map(({ tool, at }) => `${tool} ${at}`),
    async [Symbol.asyncDispose]() {
      await host.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}
