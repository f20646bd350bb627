import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { runOrchestrator } from '@signalbox/daemon';
import { loadConfig } from '@signalbox/daemon/config';
import { startTestBroker, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { ask, figureOf } from '../support/http/ask.ts';

/** A broker, and an orchestrator that listens on a port of its own. It knows two addresses of brokers, and nobody listens at one. */
async function startListening() {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const broker = starting.use(await startTestBroker());
  const token = await broker.tokenOf('orchestrator', 'orchestrator');
  const builtIn = await loadConfig(undefined);
  const config = {
    ...builtIn,
    orchestrator: { ...builtIn.orchestrator, listen: { host: '127.0.0.1', port: 0 } },
  };
  const options = { config, url: `ws://127.0.0.1:9,${broker.url}`, token, dataDir: directory.path };
  const orchestrator = starting.use(await runOrchestrator(options));
  const { listen } = await orchestrator.ready;
  const port = Number(new URL(`http://${listen}`).port);
  const started = starting.move();
  return {
    broker,
    options,
    port,
    get: (path: string, bearer?: string) =>
      ask({ port }, path, { headers: bearer === undefined ? {} : { authorization: `Bearer ${bearer}` } }),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

test('An orchestrator answers probes on its own port, and shows its figures to those to whom the broker shows its own.', async () => {
  await using site = await startListening();
  const { broker, get } = site;
  expect(await get('/livez')).toMatchObject({ status: 200, body: 'ok\n' });
  expect(await get('/readyz')).toMatchObject({ status: 200, body: 'ok\n' });
  const observer = await broker.broker.issueToken({ agent: 'operator.metrics', role: 'observer' });
  const worker = await broker.token('walt');
  for (const path of ['/metrics', '/readyz?verbose']) {
    expect(await get(path)).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer realm="signalbox"' },
    });
    expect(await get(path, 'sbx_nobody_xxxx')).toMatchObject({
      status: 401,
      body: expect.stringContaining('not known here'),
    });
    expect(await get(path, worker)).toMatchObject({ status: 403, body: expect.stringContaining("'walt'") });
    expect((await get(path, observer.token)).status).toBe(200);
  }
  const { body } = await get('/metrics', observer.token);
  expect(figureOf(body, 'signalbox_calls_running{orchestrator="orchestrator",server="other"}')).toBe(0);
  expect(body).not.toMatch(/walt|operator\.metrics/);
  expect((await get('/readyz?verbose', observer.token)).body).toBe(
    'ok\n[ok]   broker: ready\n[ok]   servers: no problem is known\n',
  );
});

test('A broker that shows its figures to everybody still judges the tokens that an orchestrator is shown.', async () => {
  await using site = await startListening();
  await site.broker.restart({ metrics: 'open' });
  await expect.poll(async () => (await site.get('/readyz')).status).toBe(200);
  expect((await ask(site.broker, '/metrics')).status).toBe(200);
  expect((await site.get('/metrics', 'sbx_nobody_xxxx')).status).toBe(401);
  expect((await site.get('/metrics', await site.broker.operatorToken())).status).toBe(200);
});

test('An orchestrator whose broker is away is alive and not ready, and shows figures to nobody.', async () => {
  await using site = await startListening();
  const { broker, get } = site;
  const operator = await broker.operatorToken();
  await broker.broker.stop();
  await expect.poll(async () => (await get('/readyz')).status).toBe(503);
  expect((await get('/readyz')).body).toBe('broker_lost: the broker is away: calls wait until it is back\n');
  expect((await get('/livez')).status).toBe(200);
  expect(await get('/metrics', operator)).toMatchObject({
    status: 503,
    body: expect.stringContaining('access_unknown'),
  });
  await broker.restart();
  await expect.poll(async () => (await get('/readyz')).status).toBe(200);
  expect((await get('/metrics', operator)).status).toBe(200);
});

test('An address beyond this machine, and one that is taken, are refused before anything starts.', async () => {
  await using site = await startListening();
  const start = (host: string, port: number) => {
    const { config } = site.options;
    const orchestrator = { ...config.orchestrator, listen: { host, port } };
    return runOrchestrator({ ...site.options, config: { ...config, orchestrator } });
  };
  await expect(start('0.0.0.0', 0)).rejects.toMatchObject({ code: 'insecure_listen' });
  await expect(start('127.0.0.1', site.port)).rejects.toMatchObject({
    code: 'address_in_use',
    details: { hint: expect.stringContaining('orchestrator.listen') },
  });
});

test('A hundred idle connections keep nobody from an answer.', async () => {
  await using site = await startListening();
  const idle = await Promise.all(Array.from({ length: 100 }, () => openSocket(site.port)));
  expect((await site.get('/livez')).status).toBe(200);
  await expect.poll(() => idle.filter(({ closed }) => closed).length).toBeGreaterThanOrEqual(36);
  for (const socket of idle) socket.destroy();
});

async function openSocket(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
    .on('error', () => {})
    .resume();
  await once(socket, 'connect');
  return socket;
}
