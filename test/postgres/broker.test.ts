import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectWire, tempDir, type WireClient } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { admin, subscribe } from '../support/broker/wire-actions.ts';
import { cleanEnv, type Daemon, jsonOf, signalbox, startDaemon } from '../support/cli/command-line.ts';
import { packageOf, recordLoads } from '../support/cli/loaded-modules.ts';
import { signIn } from '../support/dashboard/api-sign-in.ts';
import { startPostgres } from '../support/postgres/postgres-server.ts';
import { serverUrl, testSchema } from '../support/postgres/test-store.ts';

interface Ready {
  url: string;
  operator_token_file: string;
}

/** A configuration that names a schema, and the arguments with which brokers are started on data directories of their own. */
async function configure(
  url: string,
  schema: string,
  more: { name?: string; link?: string } = {},
): Promise<
  AsyncDisposable & { args: (data: string) => string[]; env: Record<string, string>; path: string }
> {
  const directory = await tempDir();
  const config = join(directory.path, 'signalbox.yaml');
  const lines = Object.entries({ schema, ...more }).map((entry) => entry.join(': '));
  writeFileSync(
    config,
    `broker: { listen: 127.0.0.1:0, store: { postgres: "\${env:SIGNALBOX_POSTGRES}", ${lines} } }`,
  );
  return {
    path: directory.path,
    args: (data) => ['--config', config, '--data', join(directory.path, data)],
    env: cleanEnv({ SIGNALBOX_POSTGRES: url }),
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  };
}

function operatorToken(directory: string): string {
  return readFileSync(join(directory, 'one', 'operator.token'), 'utf8').trim();
}

async function operatorOf({ ready }: Daemon): Promise<WireClient> {
  const { url, operator_token_file: operatorTokenFile } = ready as Ready;
  return connectWire(url, { agent: 'operator', token: readFileSync(operatorTokenFile, 'utf8').trim() });
}

async function send(client: WireClient, id: string): Promise<unknown> {
  client.send({ type: 'deliver', to: 'bob', id, kind: 'note' }, '"body"');
  return client.next(['delivered', 'error'], { id });
}

