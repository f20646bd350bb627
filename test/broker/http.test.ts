import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectSocket, type Socket } from 'node:net';
import { startBroker } from '@signalbox/broker';
import { areStoresInFiles, connectWire, startTestBroker, type TestBroker, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { brokenDisk } from '../support/broker/broken-disk.ts';
import { ask, figureOf, readToEnd } from '../support/http/ask.ts';

async function scrape(broker: TestBroker, token?: string): Promise<string> {
  const bearer = token ?? (await broker.operatorToken());
  const { status, body } = await ask(broker, '/metrics', { headers: { authorization: `Bearer ${bearer}` } });
  expect(status, body).toBe(200);
  return body;
}

test('Probes are answered on the port of the WebSockets and on the Unix socket; what else is asked is refused in the words of the client.', async () => {
  await using broker = await startTestBroker();
  const socketPath = broker.broker.socket!.slice('unix:'.length);
  for (const to of [{ port: broker.port }, { socketPath }]) {
    expect(await ask(to, '/livez')).toMatchObject({ status: 200, body: 'ok\n' });
    expect(await ask(to, '/readyz')).toMatchObject({ status: 200, body: 'ok\n' });
    const json = { headers: { accept: 'application/json' } };
    expect(JSON.parse((await ask(to, '/readyz', json)).body)).toEqual({ ready: true });
    const head = await ask(to, '/livez', { method: 'HEAD' });
    expect(head).toMatchObject({ status: 200, body: '', headers: { 'content-length': '3' } });
  }
  const unknown = await ask(broker, '/nothing?x=<b>');
  expect(unknown).toMatchObject({ status: 404, headers: { connection: 'close' } });
  expect(JSON.parse(unknown.body)).toMatchObject({ error: { code: 'not_found' } });
  const page = await ask(broker, '/nothing', { headers: { accept: 'text/html,*/*' } });
  expect(page).toMatchObject({ status: 404, headers: { 'content-type': 'text/html; charset=utf-8' } });
  expect(page.body).toContain('/metrics');
  expect(await ask(broker, '/metrics', { method: 'POST', body: 'x' })).toMatchObject({
    status: 405,
    headers: { allow: 'GET, HEAD' },
  });
  expect(await ask(broker, '/livez', { body: 'a body that nobody reads' })).toMatchObject({ status: 200 });
  expect(await ask(broker, '/')).toMatchObject({ status: 426, headers: { upgrade: 'websocket' } });
  expect((await ask(broker, '//')).status).toBe(404);
  const rebound = await ask(broker, '/livez', { headers: { host: 'evil.example' } });
  expect(rebound).toMatchObject({ status: 403, body: expect.stringContaining('forbidden_host') });
  const foreign = await ask(broker, '/metrics', { headers: { origin: 'http://evil.example' } });
  expect(foreign).toMatchObject({ status: 403, body: expect.stringContaining('forbidden_origin') });
});

test('Metrics and the verbose answer are for the tokens of operators and observers, unless they are open.', async () => {
  await using broker = await startTestBroker();
  const observer = await broker.broker.issueToken({ agent: 'operator.metrics', role: 'observer' });
  const worker = await broker.token('walt');
  for (const path of ['/metrics', '/readyz?verbose']) {
    const as = (token: string) => ask(broker, path, { headers: { authorization: `Bearer ${token}` } });
    expect(await ask(broker, path)).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer realm="signalbox"' },
      body: expect.stringContaining('broker.metrics'),
    });
    expect((await as('sbx_nobody_xxxx')).status).toBe(401);
    expect(await as(worker)).toMatchObject({ status: 403, body: expect.stringContaining("'walt'") });
    expect((await as(observer.token)).status).toBe(200);
  }
  const refused = async () => {
    const metrics = await scrape(broker, observer.token);
    expect(metrics).not.toMatch(/walt|operator\.metrics/);
    return ['unauthorized', 'forbidden'].map((code) =>
      figureOf(metrics, `signalbox_refusals_total{code="${code}"}`),
    );
  };
  await expect.poll(refused).toEqual([4, 2]);
  await broker.restart({ metrics: 'open' });
  expect((await ask(broker, '/metrics')).status).toBe(200);
  const verbose = await ask(broker, '/readyz?verbose');
  expect(verbose.body).toMatch(/^ok\n\[ok\] {3}store: writes and reads\n\[ok\] {3}connections: 0 of \d+\n$/);
  await using directory = await tempDir();
  const beyond = { dataDir: `${directory.path}/d`, host: '0.0.0.0', port: 0, insecure: true };
  await expect(startBroker({ ...beyond, metrics: 'open' })).rejects.toMatchObject({
    code: 'insecure_listen',
    message: expect.stringContaining('broker.metrics'),
  });
});

