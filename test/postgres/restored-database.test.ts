import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { connectBroker, requestAddress } from '@signalbox/client';
import {
  decideApproval,
  issueToken,
  listApprovals,
  listCalls,
  placeHold,
  readAudit,
  releaseHolds,
} from '@signalbox/client/operator';
import { openPostgresStores } from '@signalbox/postgres';
import { installedPostgres, type PostgresServer } from '@signalbox/postgres/temporary-server';
import { counterServer, readCounter, tempDir } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { jsonOf, signalbox, startDaemon } from '../support/cli/command-line.ts';
import { startPostgres } from '../support/postgres/postgres-server.ts';
import { serverUrl, testSchema } from '../support/postgres/test-store.ts';

const run = promisify(execFile);
const count = 'mcp_counter__count';
/** A version of PostgreSQL that Debian installed, with its tools. */
const debian = installedPostgres(15);
const startServer = async () => (await startPostgres(debian && { version: 15 }))!;

/** A way to keep the database as it is at a moment, and to bring it back. Returns the address of the database that was brought back. */
type Keep = (server: PostgresServer, folder: string) => Promise<() => Promise<string>>;

const copyOfFiles: Keep = async (server, folder) => {
  const copy = join(folder, 'copy');
  await server.stop('fast');
  await run('cp', ['-a', server.data, copy]);
  await server.start();
  return async () => {
    await server.stop('fast');
    await rm(server.data, { recursive: true });
    await run('cp', ['-a', copy, server.data]);
    await server.start();
    return server.url;
  };
};

const ways: Record<string, Keep> = {
  'a copy of the files of the server': copyOfFiles,
  ...(debian && {
    'pg_dump and pg_restore': async (server, folder) => {
      const dump = await dumped(server, folder);
      return async () => {
        // A table that was made after the dump, as each new slice of settled messages makes one.
        await run(tool('psql'), [
          '-d',
          server.url,
          '-c',
          'CREATE TABLE signalbox.settled_99 (number bigint)',
        ]);
        const drop = 'DROP SCHEMA IF EXISTS signalbox, signalbox_journal CASCADE';
        await run(tool('psql'), ['-d', server.url, '-c', drop]);
        return restoredTo(server.url, dump);
      };
    },
    'pg_dump, and pg_restore to another database': async (server, folder) => {
      const dump = await dumped(server, folder);
      return async () => {
        const other = new URL(server.url);
        other.pathname = '/other';
        await run(tool('psql'), ['-d', server.url, '-c', 'CREATE DATABASE other']);
        return restoredTo(other.href, dump);
      };
    },
  }),
};

function tool(name: string): string {
  return join(dirname(debian!.initdb), name);
}

async function dumped({ url }: PostgresServer, folder: string): Promise<string> {
  const dump = join(folder, 'signalbox.dump');
  await run(tool('pg_dump'), ['-d', url, '--schema=signalbox*', '-Fc', '-f', dump]);
  return dump;
}

async function restoredTo(url: string, dump: string): Promise<string> {
  await run(tool('pg_restore'), ['-d', url, '--exit-on-error', dump]);
  return url;
}

/** Lets a standby get nothing any more, while it runs on. */
async function cutOffStandby({ url, data }: PostgresServer): Promise<void> {
  writeFileSync(join(data, 'pg_hba.conf'), 'local all all trust\n');
  await using admin = await testSchema(url);
  await admin.sql('SELECT pg_reload_conf(), pg_terminate_backend(pid) FROM pg_stat_replication');
  await expect.poll(() => admin.sql('SELECT FROM pg_stat_replication')).toEqual([]);
}

