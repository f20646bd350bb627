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

async function refused(sender: WireClient, to: string, id: string): Promise<Record<string, unknown>> {
  sender.send({ type: 'deliver', to, id, kind: 'note' }, '{}');
  return sender.next(['delivered', 'error'], { id });
}

describe('a message to a name that nobody has', () => {
  it('is refused with the nearest names, and stores nothing, while its neighbours are stored', async () => {
    await using broker = await startTestBroker();
    await using alice = await connect(broker, 'alice');
    for (const agent of ['rosa', 'rose', 'walt']) await broker.token(agent);
    const before = await storedRows(broker.dataDir);
    expect(await refused(alice, 'roza', '1')).toMatchObject({
      type: 'error',
      code: 'unknown_recipient',
      field: 'to',
      retryable: false,
      message: "no agent 'roza' has a token or ever connected; did you mean 'rosa'?",
    });
    const far = await refused(alice, 'somebody-else#sub', '2');
    expect(far.message).toBe("no agent 'somebody-else' has a token or ever connected");
    expect(await storedRows(broker.dataDir)).toBe(before);
    for (const to of ['rosa', 'rosa#sub', 'operator', 'alice'])
      await deliver(alice, to, to.replace('#', '-'));
  });

  it('is refused with the groups of that name that the sender may know', async () => {
    await using broker = await startTestBroker({
      groups: { press: { roles: ['writer'] }, writer: { roles: ['writer'] } },
      policies: { guest: { to: ['group:press', 'press', 'writer'] } },
    });
    await using rosa = await connect(broker, 'rosa', 'writer');
    await using guest = await connect(broker, 'guest', 'guest');
    const both =
      "no agent 'writer' has a token or ever connected; did you mean 'role:writer' or 'group:writer'?";
    expect((await refused(rosa, 'writer', '1')).message).toBe(both);
    expect((await refused(rosa, 'press#sub', '2')).message).toContain("did you mean 'group:press'?");
    expect((await refused(guest, 'press', '3')).message).toContain("did you mean 'group:press'?");
    expect((await refused(guest, 'writer', '4')).message).not.toContain('did you mean');
  });

  it('suggests nobody whose role the sender may not list', async () => {
    await using broker = await startTestBroker({ policies: { guest: { list: ['guest'] } } });
    await using guest = await connect(broker, 'guest', 'guest');
    await broker.token('rosa');
    expect((await refused(guest, 'roza', '1')).message).not.toContain('rosa');
    await broker.token('roxa', 'guest');
    expect((await refused(guest, 'roza', '2')).message).toContain("did you mean 'roxa'?");
  });

  it('is stored for one who connected once, though its token is gone, restarts included', async () => {
    await using broker = await startTestBroker();
    await using operator = await connectOperator(broker);
    const issue = (agent: string) => admin(operator, 'token_issue', { agent, role: 'worker' });
    const [was, never] = [await issue('was-here'), await issue('never-here')];
    const hello = { agent: 'was-here#mcp-1', token: was.token as string };
    await (await connectWire(broker.url, hello))[Symbol.asyncDispose]();
    for (const { id } of [was, never]) await admin(operator, 'token_revoke', { id });
    expect(await refused(operator, 'was-here', '1')).toMatchObject({ type: 'delivered' });
    expect(await refused(operator, 'never-here', '2')).toMatchObject({ code: 'unknown_recipient' });
    await operator[Symbol.asyncDispose]();
    await broker.restart();
    await using again = await connectOperator(broker);
    await deliver(again, 'was-here#sub', '3');
    expect(await refused(again, 'never-here', '4')).toMatchObject({ code: 'unknown_recipient' });
  });

  it('is stored where messages wait already', async () => {
    await using broker = await startTestBroker();
    await using operator = await connectOperator(broker);
    const { id } = await admin(operator, 'token_issue', { agent: 'bob', role: 'worker' });
    await deliver(operator, 'bob', '1');
    await admin(operator, 'token_revoke', { id });
    expect(await refused(operator, 'bob', '2')).toMatchObject({ type: 'delivered' });
  });

  it('is refused for a child that is not minted yet, and stored once it is', async () => {
    await using broker = await startTestBroker();
    await using operator = await connectOperator(broker);
    const mint = await admin(operator, 'token_issue', { agent: 'ci-*', role: 'tester' });
    await using minter = await connectWire(broker.url, { agent: 'ci-minter', token: mint.token as string });
    for (const to of ['ci-1', 'ci-minter']) {
      expect(await refused(operator, to, to)).toMatchObject({ code: 'unknown_recipient' });
    }
    await admin(minter, 'token_issue', { agent: 'ci-1', role: 'tester' });
    await deliver(operator, 'ci-1', 'later');
  });

  it('is answered in the order of its connection; an ephemeral one just finds no consumer', async () => {
    await using broker = await startTestBroker();
    await using alice = await connect(broker, 'alice');
    await subscribe(alice);
    const send = (to: string, id: string) => alice.send({ type: 'deliver', to, id, kind: 'note' }, '{}');
    send('nobody', '1');
    send('alice', '2');
    await barrier(alice);
    await alice.next('delivered', { id: '2' });
    const answers = alice.received.filter(({ type }) => type === 'error' || type === 'delivered');
    expect(answers.map(({ id }) => id)).toEqual(['1', '2']);
    alice.send({ type: 'deliver', to: 'nobody', id: '3', kind: 'note', ephemeral: true }, '{}');
    expect(await alice.next('error', { id: '3' })).toMatchObject({ code: 'no_consumer', retryable: true });
  });
});