test('Messages are counted by kind and outcome, and what waits by the role of its recipient, over a restart too.', async () => {
  let now = 1_800_000_000_000;
  await using broker = await startTestBroker({ now: () => now, monotonic: () => performance.now() });
  await using alice = await connectWire(broker.url, { agent: 'alice', token: await broker.token('alice') });
  const token = await broker.token('bob', 'reviewer');
  const bob = await connectWire(broker.url, { agent: 'bob', token });
  bob.send({ type: 'subscribe', request_id: 's' });
  await bob.next(['subscribed']);
  const send = async (id: string, to: string) => {
    alice.send({ type: 'deliver', to, id, kind: 'note' }, '"12345"');
    return await alice.next(['delivered', 'error']);
  };
  await send('a', 'bob');
  await send('b', 'bob');
  const [first, second] = [await bob.next(['message']), await bob.next(['message'])];
  bob.send({ type: 'ack', seqs: [first.seq], request_id: 'a' });
  await bob.next(['ack_result']);
  bob.send({ type: 'nack', seqs: [second.seq], request_id: 'n' });
  await bob.next(['ack_result']);
  const again = await bob.next(['message']);
  bob.send({ type: 'nack', seqs: [again.seq], dead: true, request_id: 'd' });
  await bob.next(['ack_result']);
  await send('c', 'bob');
  await bob[Symbol.asyncDispose]();
  await send('d', 'nobody-of-that-name');
  now += 90_000;
  await send('e', 'bob#sub');
  const waiting = async () => {
    const metrics = await scrape(broker);
    return ['pending_messages', 'pending_bytes', 'oldest_pending_age_seconds'].map((name) =>
      figureOf(metrics, `signalbox_${name}{role="reviewer"}`),
    );
  };
  await expect.poll(waiting).toEqual([2, 14, 90]);
  const metrics = await scrape(broker);
  const values = {
    'signalbox_messages_stored_total{kind="note"}': 4,
    'signalbox_messages_delivered_total{kind="note"}': 4,
    'signalbox_messages_redelivered_total{kind="note"}': 1,
    'signalbox_messages_settled_total{kind="note",outcome="acked"}': 1,
    'signalbox_messages_settled_total{kind="note",outcome="dead"}': 1,
    'signalbox_messages_dead_total{reason="dead"}': 1,
    'signalbox_refusals_total{code="unknown_recipient"}': 1,
    'signalbox_connections{role="worker"}': 1,
    signalbox_dead_letters: 1,
    signalbox_ready: 1,
  };
  for (const [series, value] of Object.entries(values)) expect(figureOf(metrics, series), series).toBe(value);
  // A database has synced what it has committed.
  if (areStoresInFiles) expect(figureOf(metrics, 'signalbox_store_sync_seconds_count')).toBeGreaterThan(3);
  expect(figureOf(metrics, 'signalbox_store_commit_seconds_count')).toBeGreaterThan(3);
  expect(figureOf(metrics, 'signalbox_store_bytes')).toBeGreaterThan(0);
  await broker.restart();
  await expect.poll(waiting).toEqual([2, 14, 90]);
  expect(figureOf(await scrape(broker), 'signalbox_dead_letters')).toBe(1);
});

test('A broker whose room is used up is alive and not ready, and says why.', async () => {
  await using broker = await startTestBroker({ limits: { store: { bytes: 1 } } });
  expect((await ask(broker, '/livez')).status).toBe(200);
  expect(await ask(broker, '/readyz')).toMatchObject({
    status: 503,
    body: expect.stringMatching(/^storage_full: .*broker\.limits\.store\.bytes/),
  });
  expect(figureOf(await scrape(broker), 'signalbox_ready')).toBe(0);
});