/** A folder with a configuration and a counter of what ran, on which `signalbox up` is started again and again. */
async function startSite() {
  await using starting = new AsyncDisposableStack();
  const { path: directory } = starting.use(await tempDir());
  const counter = join(directory, 'counter.jsonl');
  const config = {
    broker: { listen: '127.0.0.1:0', store: { postgres: `\${env:SIGNALBOX_POSTGRES}` } },
    mcpServers: { counter: counterServer(counter) },
    roles: { researcher: { tools: [count] }, builder: { tools: [count], ask: [count] } },
  };
  writeFileSync(join(directory, 'signalbox.yaml'), JSON.stringify(config));
  const resources = starting.move();
  const site = {
    directory,
    runs: () => readCounter(counter).filter(({ at }) => at === 'start').length,
    run: (args: string[], url: string) => {
      const env = { SIGNALBOX_POSTGRES: url };
      return signalbox([...args, '--config', 'signalbox.yaml', '--json'], { cwd: directory, env });
    },
    /** Starts `up` on a data directory of this folder, and connects its operator. */
    async up(url: string, data = 'state') {
      await using opened = new AsyncDisposableStack();
      const env = { SIGNALBOX_POSTGRES: url };
      const argv = ['up', '--config', 'signalbox.yaml', '--data', data, '--no-face'];
      const daemon = opened.use(await startDaemon(argv, { cwd: directory, env }));
      const { broker } = daemon.ready as { broker: { socket: string } };
      const at = { SIGNALBOX_URL: broker.socket };
      const secret = readFileSync(join(directory, data, 'operator.token'), 'utf8').trim();
      const identity = { token: secret, agent: requestAddress('operator') };
      const operator = opened.use(await connectBroker({ url: broker.socket, ...identity }));
      const file = join(directory, 'rosa.token');
      if (!existsSync(file))
        writeFileSync(file, (await issueToken(operator, { agent: 'rosa', role: 'researcher' })).token);
      const calls = () => listCalls(operator, 'orchestrator', { limit: 10 }).catch(() => []);
      const ended = opened.move();
      return {
        daemon,
        operator,
        hold: () => placeHold(operator, { on: 'tool', name: count, reason: 'a test' }),
        release: () => releaseHolds(operator, { on: 'tool', name: count }),
        /** Calls the tool as an agent does, and resolves with the answer. */
        call: async () => {
          const args = ['tools', 'call', count, '--token-file', file, '--timeout', '50s', '--json'];
          return jsonOf(await signalbox(args, { cwd: directory, env: at }));
        },
        waiting: async () => (await calls()).filter(({ state }) => state === 'held').length,
        outcomes: async () => (await calls()).map(({ outcome }) => outcome),
        restored: async () => {
          const { entries } = await readAudit(operator, { kinds: ['change'], since: 0, limit: 100 });
          return entries.filter(({ code }) => code === 'backup_restored').length;
        },
        [Symbol.asyncDispose]: () => ended.disposeAsync(),
      };
    },
    /** Runs a call that waited when the database was kept, and stops `up`. Returns the function that brings the database back. */
    async runsOnceSince(server: PostgresServer, keep: Keep) {
      await using up = await site.up(server.url);
      await up.hold();
      const answered = up.call();
      await expect.poll(up.waiting).toBe(1);
      const goBack = await keep(server, directory);
      await up.release();
      expect(await answered).toHaveProperty('result.success', true);
      expect(site.runs()).toBe(1);
      return goBack;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
  return site;
}

describe.skipIf(serverUrl === undefined)('A call that waits and is not safe to repeat', () => {
  it.each(Object.entries(ways))(
    'does not run again after the database went back to a moment before it ran: %s',
    async (_way, keep) => {
      await using server = await startServer();
      await using site = await startSite();
      const goBack = await site.runsOnceSince(server, keep);
      await using after = await site.up(await goBack());
      await after.release();
      await expect.poll(after.outcomes).toEqual(['outcome_unknown']);
      expect(site.runs()).toBe(1);
      expect(after.daemon.stderr()).toContain('the database was restored to an earlier moment');
      expect(await after.restored()).toBe(1);
      expect(await after.call()).toHaveProperty('result.success', true);
      expect(site.runs()).toBe(2);
    },
  );

  it('does not run again on a machine that never saw the database, once an operator says that it was restored', async () => {
    await using server = await startServer();
    await using site = await startSite();
    const refused = await site.run(['store', 'restored'], server.url);
    expect(refused.stdout).toContain('no broker has run on it, so there is nothing that was restored');
    const goBack = await site.runsOnceSince(server, copyOfFiles);
    await goBack();
    expect(jsonOf(await site.run(['store', 'restored'], server.url))).toHaveProperty('broker_id');
    await using after = await site.up(server.url, 'new');
    await after.release();
    await expect.poll(after.outcomes).toEqual(['outcome_unknown']);
    expect(site.runs()).toBe(1);
    expect(await after.restored()).toBe(1);
  });

  it('leaves the list with the restore if nobody had decided on it, and the list says why; a question of an agent CLI waits on', async () => {
    await using server = await startServer();
    await using site = await startSite();
    const listed = async ({ operator }: Awaited<ReturnType<typeof site.up>>) =>
      (await listApprovals(operator, 'orchestrator', { all: true, limit: 10 })).approvals.toSorted((a, b) =>
        a.tool.localeCompare(b.tool),
      );
    const pending = { state: 'pending', tool: 'claude:Bash' };
    let goBack: () => Promise<string>;
    {
      await using up = await site.up(server.url);
      const { token } = await issueToken(up.operator, { agent: 'bob', role: 'builder' });
      const url = up.daemon.ready as { broker: { socket: string } };
      await using bob = await connectBroker({ url: url.broker.socket, token, agent: 'bob' });
      // An approved call runs only for a caller that is there.
      await using _inbox = await bob.subscribe();
      for (const body of [
        { op: 'call', tool: count },
        { op: 'ask_permission', cli: 'claude', tool: 'Bash', input: { command: 'ls' } },
      ])
        await bob.deliver({ to: 'orchestrator', kind: 'mcp_request', body });
      await expect.poll(() => listed(up)).toHaveLength(2);
      goBack = await copyOfFiles(server, site.directory);
      const [asked] = (await listed(up)).filter(({ tool }) => tool === count);
      await decideApproval(up.operator, 'orchestrator', asked!.id, { verdict: 'approve' });
      await expect.poll(site.runs).toBe(1);
    }
    await using after = await site.up(await goBack());
    expect(await listed(after)).toMatchObject([
      pending,
      { state: 'cancelled', tool: count, reason: expect.stringContaining('the database was restored') },
    ]);
    await expect.poll(after.outcomes).toContain('outcome_unknown');
    expect(await listed(after)).toMatchObject([pending, { state: 'cancelled' }]);
    expect(site.runs()).toBe(1);
  });

  it('does not run again when an asynchronous standby is promoted that lacks its start, while everything runs', async () => {
    await using server = await startServer();
    await using standby = await server.standby('standby_1');
    await using site = await startSite();
    const folders = [server, standby].map(({ url }) => new URL(url).searchParams.get('host'));
    const url = `postgres://postgres@localhost/postgres?host=${folders.join(',')}`;
    await using up = await site.up(url);
    await up.hold();
    const answered = up.call();
    await expect.poll(up.waiting).toBe(1);
    await using follower = await testSchema(standby.url);
    await expect
      .poll(() =>
        follower.sql(`SELECT name FROM signalbox.inbox WHERE name = 'orchestrator' AND pending > 0`),
      )
      .toHaveLength(1);
    await cutOffStandby(server);
    await up.release();
    expect(await answered).toHaveProperty('result.success', true);
    await server.stop('immediate');
    await follower.sql('SELECT pg_promote()');
    await expect.poll(() => up.daemon.stderr()).toContain('the database was restored to an earlier moment');
    await expect.poll(() => up.release().catch(() => [])).toHaveLength(1);
    await expect.poll(up.outcomes).toEqual(['outcome_unknown']);
    expect(site.runs()).toBe(1);
  });

  it('goes on waiting and runs once when everything is killed, and the database has kept what it confirmed', async () => {
    await using server = await startServer();
    await using site = await startSite();
    await using up = await site.up(server.url);
    expect(await up.call()).toHaveProperty('result.success', true);
    await up.hold();
    const answered = up.call();
    await expect.poll(up.waiting).toBe(1);
    const { broker, orchestrator } = up.daemon.ready as Record<string, { pid: number }>;
    for (const { pid } of [broker!, orchestrator!]) process.kill(pid, 'SIGKILL');
    await server.stop('immediate');
    await server.start();
    await expect.poll(() => up.daemon.stderr()).toContain('the orchestrator is back');
    await expect.poll(up.waiting).toBe(1);
    await up.release();
    expect(await answered).toHaveProperty('result.success', true);
    expect(site.runs()).toBe(2);
    expect(await up.restored()).toBe(0);
  });
});

describe.skipIf(serverUrl === undefined)('A message with a receipt', () => {
  it('is the only one that ever has its number, also when an asynchronous standby is promoted that lacks it', async () => {
    await using server = await startServer();
    await using standby = await server.standby('standby_1');
    await using site = await startSite();
    const folders = [server, standby].map(({ url }) => new URL(url).searchParams.get('host'));
    await using up = await site.up(`postgres://postgres@localhost/postgres?host=${folders.join(',')}`);
    const { token } = await issueToken(up.operator, { agent: 'bob', role: 'builder' });
    const { socket } = (up.daemon.ready as { broker: { socket: string } }).broker;
    await using bob = await connectBroker({ url: socket, token, agent: 'bob' });
    const seqs: number[] = [];
    const ids: string[] = [];
    const { messages } = await bob.subscribe();
    const reading = (async () => {
      for await (const { id, seq } of messages) {
        seqs.push(seq!);
        ids.push(id);
        await bob.ack([seq!]);
        if (id === 'after') return;
      }
    })();
    const send = async (count: number, from = ids.length) => {
      for (let n = 0; n < count; n++) await bob.deliver({ to: 'bob', kind: 'note', id: `m-${from + n}` });
      await expect.poll(() => ids.length).toBe(from + count);
    };
    await send(1);
    await using follower = await testSchema(standby.url);
    await expect
      .poll(() => follower.sql(`SELECT FROM signalbox.inbox WHERE name = 'bob' AND head_seq > 0`))
      .toHaveLength(1);
    await cutOffStandby(server);
    // PostgreSQL writes a sequence 32 numbers ahead, so that a standby that lacks fewer repeats none.
    await send(100);
    const highest = Math.max(...seqs);
    await server.stop('immediate');
    await follower.sql('SELECT pg_promote()');
    await expect.poll(() => up.daemon.stderr()).toContain('the database was restored to an earlier moment');
    const after = { to: 'bob', kind: 'note', id: 'after' } as const;
    await expect.poll(() => bob.deliver(after).catch(() => undefined)).toBeDefined();
    await expect.poll(() => ids.includes('after')).toBe(true);
    expect(seqs[ids.indexOf('after')]).toBeGreaterThan(highest);
    await reading;
  });
});

describe.skipIf(serverUrl === undefined)('Mark files', () => {
  it('of several machines show a restore once, those that are damaged show one, and those of an unrelated database show none', async () => {
    await using directory = await tempDir();
    await using schema = await testSchema();
    await using unrelated = await testSchema();
    const fileOf = (broker: string) => join(directory.path, `${broker}.mark`);
    const isRestored = async (broker: string, at = schema) => {
      const reasons: string[] = [];
      const mark = { file: fileOf(broker), onRestored: (reason: string) => void reasons.push(reason) };
      await using stores = await openPostgresStores({ url: at.url, schema: at.schema, broker, mark });
      await stores.inboxes.keepTime({ times: [1], earliest: 1, latest: 1 }, {});
      return reasons.length > 0;
    };
    const identity = async () =>
      (await schema.sql(`SELECT value FROM @meta WHERE key = 'identity'`))[0]!.value;
    const first = [await isRestored('one'), await isRestored('other'), await isRestored('one')];
    expect(first).toEqual([false, false, false]);
    const before = await identity();
    await schema.sql('UPDATE @incarnation SET commits = commits - 1');
    expect([await isRestored('one'), await isRestored('other')]).toEqual([true, false]);
    const after = await identity();
    expect(after).not.toBe(before);
    expect([await isRestored('one', unrelated), await isRestored('other')]).toEqual([false, false]);
    // The same dump is restored once more: the database has its former identity again.
    await schema.sql(`UPDATE @meta SET value = '${before}' WHERE key = 'identity'`);
    await schema.sql(`DELETE FROM @meta WHERE key = 'former'`);
    expect([await isRestored('other'), await isRestored('other')]).toEqual([true, false]);
    writeFileSync(fileOf('other'), 'no mark');
    expect([await isRestored('other'), await isRestored('other')]).toEqual([true, false]);
  });
});
