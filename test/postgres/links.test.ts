import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import tls from 'node:tls';
import { openPostgresStores, type PostgresStoresOptions } from '@signalbox/postgres';
import { describe, expect, it } from 'vitest';
import { serverUrl, testSchema } from '../support/postgres/test-store.ts';
import { message } from '../support/store/test-store.ts';

type TestSchema = Awaited<ReturnType<typeof testSchema>>;

const none = { messages: [], attempts: [], settlements: [] };

describe.skipIf(serverUrl === undefined)('A link between two brokers', () => {
  it('brings messages without a read, in their order', async () => {
    await using site = await openSite();
    const { one, send } = site;
    await one.cluster.take('bob');
    await send('a');
    const [first] = await one.cluster.read('bob', 0, 1, 1e9);
    await site.toldDirectly('b', 'c');
    const stored = await one.cluster.read('bob', 0, 10_000, 1e9);
    const [before, b, c] = stored.slice(-3).map(({ seq }) => seq);
    expect(stored[0]).toEqual(first);
    expect(one.heard.slice(-2).map((what) => what.replace(/-\d+/, ''))).toEqual([
      `came bob b ${b} after ${before}`,
      `came bob c ${c} after ${b}`,
    ]);
    expect(one.messages.slice(-2)).toEqual(stored.slice(-2));
  });

  it('only wakes for what is large, what is in a shared inbox, and what came in an earlier time with the inbox', async () => {
    await using site = await openSite();
    const { one, other, send } = site;
    await site.linked(true);
    await one.cluster.take('bob');
    await send({ ...message('large'), body: 'x'.repeat(1024 * 1024 + 1), inbox: 'bob' });
    // A look may tell of a row that a link has told of.
    await expect.poll(() => one.heard).toContain('wake bob');
    await one.cluster.join('group:x');
    await send({ ...message('shared'), inbox: 'group:x' });
    await expect.poll(() => one.heard).toContain('wake group:x');
    site.proxy.hold();
    one.heard.length = 0;
    await send('late');
    // The row is found by a look.
    await expect.poll(() => one.heard).toContain('wake bob');
    expect(one.heard).not.toContainEqual(expect.stringContaining('came'));
    await other.cluster.take('bob');
    await one.cluster.take('bob');
    const waiting = await one.cluster.read('bob', 0, 10, 1e9);
    expect(waiting.map(({ id }) => id)).toEqual(['large', 'late']);
    const settlements = waiting.map(({ seq }) => ({ inbox: 'bob', seq, outcome: 'acked' as const }));
    await one.inboxes.commit({ ...none, settlements });
    one.heard.length = 0;
    site.proxy.release();
    await site.toldDirectly('next');
    expect(one.heard).not.toContainEqual(expect.stringContaining('came bob late'));

    // Settled before it comes, and never read.
    site.proxy.hold();
    const [stored] = await send('settled');
    if (stored?.result !== 'stored') throw new Error(stored?.result);
    await one.inboxes.commit({ ...none, settlements: [{ inbox: 'bob', seq: stored.seq, outcome: 'acked' }] });
    site.proxy.release();
    await site.toldDirectly('more');
    expect(one.heard).not.toContainEqual(expect.stringContaining('came bob settled'));
  });

  it('is replaced by the database while nothing gets through, and is made again', async () => {
    let ahead = 0;
    await using site = await openSite({ monotonic: () => performance.now() + ahead });
    const { one, send, proxy } = site;
    await site.linked(true);
    await one.cluster.take('bob');
    for (const cut of ['silently', 'openly'] as const) {
      if (cut === 'silently') proxy.hold();
      else proxy.cut();
      one.heard.length = 0;
      await send(`lost ${cut}`.replace(' ', '-'));
      await expect.poll(() => one.heard).toContain('wake bob');
      ahead += 4000;
      await site.linked(false);
      await send(`told-${cut}`);
      proxy.release();
      await site.linked(true);
    }
    expect((await one.cluster.read('bob', 0, 10, 1e9)).map(({ id }) => id)).toEqual([
      'lost-silently',
      'told-silently',
      'lost-openly',
      'told-openly',
    ]);
  });

  it('is refused to a broker on a copy of the database, which knows the same secret and the same brokers', async () => {
    await using site = await openSite();
    await using copy = await testSchema();
    await (await openPostgresStores({ ...copy, broker: 'before' }))[Symbol.asyncDispose]();
    await copyFacts(site.schema, copy, `127.0.0.1 ${site.proxy.port}`);
    await site.linked(true);
    const { ended } = site.proxy;
    await using stores = await openPostgresStores({ ...copy, broker: 'staging' });
    await expect.poll(() => site.proxy.ended).toBeGreaterThan(ended);
    expect(await stores.cluster.presence.brokers()).toMatchObject([
      { name: 'one', isLinked: false },
      { name: 'staging' },
    ]);
  });

  it('is refused without the key of the broker, and not made where one of them has none', async () => {
    await using site = await openSite();
    const [row] = await site.schema.sql(
      `SELECT incarnation, link FROM @broker_state ORDER BY 1 DESC LIMIT 1`,
    );
    const port = Number(String(row!.link).split(' ')[1]);
    const answerTo = async (identity: string, options: tls.ConnectionOptions = {}): Promise<unknown> => {
      const socket = tls.connect({
        port,
        host: '127.0.0.1',
        ciphers: 'ECDHE-PSK-CHACHA20-POLY1305',
        maxVersion: 'TLSv1.2',
        pskCallback: () => ({ psk: Buffer.alloc(32, 1), identity }),
        checkServerIdentity: () => undefined,
        ...options,
      });
      socket.on('secureConnect', () => socket.write('[]\n\n'));
      return once(socket, 'data').catch((error) => error.code);
    };
    expect(await answerTo(String(row!.incarnation))).toMatch(/^ERR_SSL_/);
    expect(await answerTo('0')).toMatch(/^ERR_SSL_/);
    expect(await answerTo('0', { ciphers: 'DEFAULT' })).toMatch(/^ERR_SSL_/);
    const plain = connect(port, '127.0.0.1');
    plain.on('error', () => {});
    plain.end('[{"row":1,"inbox":"bob"}]\n\n');
    await once(plain.resume(), 'close');
    await once(
      connect(port, '127.0.0.1')
        .on('error', () => {})
        .resume(),
      'close',
    );
    await site.linked(true);
    // A flood of handshakes: each is answered or dropped, and a few a second begin.
    const floods = Array.from({ length: 40 }, () => answerTo('0'));
    const begunAt = performance.now();
    await Promise.all(floods);
    expect(performance.now() - begunAt).toBeGreaterThan(1900);

    await site.schema.sql(
      `UPDATE @broker_state SET link = 'nowhere' WHERE incarnation < ${row!.incarnation}`,
    );
    site.proxy.cut();
    await site.linked(false);
    await site.linked(false);

    await using third = await openPostgresStores({ ...site.schema, broker: 'third', link: false });
    const of = async (name: string, stores = site.other) =>
      (await stores.cluster.presence.brokers()).find((broker) => broker.name === name);
    for (const broker of [await of('third'), await of('other'), await of('one', third)])
      expect(broker).toEqual({ name: expect.any(String), since: expect.any(Number) });
    const busy = openPostgresStores({ ...site.schema, broker: 'busy', link: { host: '127.0.0.1', port } });
    await expect(busy).rejects.toThrow(/^broker\.store\.link: cannot listen on 127\.0\.0\.1, port \d+ /);
  });
});