/** Opens a socket and sends bytes on it. */
async function openSocket(port: number, bytes: string): Promise<Socket> {
  const socket = connectSocket(port, '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

test('What is no plain request of HTTP/1.1 is answered in HTTP/1.1, or refused, and never becomes a connection.', async () => {
  await using broker = await startTestBroker();
  const say = async (...lines: string[]) =>
    readToEnd(await openSocket(broker.port, `${lines.join('\r\n')}\r\n\r\n`));
  const host = 'host: localhost';
  const webSocket = [
    ...['connection: Upgrade', 'upgrade: websocket', 'sec-websocket-version: 13'],
    ...['sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-protocol: signalbox.v1'],
  ];
  // A health check of HTTP/1.0 names no host.
  expect(await say('GET /livez HTTP/1.0')).toMatch(/^HTTP\/1\.1 200 OK/);
  expect(await say('GET /livez HTTP/1.0', 'host: evil.example')).toMatch(/^HTTP\/1\.1 403 /);
  expect(await say('GET /livez HTTP/1.1')).toMatch(/^HTTP\/1\.1 400 /);
  const h2c = ['connection: Upgrade, HTTP2-Settings', 'upgrade: h2c', 'http2-settings: AAMAAABkAAQAAP__'];
  expect(await say('GET /livez HTTP/1.1', host, ...h2c)).toMatch(/^HTTP\/1\.1 200 OK/);
  expect(await say('PRI * HTTP/2.0', '', 'SM')).toMatch(/^HTTP\/1\.1 400 |^$/);
  expect(await say('GET /metrics HTTP/1.1', host, ...webSocket)).toMatch(
    /^HTTP\/1\.1 404 [\s\S]*at \/ alone/,
  );
  expect(await say('POST /livez HTTP/1.1', host, 'content-length: 0')).toMatch(
    /^HTTP\/1\.1 405 [\s\S]*allow: GET, HEAD\r\n/i,
  );
  expect(await say('CONNECT evil.example:80 HTTP/1.1', host)).not.toMatch(/^HTTP\/1\.1 2/);
  expect(await say(`GET /${'x'.repeat(32 * 1024)} HTTP/1.1`, host)).toMatch(/^HTTP\/1\.1 431 /);
  const many = Array.from({ length: 3000 }, (_, i) => `x-${i}: y`);
  expect(await say('GET /livez HTTP/1.1', host, ...many)).toMatch(/^HTTP\/1\.1 431 /);
  expect(await say('GET /livez HTTP/1.1', host, 'transfer-encoding: chunked', 'content-length: 3')).toMatch(
    /^HTTP\/1\.1 400 /,
  );
  // The positive control: the same upgrade where WebSockets are served.
  const opened = await openSocket(
    broker.port,
    `${['GET / HTTP/1.1', host, ...webSocket].join('\r\n')}\r\n\r\n`,
  );
  expect(String((await once(opened, 'data'))[0])).toMatch(/^HTTP\/1\.1 101 /);
  opened.destroy();
  expect(figureOf(await scrape(broker), 'signalbox_refusals_total{code="not_found"}')).toBe(1);
});

test.runIf(areStoresInFiles)(
  'A broker whose disk failed is not ready, and says so before it stops.',
  async () => {
    await using broker = await startTestBroker();
    {
      using _broken = brokenDisk();
      expect(await ask(broker, '/readyz')).toMatchObject({
        status: 503,
        body: expect.stringMatching(/^store_failed: the disk/),
      });
      expect((await ask(broker, '/readyz').catch(() => ({ status: 503 }))).status).toBe(503);
    }
  },
);

test('A broker that stops is not ready for those who still reach it, and refuses new connections.', async () => {
  await using broker = await startTestBroker();
  const early = await openSocket(broker.port, 'GET /readyz HTTP/1.1\r\nhost: localhost\r\n');
  expect((await ask(broker, '/readyz')).status).toBe(200);
  const stopped = broker.broker.stop();
  early.write('\r\n');
  expect(await readToEnd(early)).toMatch(/^HTTP\/1\.1 503 [\s\S]*draining: the broker is stopping\n$/);
  await stopped;
  await expect(ask(broker, '/readyz')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('A thousand slow sockets, huge headers and pipelined requests end without slowing messages or keeping memory.', async () => {
  await using broker = await startTestBroker();
  await using alice = await connectWire(broker.url, { agent: 'alice', token: await broker.token('alice') });
  const sockets: Socket[] = [];
  const open = async (bytes: string) => {
    const socket = await openSocket(broker.port, bytes);
    sockets.push(socket);
    return socket;
  };
  await Promise.all(Array.from({ length: 1000 }, (_, i) => open(`GET /metrics HTTP/1.1\r\nx-slow: ${i}`)));
  for (let i = 0; i < 20; i++) {
    alice.send({ type: 'deliver', to: 'alice', id: `beside-${i}`, kind: 'note' }, '{}');
    expect(await alice.next(['delivered', 'error'])).toMatchObject({ type: 'delivered' });
  }
  expect(sockets.some((socket) => !socket.closed && socket.bytesRead === 0)).toBe(true);
  const huge = await open(`GET /livez HTTP/1.1\r\nhost: localhost\r\nx: ${'x'.repeat(64 * 1024)}\r\n\r\n`);
  expect(await readToEnd(huge)).not.toContain('200');
  const one = 'GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n';
  const pipelined = await readToEnd(await open(one.repeat(200)));
  expect(pipelined.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(1);
  expect((await ask(broker, '/readyz')).status).toBe(200);
  const metrics = await scrape(broker);
  expect(figureOf(metrics, 'signalbox_unauthenticated_connections')).toBeLessThanOrEqual(1024);
  for (const socket of sockets) socket.destroy();
});

test('Every metric that an alert or the guide names is served, and the guide names every metric that is.', async () => {
  await using broker = await startTestBroker({ metrics: 'open' });
  const { body } = await ask(broker, '/metrics');
  const served = Array.from(body.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name);
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const guide = Array.from(
    read('docs/reference/monitoring.md').matchAll(/^\| `(signalbox_\w+)`/gm),
    ([, name]) => name,
  );
  expect(guide.sort()).toEqual(served.sort());
  const named = Array.from(
    read('deploy/prometheus/alerts.yml').matchAll(/\bsignalbox_\w+/g),
    ([name]) => name,
  );
  expect(named.length).toBeGreaterThan(15);
  for (const name of named) expect(served).toContain(name.replace(/_(bucket|sum|count)$/, ''));
});
