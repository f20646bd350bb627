import { connectWire, startTestBroker, storedRows, type WireClient } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import {
  admin,
  barrier,
  connect,
  connectOperator,
  deliver,
  subscribe,
} from '../support/broker/wire-actions.ts';

async function stage() {
  await using opened = new AsyncDisposableStack();
  const broker = opened.use(await startTestBroker());
  const issued = await broker.broker.issueToken({ agent: 'ann', role: 'worker' });
  const ann = opened.use(await connectWire(broker.url, { agent: 'ann', token: issued.token }));
  const boss = opened.use(await connect(broker, 'boss'));
  const operator = opened.use(await connectOperator(broker));
  await subscribe(ann);
  await subscribe(boss);
  const resources = opened.move();
  return {
    broker,
    ann,
    boss,
    operator,
    tokenId: issued.id,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

const killed = { tell: 'boss', code: null, signal: 'SIGKILL' };

async function take(client: WireClient, id: string, working = true): Promise<number> {
  const { seq } = await client.next('message', { id });
  if (working) client.send({ type: 'working', seqs: [seq] });
  return seq as number;
}

async function eventOf(client: WireClient): Promise<unknown> {
  const { body, ...header } = await client.next('message', { kind: 'event' });
  expect(header.from).toEqual({ agent: 'broker', address: 'broker', role: 'broker' });
  expect(header.seq).toBeTypeOf('number');
  return JSON.parse(body!);
}

async function isConnected(operator: WireClient, agent: string): Promise<boolean> {
  operator.send({ type: 'list_connected', request_id: 'c' });
  const { agents } = await operator.next('connected', { request_id: 'c' });
  return (agents as { agent: string }[]).some((one) => one.agent === agent);
}

describe('the end of a worker', () => {
  it('is told with the revocation of its token, and with what it had in hand when its connection still stood', async () => {
    await using s = await stage();
    for (const id of ['held', 'only-pushed', 'done', 'given-back']) await deliver(s.boss, 'ann', id);
    await take(s.ann, 'held');
    await take(s.ann, 'only-pushed', false);
    const done = await take(s.ann, 'done');
    const back = await take(s.ann, 'given-back');
    s.ann.send({ type: 'ack', seqs: [done] });
    s.ann.send({ type: 'nack', seqs: [back], delay_ms: 60_000, request_id: 'n' });
    await s.ann.next('ack_result');
    const held_ids = ['held', 'given-back'];
    expect(await admin(s.operator, 'token_revoke', { id: s.tokenId, exited: killed })).toEqual({
      id: s.tokenId,
      revoked: true,
      told: true,
      held_ids,
    });
    const { code, signal } = killed;
    expect(await eventOf(s.boss)).toEqual({
      ...{ event: 'worker_exited', agent: 'ann', role: 'worker' },
      ...{ code, signal, held_ids },
    });
    await expect(s.ann.closed).resolves.toMatchObject({ code: 4401 });
  });

  it('is told the same when its connection has gone before, by its minting token too, and once', async () => {
    await using broker = await startTestBroker();
    await using boss = await connect(broker, 'boss');
    await using operator = await connectOperator(broker);
    const mint = await broker.token('ci-*');
    await using minting = await connectWire(broker.url, { agent: 'ci-minting', token: mint });
    const child = await admin<{ id: string; token: string }>(minting, 'token_issue', {
      agent: 'ci-1',
      role: 'worker',
    });
    const worker = await connectWire(broker.url, { agent: 'ci-1', token: child.token });
    await subscribe(worker);
    await deliver(boss, 'ci-1', 'held');
    await deliver(boss, 'ci-1', 'pushed');
    await take(worker, 'held');
    worker.send({ type: 'list_connected', request_id: 'barrier' });
    await worker.next('connected');
    worker.socket.terminate();
    await expect.poll(() => isConnected(operator, 'ci-1')).toBe(false);
    const exited = { tell: 'boss', code: 3, signal: null };
    expect(await admin(minting, 'token_revoke', { id: child.id, exited })).toMatchObject({
      told: true,
      held_ids: ['held'],
    });
    expect(await admin(minting, 'token_revoke', { id: child.id, exited })).toMatchObject({
      code: 'unknown_token',
    });
    await broker.restart();
    await using later = await connect(broker, 'boss');
    await subscribe(later);
    expect(await eventOf(later)).toMatchObject({ agent: 'ci-1', code: 3, signal: null, held_ids: ['held'] });
    expect(later.received.filter(({ kind }) => kind === 'event')).toHaveLength(1);
  });

  it('counts one attempt of what it had in hand, also if nobody is told, and lists nothing that another process had', async () => {
    await using broker = await startTestBroker();
    await using boss = await connect(broker, 'boss');
    await using operator = await connectOperator(broker);
    await broker.token('ann');
    await deliver(boss, 'ann', 'task');
    const reports: unknown[] = [];
    const attempts: unknown[] = [];
    for (const reads of [true, false, true]) {
      const { id, token } = await broker.broker.issueToken({ agent: 'ann', role: 'worker' });
      await using ann = await connectWire(broker.url, { agent: 'ann', token });
      if (reads) {
        await subscribe(ann);
        const { seq, attempt } = await ann.next('message', { id: 'task' });
        attempts.push(attempt);
        ann.send({ type: 'working', seqs: [seq] });
        await barrier(ann);
      }
      reports.push(await admin(operator, 'token_revoke', { id, exited: { code: 1, signal: null } }));
    }
    expect(reports).toEqual([
      { id: expect.any(String), revoked: true, held_ids: ['task'] },
      { id: expect.any(String), revoked: true, held_ids: [] },
      { id: expect.any(String), revoked: true, held_ids: ['task'] },
    ]);
    expect(attempts).toEqual([undefined, 2]);
    await broker.restart();
    await using last = await connect(broker, 'ann');
    await subscribe(last);
    expect(await last.next('message', { id: 'task' })).toMatchObject({ attempt: 3 });
  });

  it('goes unsaid where nobody has that name, or the role may not write there; the token is gone all the same', async () => {
    await using broker = await startTestBroker({ policies: { quiet: { to: ['friend'] } } });
    await using operator = await connectOperator(broker);
    await broker.token('boss');
    await broker.token('friend');
    const cases = [
      ['worker', 'nobody', false],
      ['worker', 'boss', true],
      ['quiet', 'boss', false],
      ['quiet', 'friend', true],
    ] as const;
    for (const [role, tell, told] of cases) {
      const { id, token } = await broker.broker.issueToken({ agent: 'ann', role });
      const exited = { ...killed, tell };
      const result = await admin(operator, 'token_revoke', { id, exited });
      expect(result, `${role} ${tell}`).toEqual({ id, revoked: true, told, held_ids: [] });
      await expect(connectWire(broker.url, { agent: 'ann', token })).rejects.toThrow('4401');
    }
  });

  it('that is told wrongly changes nothing', async () => {
    await using s = await stage();
    const mintingId = (await s.broker.broker.issueToken({ agent: 'ci-*', role: 'worker' })).id;
    const before = await storedRows(s.broker.dataDir);
    const wrong: [unknown, string][] = [
      ['boss', 'params.exited'],
      [null, 'params.exited'],
      [{ ...killed, tell: 'Boss' }, 'params.exited.tell'],
      [{ ...killed, tell: 'boss#sub' }, 'params.exited.tell'],
      [{ ...killed, code: 1.5 }, 'params.exited.code'],
      [{ tell: 'boss', signal: null }, 'params.exited.code'],
      [{ signal: null }, 'params.exited.code'],
      [{ ...killed, signal: 'kill it' }, 'params.exited.signal'],
    ];
    for (const [exited, field] of wrong) {
      const refused = await admin(s.operator, 'token_revoke', { id: s.tokenId, exited });
      expect(refused, JSON.stringify(exited)).toMatchObject({ type: 'error', code: 'bad_frame', field });
    }
    const ofMinting = await admin(s.operator, 'token_revoke', { id: mintingId, exited: killed });
    expect(ofMinting).toMatchObject({ code: 'bad_frame', field: 'params.exited' });
    expect(await storedRows(s.broker.dataDir)).toBe(before);
    expect(await isConnected(s.operator, 'ann')).toBe(true);
    expect(await admin(s.operator, 'token_revoke', { id: s.tokenId })).toEqual({
      id: s.tokenId,
      revoked: true,
    });
  });
});
