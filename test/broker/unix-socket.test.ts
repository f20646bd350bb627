import { once } from 'node:events';
import { access, chmod, mkdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { connect as connectSocket, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { connectBroker, requestAddress } from '@signalbox/client';
import { connectWire, startBrokerProcess, startTestBroker, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Makes a path so long that `broker.sock` in it has so many bytes. */
function longDirectory(parent: string, bytes: number): string {
  return join(parent, 'd'.repeat(bytes - `${parent}//broker.sock`.length));
}

test('A broker listens on a private Unix socket in its data directory beside TCP, one inbox behind both, and removes it when it stops.', async () => {
  const broker = await startTestBroker();
  const path = join(broker.dataDir, 'broker.sock');
  try {
    expect(broker.broker.socket).toBe(`unix:${path}`);
    expect(JSON.parse(await readFile(join(broker.dataDir, 'broker.json'), 'utf8'))).toMatchObject({
      url: broker.url,
      socket: `unix:${path}`,
    });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await using walt = await connectBroker({
      url: broker.broker.socket!,
      token: await broker.token('walt'),
      agent: 'walt',
    });
    await walt.serve(['ask'], async ({ json }) => ({ kind: 'reply', body: json }));
    await using rosa = await connectBroker({
      url: broker.url,
      token: await broker.token('rosa'),
      agent: requestAddress('rosa'),
    });
    expect(await rosa.request('walt', 'ask', { n: 1 }, { timeoutMs: 20_000 })).toMatchObject({
      status: 'completed',
      reply: { json: { n: 1 } },
    });
    await broker.restart();
    expect(await rosa.request('walt', 'ask', { n: 2 }, { timeoutMs: 20_000 })).toMatchObject({
      status: 'completed',
    });
    await broker.broker.stop();
    expect(await exists(path)).toBe(false);
  } finally {
    await broker[Symbol.asyncDispose]();
  }
});

test('After kill -9 the stale socket is replaced; a second broker is refused and takes nothing from the first.', async () => {
  await using directory = await tempDir();
  const dataDir = join(directory.path, 'data');
  const url = `unix:${join(dataDir, 'broker.sock')}`;
  const first = await startBrokerProcess(dataDir);
  const token = await first.operatorToken();
  await first.kill();
  expect(await exists(join(dataDir, 'broker.sock'))).toBe(true);
  await expect(connectBroker({ url, token, agent: 'operator' })).rejects.toMatchObject({
    code: 'unreachable',
  });

  await using next = await startTestBroker({ dataDir });
  await using operator = await connectBroker({ url, token, agent: 'operator' });
  await expect(startTestBroker({ dataDir })).rejects.toMatchObject({ code: 'data_directory_locked' });
  await using another = await connectBroker({ url, token, agent: requestAddress('operator') });
  expect([operator, another].map(({ welcome }) => welcome.broker_id)).toEqual(
    Array(2).fill(next.broker.brokerId),
  );
});

test('A path of 101 bytes or with a comma holds no socket: it goes to the runtime directory, else there is TCP only, with a warning.', async () => {
  await using directory = await tempDir();
  const runtimeDir = join(directory.path, 'run');
  await mkdir(runtimeDir, { mode: 0o700 });
  const [fits, long] = [100, 101].map((bytes) => longDirectory(directory.path, bytes)) as [string, string];
  const start = async (dataDir: string, runtime: string) => {
    const warnings: unknown[] = [];
    const broker = await startTestBroker({
      dataDir,
      runtimeDir: runtime,
      log: (entry) => void (entry.event === 'no_socket' && warnings.push(entry.message)),
    });
    return {
      broker,
      socket: broker.broker.socket,
      warnings,
      [Symbol.asyncDispose]: () => broker[Symbol.asyncDispose](),
    };
  };
  {
    await using broker = await start(fits, runtimeDir);
    expect(broker).toMatchObject({ socket: `unix:${fits}/broker.sock`, warnings: [] });
  }
  {
    await using elsewhere = await start(long, runtimeDir);
    expect(elsewhere.socket).toMatch(/^unix:.*\/run\/signalbox-[0-9a-f]{16}\/broker\.sock$/);
    const path = elsewhere.socket!.slice('unix:'.length);
    expect((await stat(join(path, '..'))).mode & 0o777).toBe(0o700);
    const token = await elsewhere.broker.operatorToken();
    await using client = await connectBroker({ url: elsewhere.socket!, token, agent: 'operator' });
    expect(client.state).toEqual({ name: 'ready' });
    await client.close();
    await elsewhere.broker.broker.stop();
    expect(await exists(join(path, '..'))).toBe(false);
    // The entry of that name must be ours alone.
    await mkdir(join(path, '..'), { mode: 0o750 });
    await using refused = await start(long, runtimeDir);
    expect(refused.socket).toBeUndefined();
    expect(refused.warnings).toEqual([expect.stringContaining('no private directory of this user')]);
  }
  await using without = await start(long, 'relative');
  expect(without.socket).toBeUndefined();
  expect(without.warnings).toEqual([
    expect.stringMatching(/at most 100 bytes, and .* has 101; XDG_RUNTIME_DIR/),
  ]);
  await using comma = await start(join(directory.path, 'a,b'), 'relative');
  expect(comma.warnings).toEqual([expect.stringMatching(/a comma ends an address.*a,b\/broker\.sock/)]);
  await using client = await connectWire(without.broker.url);
  expect(client.socket.readyState).toBe(client.socket.OPEN);
});

test('A file that is no socket is left alone and named; with socket: false there is none.', async () => {
  await using directory = await tempDir();
  const dataDir = join(directory.path, 'data');
  await mkdir(dataDir);
  await writeFile(join(dataDir, 'broker.sock'), 'mine');
  await expect(startTestBroker({ dataDir })).rejects.toMatchObject({
    code: 'cannot_listen',
    message: expect.stringContaining(join(dataDir, 'broker.sock')),
  });
  expect(await readFile(join(dataDir, 'broker.sock'), 'utf8')).toBe('mine');
  await using broker = await startTestBroker({ dataDir, socket: false });
  expect(broker.broker.socket).toBeUndefined();
});

test('Strangers on the socket and on TCP count together, and the oldest makes room.', async () => {
  await using broker = await startTestBroker({ limits: { connections: { unauthenticated: 2 } } });
  const path = join(broker.dataDir, 'broker.sock');
  const open = async (target: { path: string } | { port: number }): Promise<Socket> => {
    const socket = connectSocket(target).on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  const oldest = await open({ path });
  const ended = once(oldest, 'close');
  const others = [await open({ port: broker.port }), await open({ path })];
  await ended;
  await using operator = await connectBroker({
    url: broker.broker.socket!,
    token: await broker.operatorToken(),
    agent: 'operator',
  });
  expect(operator.state).toEqual({ name: 'ready' });
  for (const socket of others) socket.destroy();
});

test('Seven hundred clients that come at the same moment are all accepted on the socket.', async () => {
  await using broker = await startTestBroker();
  const path = join(broker.dataDir, 'broker.sock');
  const refused: unknown[] = [];
  const sockets = Array.from({ length: 700 }, () =>
    connectSocket({ path }).on('error', (error) => refused.push(error)),
  );
  await Promise.all(
    sockets.map((socket) => Promise.race(['connect', 'close'].map((name) => once(socket, name)))),
  );
  for (const socket of sockets) socket.destroy();
  expect(refused).toEqual([]);
});

/** Listens on a socket as somebody else might, and counts who comes. */
async function squat(path: string): Promise<{ visitors: () => number; server: Server }> {
  let visitors = 0;
  const server = createServer((socket) => {
    visitors++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return { visitors: () => visitors, server };
}

test('A client connects to no socket in a directory that others may write to or that is another user’s, not by a link either; to the same socket in a private one it does.', async () => {
  await using directory = await tempDir();
  const open = join(directory.path, 'open');
  await mkdir(open);
  const { visitors, server } = await squat(join(open, 'broker.sock'));
  await symlink(open, join(directory.path, 'link'));
  const code = (name: string, options = {}): Promise<unknown> =>
    connectBroker({
      url: `unix:${join(directory.path, name, 'broker.sock')}`,
      token: 'secret',
      agent: 'rosa',
      ...options,
    }).then(
      () => 'connected',
      (error) => error.code,
    );
  for (const mode of [0o777, 0o770, 0o1777]) {
    await chmod(open, mode);
    for (const name of ['open', 'link'])
      expect(await code(name, { waitForBroker: true })).toBe('untrusted_socket');
  }
  expect(await code('missing')).toBe('unreachable');
  expect(visitors()).toBe(0);
  await chmod(open, 0o755);
  expect(await code('link')).toBe('unreachable');
  expect(visitors()).toBe(1);
  await new Promise((resolve) => server.close(resolve));
});

test('A client whose socket’s directory is replaced by an open one while the broker is down ends, and says its token to nobody.', async () => {
  await using broker = await startTestBroker();
  await using client = await connectBroker({
    url: broker.broker.socket!,
    token: await broker.token('rosa'),
    agent: 'rosa',
  });
  await broker.broker.stop();
  await rename(broker.dataDir, `${broker.dataDir}.old`);
  await mkdir(broker.dataDir);
  await chmod(broker.dataDir, 0o777);
  const { visitors, server } = await squat(join(broker.dataDir, 'broker.sock'));
  expect(await client.closed).toMatchObject({ code: 'untrusted_socket' });
  expect(visitors()).toBe(0);
  await new Promise((resolve) => server.close(resolve));
});

test('Plain ws:// beyond loopback is refused before anything is sent, and works with insecure.', async () => {
  await using broker = await startTestBroker({ host: '0.0.0.0', insecure: true });
  expect(broker.url).toBe(`ws://127.0.0.1:${broker.port}`);
  const options = { url: `ws://0.0.0.0:${broker.port}`, token: await broker.token('rosa'), agent: 'rosa' };
  await expect(connectBroker({ ...options, waitForBroker: true })).rejects.toMatchObject({
    code: 'insecure_url',
    message: expect.stringContaining('--insecure'),
  });
  await using client = await connectBroker({ ...options, insecure: true });
  expect(client.role).toBe('worker');
});

test('A socket that takes the connection and says nothing is given up in time.', async () => {
  await using directory = await tempDir();
  const path = join(directory.path, 'broker.sock');
  const mute = createServer((socket) => void socket.on('error', () => {}).resume());
  await new Promise<void>((resolve) => mute.listen(path, resolve));
  await expect(
    connectBroker({ url: `unix:${path}`, token: 'secret', agent: 'rosa', connectTimeoutMs: 100 }),
  ).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining('no welcome within 100 ms'),
  });
  await new Promise((resolve) => mute.close(resolve));
});
