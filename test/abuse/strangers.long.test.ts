import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connectWire, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { cleanEnv, signalboxArgv } from '../support/cli/command-line.ts';

/** Starts `signalbox …` in a process that may open this many files and sockets. Resolves with its first line of JSON. */
async function startWithin(openFiles: number, args: readonly string[]) {
  const child = spawn(
    'sh',
    ['-c', `ulimit -n ${openFiles} && exec "$0" "$@"`, process.execPath, ...signalboxArgv(args)],
    { env: cleanEnv(), stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const ended = Promise.all([once(child, 'exit'), text(child.stderr)]);
  const [line] = await once(child.stdout, 'data');
  return {
    ready: JSON.parse(String(line)) as { url: string; operator_token_file: string },
    /** Asks it to end. Resolves with its exit code and what it wrote to standard error. */
    async stop() {
      child.kill('SIGTERM');
      const [[code], stderr] = await ended;
      return { code: code as number | null, stderr };
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
}

/** Opens TCP connections that say nothing. Resolves when each of them was accepted or refused. */
async function openSilent(port: number, count: number): Promise<Socket[]> {
  // A socket that the other side closes is closed here only when it is read.
  const sockets = Array.from({ length: count }, () =>
    connect(port, '127.0.0.1')
      .on('error', () => {})
      .resume(),
  );
  await Promise.all(sockets.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])));
  return sockets;
}

test('1,500 connections that never speak keep nobody out of a broker with 512 descriptors, and do not hold up its end', async () => {
  await using directory = await tempDir();
  const data = `${directory.path}/data`;
  const args = ['broker', '--listen', '127.0.0.1:0', '--data', data, '--json'];
  using broker = await startWithin(512, args);
  const { url, operator_token_file: operatorTokenFile } = broker.ready;
  const silent = await openSilent(Number(new URL(url).port), 1500);
  const token = (await readFile(operatorTokenFile, 'utf8')).trim();
  await using operator = await connectWire(url, { agent: 'operator', token });
  const { limits } = operator.received[0] as unknown as {
    limits: { connections: { unauthenticated: number } };
  };
  operator.send({ type: 'deliver', to: 'operator', id: 'note', kind: 'note' }, '{}');
  expect(await operator.next(['delivered', 'error'])).toMatchObject({ type: 'delivered' });
  await expect
    .poll(() => silent.filter(({ destroyed }) => destroyed).length)
    .toBeGreaterThanOrEqual(1500 - 104);
  const { code, stderr } = await broker.stop();
  for (const socket of silent) socket.destroy();
  expect(code).toBe(0);
  expect(limits.connections.unauthenticated).toBe(104);
  expect(stderr).toMatch(/connections_lowered.*may open 512 files and sockets/);
  expect(stderr).toMatch(/strangers_evicted.*"times":\d+/);
});