describe.skipIf(serverUrl === undefined)('A broker on PostgreSQL', () => {
  it('keeps everything with a receipt over kill -9, starts again at once, and says what it does not do', async () => {
    await using schema = await testSchema();
    await using setup = await configure(schema.url, schema.schema);
    const { env } = setup;
    let token: string;
    {
      await using broker = await startDaemon(['broker', ...setup.args('one')], { env });
      await using operator = await operatorOf(broker);
      ({ token } = await admin<{ token: string }>(operator, 'token_issue', { agent: 'bob', role: 'worker' }));
      for (const id of ['a', 'b']) expect(await send(operator, id)).toMatchObject({ type: 'delivered' });
      await broker.stop('SIGKILL');
    }
    await using broker = await startDaemon(['broker', ...setup.args('one')], { env });
    const { url } = broker.ready as Ready;
    await using bob = await connectWire(url, { agent: 'bob', token });
    expect(bob.received[0]).toMatchObject({ receipt_means: 'fsynced' });
    await subscribe(bob);
    for (const id of ['a', 'b']) {
      const { seq } = await bob.next('message', { id });
      bob.send({ type: 'ack', seqs: [seq], request_id: id });
      await bob.next('ack_result', { request_id: id });
    }
    await using operator = await operatorOf(broker);
    expect(await send(operator, 'a')).toMatchObject({ type: 'delivered', duplicate: true });
    const { rows } = await admin<{ rows: { entry: string }[] }>(operator, 'audit', { since: 0 });
    expect(rows.map(({ entry }) => JSON.parse(entry).code)).toContain('token_issued');
    expect(existsSync(join(setup.path, 'one', 'messages.db'))).toBe(false);
    const backup = await signalbox(['backup', join(setup.path, 'backup'), ...setup.args('one'), '--json'], {
      env,
    });
    expect(backup.code).not.toBe(0);
    expect(backup.stdout + backup.stderr).toContain('pg_dump');
    await broker.stop();
    const doctor = await signalbox(['doctor', ...setup.args('one')], { env });
    expect(doctor.stdout).toMatch(
      new RegExp(
        `messages are in PostgreSQL at .*'${schema.schema}': version 1.*, receipts: fsynced, 0 brokers on it`,
      ),
    );
    const away = cleanEnv({ SIGNALBOX_POSTGRES: 'postgres://postgres@127.0.0.1:1/postgres' });
    const failed = await signalbox(['doctor', ...setup.args('one')], { env: away });
    expect(failed.code).toBe(1);
    expect(failed.stdout).toContain('PostgreSQL at 127.0.0.1:1');
  });

  it('starts beside others with the same file, and refuses one of the same name, and says what to do', async () => {
    await using schema = await testSchema();
    await using setup = await configure(schema.url, schema.schema);
    const { env } = setup;
    await using first = await startDaemon(['broker', ...setup.args('one')], { env });
    await using second = await startDaemon(['broker', ...setup.args('two')], { env });
    await using operator = await operatorOf(first);
    const { token } = await admin<{ token: string }>(operator, 'token_issue', {
      agent: 'bob',
      role: 'worker',
    });
    expect(await send(operator, 'a')).toMatchObject({ type: 'delivered' });
    await using bob = await connectWire((second.ready as Ready).url, { agent: 'bob', token });
    await subscribe(bob);
    expect(await bob.next('message', { id: 'a' })).toMatchObject({ body: '"body"' });

    await using named = await configure(schema.url, schema.schema, { name: 'broker-1' });
    await using _third = await startDaemon(['broker', ...named.args('three')], { env });
    const fourth = await signalbox(['broker', ...named.args('four'), '--json'], { env });
    expect(fourth.code).toBe(1);
    expect(jsonOf(fourth)).toMatchObject({
      error: {
        message: expect.stringMatching(/the name 'broker-1' uses it and lives\. .* broker\.store\.name/),
      },
    });
  });

  it('has a direct connection to another one, says where it has none, and loses nothing when the other one is killed', async () => {
    await using schema = await testSchema();
    await using setup = await configure(schema.url, schema.schema, { link: '127.0.0.1:0' });
    const { env } = setup;
    const up = (data: string) => startDaemon(['up', '--no-face', ...setup.args(data)], { env });
    const run = (...args: string[]) => signalbox([...args, ...setup.args('one')], { env });
    await using one = await up('one');
    const { url } = (one.ready as { broker: Ready }).broker;
    await using operator = await connectWire(url, { agent: 'operator', token: operatorToken(setup.path) });
    const { token } = await admin<{ token: string }>(operator, 'token_issue', {
      agent: 'bob',
      role: 'worker',
    });
    await using other = await up('two');
    const linked = async () => {
      const { broker } = jsonOf(await run('status', '--json')) as { broker: { brokers: object[] } };
      return broker.brokers.map((found) => ('linked' in found ? found.linked : undefined));
    };
    await expect.poll(linked, { timeout: 20_000 }).toEqual([undefined, true]);
    await using bob = await connectWire((other.ready as { broker: Ready }).broker.url, {
      agent: 'bob',
      token,
    });
    await subscribe(bob);
    expect(await send(operator, 'a')).toMatchObject({ type: 'delivered' });
    await bob.next('message', { id: 'a' });
    await other.stop('SIGKILL');
    expect(await send(operator, 'b')).toMatchObject({ type: 'delivered' });
    await using again = await connectWire(url, { agent: 'bob', token });
    await subscribe(again);
    for (const id of ['a', 'b']) await again.next('message', { id });
    // A broker that nobody reaches.
    await schema.sql(`WITH ghost AS (
        INSERT INTO @incarnation SELECT 'ghost', nextval('@incarnation_epoch'), 'owner', now(), now(), now() + interval '1 hour', false, 0
        RETURNING epoch
      ) INSERT INTO @broker_state SELECT epoch, '127.0.0.1 1' FROM ghost`);
    expect((await run('status')).stdout).toContain('ghost (no link)');
    expect((await run('doctor')).stdout).toMatch(
      /no direct connection to the broker ghost.*broker\.store\.link/s,
    );
  });

  it('loads the driver only where the configuration names a database', async () => {
    await using schema = await testSchema();
    await using setup = await configure(schema.url, schema.schema);
    const loadsOf = async (data: string, args: string[]): Promise<Set<string>> => {
      const { env, modules } = await recordLoads(setup.path);
      await using broker = await startDaemon(['broker', ...args], { env: { ...setup.env, ...env } });
      await broker.stop();
      expect(existsSync(join(setup.path, data, 'broker.sock'))).toBe(false);
      return new Set((await modules()).map(packageOf));
    };
    expect(await loadsOf('one', setup.args('one'))).toContain('pg');
    const sqlite = ['--listen', '127.0.0.1:0', '--data', join(setup.path, 'two')];
    expect(await loadsOf('two', sqlite)).not.toContain('pg');
  });

  it('ends when another broker has taken its name while it was stopped, and changes nothing', async () => {
    await using schema = await testSchema();
    await using setup = await configure(schema.url, schema.schema, { name: 'broker-1' });
    const { env } = setup;
    await using first = await startDaemon(['broker', ...setup.args('one')], { env });
    await using operator = await operatorOf(first);
    await admin(operator, 'token_issue', { agent: 'bob', role: 'worker' });
    expect(await send(operator, 'a')).toMatchObject({ type: 'delivered' });
    process.kill(first.pid, 'SIGSTOP');
    // As after a stop for longer than the lease.
    await schema.sql(`UPDATE @incarnation SET alive_until = clock_timestamp() - interval '1 second'`);
    await using second = await startDaemon(['broker', ...setup.args('two')], { env });
    operator.send({ type: 'deliver', to: 'bob', id: 'late', kind: 'note' }, '"late"');
    process.kill(first.pid, 'SIGCONT');
    expect(await first.ended).toBe(1);
    expect(first.stderr()).toContain('another broker has taken it over');
    const rows = await schema.sql('SELECT id FROM @message');
    expect(rows).toEqual([{ id: 'a' }]);
    await using other = await operatorOf(second);
    expect(await send(other, 'b')).toMatchObject({ type: 'delivered' });
  });

  it('keeps nothing that a token issues or signs in at one broker while another one revokes it', async () => {
    await using schema = await testSchema();
    await using watcher = await testSchema();
    await using setup = await configure(schema.url, schema.schema);
    const { env } = setup;
    await using one = await startDaemon(['broker', ...setup.args('one')], { env });
    await using other = await startDaemon(['broker', ...setup.args('two')], { env });
    await using here = await operatorOf(one);
    await using there = await operatorOf(other);
    const { url } = other.ready as Ready;
    const origin = url.replace('ws:', 'http:');
    const issue = (agent: string, role: string) =>
      admin<{ id: string; token: string }>(here, 'token_issue', { agent, role });
    const agentsOf = async (client: WireClient) => {
      const { tokens } = await admin<{ tokens: { agent: string }[] }>(client, 'token_list');
      return tokens.map(({ agent }) => agent);
    };
    for (const order of ['revoked first', 'issued first', 'revoked first', 'issued first']) {
      const minting = await issue('ci-*', 'worker');
      const person = await issue('operator.alice', 'operator');
      const minter = await connectWire(url, { agent: 'ci-0', token: minting.token });
      const alice = await connectWire(url, { agent: 'operator.alice', token: person.token });
      const { code } = await admin<{ code: string }>(alice, 'sign_in_link');
      const grant = (): Promise<unknown>[] => [
        admin(minter, 'token_issue', { agent: 'ci-1', role: 'worker' }),
        signIn({ origin }, `#code=${code}`),
        admin(alice, 'token_issue', { agent: 'operator.eve', role: 'operator' }),
      ];
      const revoke = (): Promise<unknown>[] =>
        [person, minting].map(({ id }) => admin(here, 'token_revoke', { id }));
      // Whoever issues or revokes waits for this row, as does a broker that notes new agents.
      const known = `SELECT count(*)::int AS known FROM @known_agent WHERE name IN ('operator', 'operator.alice')`;
      await expect.poll(() => schema.sql(known)).toEqual([{ known: 2 }]);
      await schema.sql('BEGIN; SELECT FROM @token_change FOR UPDATE');
      const waiting = `SELECT count(*)::int AS brokers FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND query LIKE '%${schema.schema}.%'`;
      const steps = order === 'issued first' ? [grant, revoke] : [revoke, grant];
      const running: Promise<unknown>[] = [];
      for (const [n, step] of steps.entries()) {
        for (const one of step()) running.push(one.catch(() => {}));
        await expect.poll(() => watcher.sql(waiting)).toEqual([{ brokers: n + 1 }]);
      }
      await schema.sql('COMMIT');
      // A connection whose token is revoked ends, with an answer or without one.
      await Promise.all(running);
      const left = [...(await agentsOf(here)), ...(await agentsOf(there))];
      expect(left.filter((agent) => agent === 'ci-1' || agent === 'operator.alice')).toEqual([]);
      if (order === 'revoked first') expect(left).not.toContain('operator.eve');
      const stored = `SELECT count(*)::int AS children FROM @token WHERE record LIKE '%"parentId"%'`;
      expect(await schema.sql(stored)).toEqual([{ children: 0 }]);
      await minter[Symbol.asyncDispose]();
      await alice[Symbol.asyncDispose]();
      for (const { id, agent } of (
        await admin<{ tokens: { id: string; agent: string }[] }>(here, 'token_list')
      ).tokens)
        if (agent === 'operator.eve') await admin(here, 'token_revoke', { id });
    }
  });

  it('waits for a database that restarts, refuses truthfully while it is away for longer, and goes on', async () => {
    await using server = await startPostgres();
    await using setup = await configure(server!.url, 'signalbox');
    const { env } = setup;
    await using broker = await startDaemon(['broker', ...setup.args('one')], { env });
    await using operator = await operatorOf(broker);
    await admin(operator, 'token_issue', { agent: 'bob', role: 'worker' });
    expect(await send(operator, 'a')).toMatchObject({ type: 'delivered' });
    await server!.stop('immediate');
    const sending = send(operator, 'b');
    await server!.start();
    expect(await sending).toMatchObject({ type: 'delivered' });
    await server!.stop('fast');
    expect(await send(operator, 'c')).toMatchObject({ code: 'storage_unavailable', retryable: true });
    await server!.start();
    // A broker lets its clients go when it has not heard of the database for a while.
    await using again = await operatorOf(broker);
    expect(await send(again, 'c')).toMatchObject({ type: 'delivered' });
    again.send({ type: 'peek', request_id: 'p', address: 'bob', limit: 10 });
    const { messages } = await again.next('peeked');
    expect((messages as { id: string }[]).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });
});