/** Makes a schema a copy of another one as far as links go, as a restored dump of it is. */
async function copyFacts(from: TestSchema, to: TestSchema, address: string) {
  const [{ source }] = (await from.sql(`SELECT '@' AS source`)) as [{ source: string }];
  await to.sql(
    `UPDATE @meta SET value = (SELECT value FROM ${source}meta WHERE key = 'link_secret') WHERE key = 'link_secret'`,
  );
  await to.sql(`SELECT setval('@incarnation_epoch', (SELECT last_value FROM ${source}incarnation_epoch))`);
  await to.sql('DELETE FROM @broker_state');
  await to.sql(`INSERT INTO @incarnation SELECT * FROM ${source}incarnation WHERE broker = 'one'`);
  await to.sql(`INSERT INTO @broker_state SELECT epoch, '${address}' FROM @incarnation WHERE broker = 'one'`);
}

/** Opens the shares of two brokers. The link from `other` to `one` goes through a proxy, and `one` records all that it hears. */
async function openSite(options: Partial<PostgresStoresOptions> = {}) {
  await using opening = new AsyncDisposableStack();
  const schema = opening.use(await testSchema());
  const stores = opening.use(await openPostgresStores({ ...schema, broker: 'one' }));
  const [row] = await schema.sql('SELECT link FROM @broker_state');
  const proxy = opening.use(await startProxy(Number(String(row!.link).split(' ')[1])));
  await schema.sql(`UPDATE @broker_state SET link = '127.0.0.1 ${proxy.port}'`);
  const other = opening.use(await openPostgresStores({ ...schema, ...options, broker: 'other' }));
  const heard: string[] = [];
  const messages: unknown[] = [];
  stores.cluster.listen({
    wake: (inbox) => void heard.push(`wake ${inbox}`),
    came: (inbox, came, after) => {
      heard.push(`came ${inbox} ${came.id} ${came.seq} after ${after}`);
      messages.push(came);
    },
    freed() {},
    lost() {},
    cancelled() {},
    told() {},
  });
  const opened = opening.move();
  /** Stores messages at the other broker in one commit, for `bob` if only their ids are given. */
  const send = (...all: (string | ReturnType<typeof message>)[]) =>
    other.inboxes.commit({
      ...none,
      messages: all.map((one) => (typeof one === 'string' ? { ...message(one), inbox: 'bob' } : one)),
    });
  let sent = 0;
  return {
    schema,
    one: { ...stores, heard, messages },
    other,
    proxy,
    send,
    /** Stores messages for `bob` again and again, under other ids, until the link brings them. */
    toldDirectly: (...ids: string[]) =>
      expect
        .poll(
          async () => {
            const before = heard.length;
            sent++;
            await send(...ids.map((id) => `${id}-${sent}`));
            await expect.poll(() => heard.length, { timeout: 10_000 }).toBeGreaterThan(before);
            return heard.at(-1);
          },
          { timeout: 20_000 },
        )
        .toMatch(/^came/),
    /** Resolves when the other broker has a link to this one, or none. */
    linked: (isLinked: boolean) =>
      expect
        .poll(() => other.cluster.presence.brokers(), { timeout: 10_000 })
        .toContainEqual(expect.objectContaining({ name: 'one', isLinked })),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Starts a proxy in front of a port of this machine, which holds back what it gets, or cuts all connections, until `release`. */
async function startProxy(behind: number) {
  const open = new Set<Socket>();
  let state: 'open' | 'held' | 'cut' = 'open';
  let ended = 0;
  const server = createServer((client) => {
    const upstream = connect(behind, '127.0.0.1');
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        open.delete(socket);
        if (socket === client) ended++;
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
    if (state === 'cut') client.destroy();
    if (state === 'held') for (const socket of [client, upstream]) socket.pause();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    /** The number of connections that have ended. */
    get ended() {
      return ended;
    },
    hold() {
      state = 'held';
      for (const socket of open) socket.pause();
    },
    cut() {
      state = 'cut';
      for (const socket of open) socket.destroy();
    },
    release() {
      state = 'open';
      for (const socket of open) socket.resume();
    },
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
