import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyStore } from '@signalbox/daemon/store-copy';
import { openSqliteInboxStore } from '@signalbox/store';
import { connectWire, startChild, tempDir, type WireClient } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { admin, barrier, subscribe } from '../support/broker/wire-actions.ts';
import {
  cleanEnv,
  type Daemon,
  jsonOf,
  type Run,
  signalbox,
  signalboxArgv,
  startDaemon,
} from '../support/cli/command-line.ts';
import { startCuttingProxy } from '../support/postgres/cutting-proxy.ts';
import { openMessages, serverUrl, testSchema } from '../support/postgres/test-store.ts';
import { edit, message } from '../support/store/test-store.ts';

const copyMain = new URL('../support/postgres/copy-main.ts', import.meta.url);
const hourMs = 60 * 60 * 1000;

describe.skipIf(serverUrl === undefined)('signalbox store copy', () => {
  it('has clients go on where they were, as after a restart', async () => {
    await using site = await makeSite();
    const tokens: Record<string, string> = {};
    const journal = (previous: string[], next: string) => ({ journal: { previous, next } });
    {
      await using broker = await site.start('files');
      await using operator = await operatorOf(broker);
      for (const [agent, role] of [
        ...['ann', 'bob', 'rosa'].map((name) => [name, 'worker']),
        ['orchestrator', 'orchestrator'],
      ] as const)
        tokens[agent] = (await admin<{ token: string }>(operator, 'token_issue', { agent, role })).token;
      await using ann = await site.connect(broker, 'ann', tokens);
      await using bob = await site.connect(broker, 'bob', tokens);
      await subscribe(bob);
      await deliver(ann, 'bob', 'settled');
      await settle(bob, 'settled', 'ack');
      await deliver(ann, 'bob', 'dead');
      await settle(bob, 'dead', 'nack', { dead: true, reason: 'no use' });
      for (const id of ['answered', 'open']) {
        await deliver(ann, 'bob', id, { kind: 'ask' });
        await settle(bob, id, 'ack');
      }
      await deliver(bob, 'ann', 're:answered', { kind: 'reply', correlation_id: 'answered' });
      await deliver(ann, 'bob', 'later', { not_before_ms: hourMs });
      await deliver(ann, 'bob', 'tried');
      await settle(bob, 'tried', 'nack', { reason: 'not today' });
      await deliver(ann, 'orchestrator', 'call');
      await using hub = await site.connect(broker, 'orchestrator', tokens);
      await subscribe(hub, journal([], 'g1'));
      await hub.next('message', { id: 'call' });
      await bob[Symbol.asyncDispose]();
      for (const id of ['one', 'two']) await deliver(ann, 'bob', id);
      await admin(operator, 'hold', { on: 'agent', name: 'rosa', reason: 'she is away' });
      await deliver(ann, 'rosa', 'held');
      await broker.stop();
    }
    const before = contentOf(site.data);
    const copied = jsonOf(await site.copy()) as Record<string, Record<string, number>>;
    expect(copied).toMatchObject({
      from: site.data,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      counts: { dead_letter: 1, scheduled: 1, hold: 1, journal: 1 },
    });
    expect(contentOf(site.data)).toEqual(before);
    expect(await site.sql(`SELECT id FROM @message WHERE attempts > 0`)).toEqual([{ id: 'tried' }]);
    // Any of them may have been handed out.
    expect(await site.sql('SELECT name FROM @inbox WHERE taken_seq < head_seq')).toEqual([]);

    await using broker = await site.start('database');
    await using operator = await operatorOf(broker);
    await using ann = await site.connect(broker, 'ann', tokens);
    await using bob = await site.connect(broker, 'bob', tokens);
    expect(await deliver(ann, 'bob', 'settled')).toMatchObject({ duplicate: true });
    expect(await deliver(ann, 'bob', 'later', { not_before_ms: hourMs })).toMatchObject({ duplicate: true });
    expect(await deliver(ann, 'bob', 'two')).toMatchObject({ duplicate: true });
    await subscribe(bob);
    const read = [await bob.next('message'), await bob.next('message'), await bob.next('message')];
    bob.send({ type: 'ack', seqs: read.map(({ seq }) => seq), request_id: 'all' });
    await bob.next('ack_result', { request_id: 'all' });
    expect(read).toMatchObject([{ id: 'tried' }, { id: 'one' }, { id: 'two' }]);
    await barrier(bob);
    expect(bob.received.filter(({ type }) => type === 'message')).toHaveLength(3);
    await deliver(bob, 'ann', 're:open', { kind: 'reply', correlation_id: 'open' });
    bob.send({ type: 'deliver', to: 'ann', id: 'second', kind: 'reply', correlation_id: 'answered' }, '"!"');
    expect(await bob.next('error', { id: 'second' })).toMatchObject({ code: 'already_answered' });
    await subscribe(ann);
    for (const id of ['re:answered', 're:open']) await ann.next('message', { id });
    ann.send({ type: 'list_scheduled', request_id: 'l' });
    expect(await ann.next('scheduled')).toMatchObject({ messages: [{ id: 'later' }] });
    expect(await admin(operator, 'dead_list')).toMatchObject({
      messages: [{ id: 'dead', reason: 'no use' }],
    });

    await using rosa = await site.connect(broker, 'rosa', tokens);
    await subscribe(rosa);
    await barrier(rosa);
    expect(rosa.received.filter(({ type }) => type === 'message')).toEqual([]);
    const { holds } = await admin<{ holds: { id: string }[] }>(operator, 'holds');
    await admin(operator, 'release', { ids: holds.map(({ id }) => id) });
    await rosa.next('message', { id: 'held' });

    await using hub = await site.connect(broker, 'orchestrator', tokens);
    hub.send({ type: 'subscribe', request_id: 's', ...journal(['g1'], 'g2') });
    expect(await hub.next('subscribed')).toMatchObject({ journal: { foreign_up_to: 0 } });
    await hub.next('message', { id: 'call' });

    const verified = await signalbox(['audit', '--verify', ...site.args('database')], site);
    expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining('change') });
  });

  it('copies the bodies that are kept, also those that only the log of commits has', async () => {
    await using site = await makeSite();
    const keepBodies = { kinds: ['note'], ageMs: 1000 * hourMs, bytes: 1e9 };
    mkdirSync(site.data);
    {
      const file = join(site.data, 'messages.db');
      await using store = await openSqliteInboxStore({ file, durability: 'process', keepBodies });
      const copies = { agents: ['bob', 'rosa'], partial: false };
      for (const [id, body] of Object.entries({ old: 'Grüße', new: 'greetings\0', group: 'to all' })) {
        const messages = [{ ...message(id), thread: 't', body, ...(id === 'group' && { copies }) }];
        const other = { ...message(`other-${id}`), kind: 'call', thread: 't' };
        const [one] = await store.commit({ messages: [...messages, other], settlements: [], attempts: [] });
        const { seq } = one as { seq: number };
        const settlements = [{ inbox: 'inbox', seq, outcome: 'acked' as const }];
        await store.commit({ messages: [], settlements, attempts: [] });
        if (id === 'old') while (await store.kept.index(0));
      }
    }
    expect(jsonOf(await site.copy())).toMatchObject({ counts: { kept_body: 3 } });
    await using store = await openMessages({ ...site.target, keepBodies });
    expect(await store.kept.thread('t', 0, 9, 1e9)).toMatchObject([
      { id: 'old', body: 'Grüße' },
      { id: 'new', body: 'greetings\0' },
      { id: 'group', body: 'to all', inbox: 'inbox' },
    ]);
    expect(await site.sql('SELECT seq FROM @kept_body WHERE words IS NULL')).toEqual([]);
    expect(await store.kept.threads({ words: ['GRU'], limit: 9 })).toMatchObject({
      threads: [{ newest: { id: 'old' }, messages: 3 }],
    });
  });

  it('refuses what a broker uses, tables that are there, damage, and arguments that say something else', async () => {
    await using site = await makeSite();
    {
      await using _broker = await site.start('files');
      expect(await site.copy()).toMatchObject(failure(1, 'data_directory_locked', 'Stop that process'));
    }
    {
      await using _broker = await site.start('database', 'other');
      expect(await site.copy()).toMatchObject(failure(1, 'store_in_use', 'a broker uses it now'));
    }
    expect(await site.copy()).toMatchObject(
      failure(1, 'store_in_use', '0 messages are in it.*DROP SCHEMA \\S+ CASCADE'),
    );
    const copy = (changes: Record<string, string>) => site.copy(changes);
    expect(await copy({ '--from': site.data })).toMatchObject(
      failure(2, 'usage', '--from', 'sqlite:./state'),
    );
    expect(await copy({ '--to': 'mysql://db' })).toMatchObject(
      failure(2, 'usage', '--to', 'postgres://user'),
    );
    expect(await copy({ '--from': 'sqlite:/absent' })).toMatchObject(
      failure(2, 'bad_data_directory', 'no messages'),
    );
    expect(await copy({ '--schema': 'Upper' })).toMatchObject(failure(2, 'usage', 'Upper', 'lower-case'));
    edit(join(site.data, 'tokens.db'), `UPDATE token SET role = 'admin'`);
    expect(await copy({ '--schema': site.fresh })).toMatchObject(
      failure(1, 'store_damaged', 'nothing was copied', 'the row of token'),
    );
    expect(await site.sql(`SELECT to_regnamespace('${site.fresh}') AS found`)).toEqual([{ found: null }]);
  });

  it('leaves nothing in the database when it is killed or interrupted, and is made again', async () => {
    await using site = await makeSite();
    await fill(site.data, 3000);
    const before = contentOf(site.data);
    const absent = [{ found: null }];
    const found = () => site.sql(`SELECT to_regclass('@meta') AS found`);
    for (const step of ['writing', 'verifying']) {
      const options = { directory: site.data, url: site.url, schema: site.schema, step };
      const child = await startChild(copyMain, { args: [JSON.stringify(options)] });
      if (step === 'writing')
        await expect(openMessages(site.target)).rejects.toMatchObject({
          code: 'store_in_use',
          message: expect.stringContaining('copies a store into it'),
        });
      await child.end('SIGKILL');
      expect(await found()).toEqual(absent);
    }
    {
      // It waits for the lock until it is interrupted.
      await site.sql(`SELECT pg_advisory_lock(hashtext('signalbox'), hashtext('${site.schema}'))`);
      const child = spawn(process.execPath, signalboxArgv(site.copyArgs()), { env: site.env });
      const waits = () => site.sql(`SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`);
      await expect.poll(waits).toHaveLength(1);
      child.kill('SIGINT');
      const ended = once(child, 'close');
      await site.sql('SELECT pg_advisory_unlock_all()');
      expect((await ended)[0]).toBe(130);
      expect(await found()).toEqual(absent);
    }
    expect(contentOf(site.data)).toEqual(before);
    await using proxy = await startCuttingProxy(site.url);
    proxy.cutNext('behind a commit');
    const { signal } = new AbortController();
    const copied = await copyStore({
      ...site.target,
      url: proxy.url,
      directory: site.data,
      now: Date.now(),
      signal,
    });
    expect(copied.counts).toMatchObject({ message: 3000 });
    expect(proxy.cuts).toBe(1);
    expect(await site.sql('SELECT count(*)::int AS count FROM @message')).toEqual([{ count: 3000 }]);
  });
});

