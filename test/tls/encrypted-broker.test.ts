import { once } from 'node:events';
import { chmod, rename, writeFile } from 'node:fs/promises';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { type BrokerClient, connectBroker } from '@signalbox/client';
import { runBroker } from '@signalbox/daemon/broker';
import { type Config, checkConfigText } from '@signalbox/daemon/config';
import { connectWire, startTestBroker, tempDir, testAuthority } from '@signalbox/testing';
import { describe, it } from 'vitest';

const authority = await testAuthority();
const { ca } = authority;
const good = await authority.issue({ names: ['localhost', '127.0.0.1'] });
const hour = 60 * 60 * 1000;

/** Connects to an encrypted broker on a port of this machine. */
function connectAs(agent: string, token: string, url: string, trusted = ca): Promise<BrokerClient> {
  return connectBroker({ url, token, agent, ca: trusted });
}

describe('An encrypted broker', () => {
  it.concurrent('serves clients that trust its authority, with TLS 1.2 at least.', async ({ expect }) => {
    await using broker = await startTestBroker({ tls: good });
    expect(broker.url).toBe(`wss://127.0.0.1:${broker.port}`);
    await using rosa = await connectAs('rosa', await broker.token('rosa'), broker.url);
    expect(rosa.state.name).toBe('ready');
    const old = connectTls({ port: broker.port, ca, minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' });
    const [error] = await once(old, 'error');
    expect(String(error)).toMatch(/protocol version|unsupported protocol|no protocols available/i);
  });

  it.concurrent('is named by its certificate where that does not name the address.', async ({ expect }) => {
    const tls = await authority.issue({ names: ['*.example.com', 'broker.example.com'] });
    await using broker = await startTestBroker({ tls });
    expect(broker.url).toBe(`wss://broker.example.com:${broker.port}`);
  });

  it.concurrent('listens beyond this machine without --insecure.', async ({ expect }) => {
    await using broker = await startTestBroker({ tls: good, host: '0.0.0.0' });
    expect(broker.url).toBe(`wss://127.0.0.1:${broker.port}`);
  });
});

it.concurrent('A certificate that is not good is refused in words that say why, and nothing is sent.', async ({
  expect,
}) => {
  const other = await testAuthority('Somebody else');
  const now = Date.now();
  const names = ['127.0.0.1'];
  const cases: [{ cert: string; key: string }, RegExp][] = [
    [await authority.issue({ names, begins: now - 2 * hour, ends: now - hour }), /it has expired/],
    [await authority.issue({ names, begins: now + hour }), /it is not valid yet/],
    [
      await authority.issue({ names: ['broker.example.com'] }),
      /it is for broker\.example\.com, and not for 127\.0\.0\.1/,
    ],
    [await other.issue({ names }), /an authority that this machine does not know/],
  ];
  for (const [tls, problem] of cases) {
    await using broker = await startTestBroker({ tls });
    const url = `wss://127.0.0.1:${broker.port}`;
    const failure = await connectAs('rosa', 'a-token', url).catch((error) => error);
    expect(failure).toMatchObject({ code: 'untrusted_certificate', retryable: false });
    expect(failure.message).toMatch(problem);
    expect(failure.details.hint).toBeTypeOf('string');
    // A client that waits for its broker does not wait for another certificate.
    const waiting = connectBroker({ url, token: 'a-token', agent: 'rosa', ca, waitForBroker: true });
    await expect(waiting).rejects.toMatchObject({ code: 'untrusted_certificate' });
  }
});

it.concurrent('Each side is told if only one of them encrypts.', async ({ expect }) => {
  await using plain = await startTestBroker();
  await using encrypted = await startTestBroker({ tls: good });
  const tooMuch = connectAs('rosa', 'a-token', plain.url.replace('ws:', 'wss:'));
  await expect(tooMuch).rejects.toMatchObject({
    code: 'wrong_scheme',
    details: { hint: expect.stringContaining(plain.url) },
  });
  const tooLittle = connectAs('rosa', 'a-token', encrypted.url.replace('wss:', 'ws:'));
  await expect(tooLittle).rejects.toMatchObject({
    code: 'wrong_scheme',
    details: { hint: `connect to ${encrypted.url}` },
  });
  const browser = connectTcp(encrypted.port, '127.0.0.1');
  browser.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
  expect(await text(browser)).toMatch(/^HTTP\/1\.1 426 [\s\S]*connect with wss:/);
});

it.concurrent('A proxy reaches a broker on loopback under a trusted origin, and its web pages do, too.', async ({
  expect,
}) => {
  const origin = 'https://signalbox.example.com';
  await using broker = await startTestBroker({ trustedOrigins: [origin] });
  const hello = { agent: 'rosa', token: await broker.token('rosa') };
  const headers = { host: 'signalbox.example.com', origin };
  await using proxied = await connectWire(broker.url, hello, { headers });
  expect(proxied.received[0]).toMatchObject({ type: 'welcome' });
  const strange = connectWire(broker.url, hello, { headers: { host: 'evil.example.com' } });
  await expect(strange).rejects.toThrow();
});

describe('The files of broker.tls', () => {
  it.concurrent('are read again when they change: under load no message is lost, none is refused, and no connection ends.', async ({
    expect,
  }) => {
    await using set = await openFiles();
    const { broker, put, events } = set;
    const url = `wss://localhost:${new URL(broker.url).port}`;
    await using rosa = await connectAs(
      'rosa',
      (await broker.issueToken({ agent: 'rosa', role: 'a' })).token,
      url,
    );
    await using max = await connectAs(
      'max',
      (await broker.issueToken({ agent: 'max', role: 'a' })).token,
      url,
    );
    const states: string[] = [];
    let answered = 0;
    await max.serve(['ask'], async () => ({ kind: 'reply', body: ++answered }));
    for (const client of [rosa, max]) client.onState(({ name }) => states.push(name));
    let isLoaded = true;
    const load = Array.from({ length: 8 }, async () => {
      let sent = 0;
      for (; isLoaded; sent++) {
        const outcome = await rosa.request('max', 'ask', {}, { timeoutMs: 10_000 });
        expect(outcome.status).toBe('completed');
      }
      return sent;
    });
    const next = await authority.issue({ names: ['localhost', 'new.example.com'] });
    await put(next);
    await events.until('tls_reloaded');
    const fresh = connectTls({ port: Number(new URL(url).port), host: 'localhost', ca });
    await once(fresh, 'secureConnect');
    expect(fresh.getPeerCertificate().subjectaltname).toContain('new.example.com');
    fresh.destroy();
    isLoaded = false;
    const sent = (await Promise.all(load)).reduce((a, b) => a + b);
    expect({ answered, states }).toEqual({ answered: sent, states: [] });
    expect(sent).toBeGreaterThan(20);
  });

  it.concurrent('change nothing while they are not good, and the log says why.', async ({ expect }) => {
    await using set = await openFiles();
    const { broker, put, events, key } = set;
    const other = await authority.issue({ names: ['localhost'] });
    await put({ cert: other.cert, key: good.key });
    expect(await events.until('tls_refused')).toMatch(
      /does not belong to the certificate of CN=localhost.*stay in force/,
    );
    await put(await authority.issue({ names: ['localhost'], begins: 1, ends: Date.now() - hour }));
    expect(await events.until('tls_refused')).toMatch(/expired on/);
    await put(other);
    await events.until('tls_reloaded');
    await chmod(key, 0o644);
    await broker.reload({ roles: {}, unlisted: 'allow', groups: {}, hooks: {}, schedules: {} });
    expect(await events.until('tls_refused')).toMatch(/is not private: all users/);
    await chmod(key, 0o600);
    await broker.reload({ roles: {}, unlisted: 'allow', groups: {}, hooks: {}, schedules: {} });
    await events.until('tls_unchanged');
  });
});

it.concurrent('A broker does not start with a key that others may read, or with what is no certificate.', async ({
  expect,
}) => {
  await expect(openFiles({ mode: 0o644 })).rejects.toMatchObject({
    code: 'bad_tls',
    details: { hint: expect.stringContaining('chmod 600') },
  });
  await expect(openFiles({ pair: { cert: 'nothing', key: good.key } })).rejects.toThrow(
    /no certificate in PEM/,
  );
});

/** Runs a broker from a configuration with files of its own for TLS. */
async function openFiles({ pair = good, mode = 0o600 } = {}) {
  await using opening = new AsyncDisposableStack();
  const { path } = opening.use(await tempDir());
  const key = join(path, 'key.pem');
  const put = async (next: { cert: string; key: string }): Promise<void> => {
    for (const [name, content] of Object.entries(next)) {
      await writeFile(join(path, `${name}.new`), content, { mode });
      await rename(join(path, `${name}.new`), join(path, `${name}.pem`));
    }
  };
  await put(pair);
  const events = eventLog();
  const config: Config = await checkConfigText(
    'broker: { listen: "127.0.0.1:0", data: data, tls: { cert: cert.pem, key: key.pem } }',
    join(path, 'signalbox.yaml'),
  );
  const broker = opening.use(await runBroker({ config, log: events.take }));
  const resources = opening.move();
  return { broker, put, events, key, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Collects events, so that a test can wait for one. */
function eventLog() {
  const unread: { event: string; message?: string }[] = [];
  let wake = (): void => {};
  return {
    take: (event: { event: string; message?: string }): void => {
      unread.push(event);
      wake();
    },
    /** Resolves with the text of the next event of this name. */
    async until(name: string): Promise<string> {
      for (;;) {
        const at = unread.findIndex(({ event }) => event === name);
        if (at >= 0) return unread.splice(0, at + 1).at(-1)!.message ?? '';
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