/** A failure of a run with `--json`. */
function failure(code: number, error: string, ...texts: string[]): object {
  const all = texts.map((text) => `(?=.*${text})`).join('');
  return { code, stdout: expect.stringMatching(new RegExp(`(?=.*"code":"${error}")${all}`, 's')) };
}

interface Site extends AsyncDisposable {
  readonly data: string;
  readonly url: string;
  readonly schema: string;
  /** The name of a schema that is not there. */
  readonly fresh: string;
  readonly env: Record<string, string>;
  readonly target: { url: string; schema: string };
  sql(text: string): Promise<unknown[]>;
  args(config: 'files' | 'database', directory?: string): string[];
  start(config: 'files' | 'database', directory?: string): Promise<Daemon>;
  connect(broker: Daemon, agent: string, tokens: Record<string, string>): Promise<WireClient>;
  copyArgs(changes?: Record<string, string>): string[];
  copy(changes?: Record<string, string>): Promise<Run>;
}

/** A data directory, and configurations with which a broker keeps everything in its files, or in a schema. */
async function makeSite(): Promise<Site> {
  const directory = await tempDir();
  const schema = await testSchema();
  const data = join(directory.path, 'data');
  const env = cleanEnv({ SIGNALBOX_POSTGRES: schema.url });
  const configs = {
    files: '',
    database: `, store: { postgres: "\${env:SIGNALBOX_POSTGRES}", schema: ${schema.schema} }`,
  };
  for (const [name, store] of Object.entries(configs))
    writeFileSync(join(directory.path, `${name}.yaml`), `broker: { listen: "127.0.0.1:0"${store} }\n`);
  const args: Site['args'] = (config, at = 'data') => [
    ...['--config', join(directory.path, `${config}.yaml`), '--data', join(directory.path, at)],
  ];
  const copyArgs: Site['copyArgs'] = (changes) => [
    'store',
    'copy',
    ...Object.entries({
      '--from': `sqlite:${data}`,
      '--to': schema.url,
      '--schema': schema.schema,
      ...changes,
    }).flat(),
    '--json',
  ];
  return {
    ...{ data, env, args, copyArgs, url: schema.url, schema: schema.schema, fresh: `${schema.schema}_fresh` },
    target: { url: schema.url, schema: schema.schema },
    sql: (text) => schema.sql(text),
    start: (config, at) => startDaemon(['broker', ...args(config, at)], { env }),
    connect: ({ ready }, agent, tokens) =>
      connectWire((ready as { url: string }).url, { agent, token: tokens[agent]! }),
    copy: (changes) => signalbox(copyArgs(changes), { env }),
    async [Symbol.asyncDispose]() {
      await schema[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}

async function operatorOf({ ready }: Daemon): Promise<WireClient> {
  const { url, operator_token_file: operatorTokenFile } = ready as {
    url: string;
    operator_token_file: string;
  };
  return connectWire(url, { agent: 'operator', token: readFileSync(operatorTokenFile, 'utf8').trim() });
}

async function deliver(
  client: WireClient,
  to: string,
  id: string,
  fields: Record<string, unknown> = {},
): Promise<unknown> {
  client.send({ type: 'deliver', to, id, kind: 'note', ...fields }, `"body of ${id}"`);
  const receipt = await client.next(['delivered', 'error'], { id });
  expect(receipt).toMatchObject({ type: 'delivered' });
  return receipt;
}

async function settle(
  client: WireClient,
  id: string,
  type: 'ack' | 'nack',
  fields: Record<string, unknown> = {},
): Promise<void> {
  const { seq } = await client.next('message', { id });
  client.send({ type, seqs: [seq], request_id: id, ...fields });
  await client.next('ack_result', { request_id: id });
}

/** Stores messages as a broker would have done. */
async function fill(data: string, count: number): Promise<void> {
  mkdirSync(data);
  await using store = await openSqliteInboxStore({ file: join(data, 'messages.db'), durability: 'process' });
  for (let n = 0; n < count; n += 100) {
    const messages = Array.from({ length: 100 }, (_, i) => message(`m${n + i}`));
    await store.commit({ messages, settlements: [], attempts: [] });
  }
}

/** The SHA-256 of each file, but for those that SQLite makes beside a database for a reader. */
function contentOf(data: string): Record<string, string> {
  const names = readdirSync(data).filter(
    (name) => statSync(join(data, name)).isFile() && !/-(wal|shm)$/.test(name),
  );
  return Object.fromEntries(
    names.map((name) => [name, hash('sha256', readFileSync(join(data, name)), 'hex')]),
  );
}
