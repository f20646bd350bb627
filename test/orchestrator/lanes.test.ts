import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { callsReplySchema, type McpReply } from '@signalbox/protocol';
import { openSqliteJournal } from '@signalbox/store/journal';
import { connectWire, tempDir, type WireClient, type WireFrame } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { askData } from '../support/orchestrator/requests.ts';
import { startToolStack, type ToolStack, type ToolStackOptions } from '../support/orchestrator/tool-stack.ts';

const count = 'mcp_counter__count';
const echo = 'mcp_counter__echo';

/** A stack with a journal. */
async function startLaneStack(options: ToolStackOptions = {}) {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const journal = starting.use(await openSqliteJournal({ file: `${directory.path}/journal.db` }));
  const stack = starting.use(await startToolStack({ journal, ...options }));
  const started = starting.move();
  const runs = (tool: string) => stack.ran(tool).filter(({ at }) => at === 'start').length;
  return { ...stack, runs, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

/** A worker in another language: it speaks only frames, with the broker and on its lane. */
async function startWorker({ broker }: Pick<ToolStack, 'broker'>, agent: string, role?: string) {
  const address = `${agent}#mcp-lane`;
  const wire = await connectWire(broker.url, {
    agent: address,
    token: await (role === undefined ? broker.tokenOf(agent, 'worker') : broker.token(agent, role)),
  });
  wire.send({ type: 'subscribe', request_id: 's' });
  await wire.next('subscribed');
  return wire;
}

interface Opened {
  id: string;
  path: string;
  ticket: string;
  proof: string;
}

async function openLane(wire: WireClient): Promise<Opened> {
  wire.send({ type: 'open_lane', request_id: 'o', to: 'orchestrator' });
  return (await wire.next('lane_opened')).lane as Opened;
}

/** Shows a ticket at the socket of an orchestrator. */
function showTicket({ path, id, ticket }: Pick<Opened, 'path' | 'id' | 'ticket'>) {
  const socket = connect(path);
  const frames: WireFrame[] = [];
  const closed = once(socket, 'close');
  socket.on('error', () => {});
  const lines = createInterface(socket)[Symbol.asyncIterator]();
  const send = (header: object, body?: object): void => {
    const text = JSON.stringify(header).slice(0, -1);
    socket.write(body ? `${text},"body":true}\n${JSON.stringify(body)}\n` : `${text}}\n`);
  };
  const next = async (): Promise<WireFrame | undefined> => {
    const line = await lines.next();
    if (line.done) return undefined;
    const frame = JSON.parse(line.value) as WireFrame;
    if (frame.body) frame.body = (await lines.next()).value as string;
    frames.push(frame);
    return frame;
  };
  send({ type: 'lane', lane: id, secret: ticket });
  return { socket, closed, send, next };
}

const call = (id: string) => ({ type: 'request', id, kind: 'mcp_request', remaining_ms: 30_000 });
const toolCall = (tool: string) => ({ op: 'call', tool, arguments: {} });
const replyOf = (frame: WireFrame | undefined) => JSON.parse(frame!.body!) as McpReply;

test('a worker on the machine of the orchestrator calls tools directly, and the broker stores nothing of it', async () => {
  await using stack = await startLaneStack();
  const rosa = await stack.executor('rosa');
  await rosa.execute({ name: echo });
  const operator = await stack.client('operator', 'operator');
  const isDirect = async () =>
    (await operator.listConnected({ withStatus: true })).find(({ agent }) => agent === 'rosa')?.lane;
  await expect.poll(isDirect).toBe(true);
  const seen: { what: string; message?: { kind: string; from: { agent: string } } }[] = [];
  operator.onMessage(({ json }) => seen.push(json as never));
  await operator.admin('tail', { on: true });
  const stored = async () => (await operator.admin('history', { since: 0, limit: 100 })).messages.length;
  const before = await stored();
  expect(await rosa.execute({ name: count })).toHaveProperty('result.success', true);
  expect(await rosa.execute({ name: echo, arguments: { a: 1 } })).toHaveProperty('result.success', true);
  expect(await stored()).toBe(before);
  expect(stack.runs('count')).toBe(1);
  // Those who follow the traffic see a call as the two messages that it would be.
  const told = () => seen.map(({ what, message }) => `${what} ${message?.kind} of ${message?.from.agent}`);
  await expect
    .poll(told)
    .toEqual(
      expect.arrayContaining([
        'stored mcp_request of rosa',
        'delivered mcp_request of rosa',
        'settled mcp_request of rosa',
        'stored mcp_reply of orchestrator',
        'settled mcp_reply of orchestrator',
      ]),
    );
});

test('those who watch see the first calls of a lane, also if its worker is gone at once', async () => {
  await using stack = await startLaneStack();
  const operator = await stack.client('operator', 'operator');
  const seen: string[] = [];
  operator.onMessage(({ json }) => {
    const { what, message } = json as { what: string; message?: { kind: string; id: string } };
    seen.push(`${what} ${message?.kind} ${message?.id}`);
  });
  await operator.admin('tail', { on: true });
  const wire = await startWorker(stack, 'rosa');
  const lane = showTicket(await openLane(wire));
  await lane.next();
  lane.send(call('q1'), toolCall(echo));
  await lane.next();
  wire.socket.terminate();
  lane.socket.destroy();
  await expect
    .poll(() => seen)
    .toEqual(expect.arrayContaining(['stored mcp_request q1', 'stored mcp_reply re:q1']));
});

test('only the worker to which the broker gave a ticket gets a lane, once, and says nothing about who it is', async () => {
  await using stack = await startLaneStack();
  await using wire = await startWorker(stack, 'rosa');
  const opened = await openLane(wire);
  for (const wrong of [
    { ...opened, ticket: opened.proof },
    { ...opened, id: opened.ticket },
  ]) {
    const stranger = showTicket(wrong);
    stranger.socket.end();
    expect(await stranger.next()).toBeUndefined();
  }
  const again = await openLane(wire);
  const lane = showTicket(again);
  expect(await lane.next()).toEqual({
    type: 'lane',
    lane: again.id,
    secret: again.proof,
    epoch: expect.any(String),
  });
  const second = showTicket(again);
  second.socket.end();
  expect(await second.next()).toBeUndefined();
  // A claim is no field of a request, and is dropped.
  lane.send({ ...call('r1'), from: { agent: 'walt', role: 'operator' } }, toolCall(echo));
  expect(replyOf(await lane.next())).toHaveProperty('result');
  const operator = await stack.client('operator', 'operator');
  const { calls } = await askData(operator, { op: 'calls' }, callsReplySchema);
  expect(calls).toMatchObject([{ request_id: 'r1', agent: 'rosa', role: 'worker' }]);
  // Only calls of tools know what becomes of them without a lane.
  lane.send(call('r2'), { op: 'manifest' });
  expect(await lane.next()).toEqual({ type: 'use_broker', id: 'r2' });
  // What is no frame ends the lane.
  lane.socket.write('hello\n');
  await lane.closed;
});

const points = [
  'orchestrator.call.received',
  'orchestrator.journal.started',
  'orchestrator.call.sent',
  'orchestrator.call.returned',
  'orchestrator.journal.finished',
  'orchestrator.reply.before',
];

test.each([count, echo])(
  'wherever the lane is lost, a call of %s that is sent again through the broker runs once, and gets its reply',
  async (tool) => {
    let cut = (_point: string): void => {};
    await using stack = await startLaneStack({ fault: (point) => cut(point) });
    await using wire = await startWorker(stack, 'rosa');
    const name = tool.split('__')[1]!;
    let expected = 0;
    for (const point of points) {
      if (tool === echo && point.includes('journal')) continue;
      const lane = showTicket(await openLane(wire));
      const { epoch } = (await lane.next())!;
      const id = `at-${point}`;
      cut = (passed) => {
        if (passed === point) lane.socket.destroy();
      };
      lane.send(call(id), toolCall(tool));
      await lane.closed;
      cut = () => {};
      const body = JSON.stringify({ ...toolCall(tool), maybe_started_in: epoch });
      wire.send({ type: 'deliver', to: 'orchestrator', id, kind: 'mcp_request' }, body);
      const reply = await wire.next('message', { correlation_id: id, kind: 'mcp_reply' });
      expect({ point, reply: replyOf(reply) }).toMatchObject({ reply: { result: expect.any(Object) } });
      wire.send({ type: 'ack', seqs: [reply.seq] });
      expect({ point, runs: stack.runs(name) }).toEqual({ point, runs: ++expected });
    }
  },
);

test('a request with a known id gets the reply of the earlier one, or, if its worker says that it is the first, no run if its tool is unsafe', async () => {
  await using stack = await startLaneStack();
  await using wire = await startWorker(stack, 'rosa');
  const lane = showTicket(await openLane(wire));
  await lane.next();
  const answer = async (more: object = {}) => {
    lane.send({ ...call('q1'), ...more }, toolCall(count));
    return replyOf(await lane.next());
  };
  const first = await answer({ first: true });
  expect(first).toHaveProperty('result.content');
  expect(await answer()).toEqual(first);
  expect(stack.runs('count')).toBe(1);
  lane.send({ type: 'ack', ids: ['q1'] });
  expect(await answer({ first: true })).toMatchObject({
    error: { code: 'outcome_unknown', may_have_run: true },
  });
  expect(stack.runs('count')).toBe(1);
  lane.socket.destroy();
});

test('a call that may have started under a journal that is foreign now ends as unknown, unless its tool is safe', async () => {
  await using stack = await startLaneStack();
  await using wire = await startWorker(stack, 'rosa');
  for (const [tool, outcome] of [
    [count, { error: { code: 'outcome_unknown' } }],
    [echo, { result: expect.any(Object) }],
  ] as const) {
    const body = JSON.stringify({ ...toolCall(tool), maybe_started_in: 'another' });
    wire.send({ type: 'deliver', to: 'orchestrator', id: tool, kind: 'mcp_request' }, body);
    const reply = await wire.next('message', { correlation_id: tool, kind: 'mcp_reply' });
    expect(replyOf(reply)).toMatchObject(outcome);
  }
  expect(stack.runs('count')).toBe(0);
});

test('a call that meets a hold is left to the broker, without having begun', async () => {
  await using stack = await startLaneStack();
  const operator = await stack.client('operator', 'operator');
  await using wire = await startWorker(stack, 'rosa');
  const lane = showTicket(await openLane(wire));
  await lane.next();
  const { hold } = await operator.admin('hold', { on: 'role', name: 'worker', reason: 'it deletes files' });
  lane.send(call('r1'), toolCall(count));
  expect(await lane.next()).toEqual({ type: 'use_broker', id: 'r1' });
  await operator.admin('release', { ids: [hold.id] });
  const again = showTicket(await openLane(wire));
  await again.next();
  again.send(call('r2'), toolCall(count));
  expect(replyOf(await again.next())).toMatchObject({ result: expect.any(Object) });
  expect(stack.runs('count')).toBe(1);
});

test('after the revocation of a token its calls that run are answered, those that wait never begin, and its lane takes no more', async () => {
  await using stack = await startLaneStack({ concurrency: { perWorker: 1 } });
  const operator = await stack.client('operator', 'operator');
  await using wire = await startWorker(stack, 'rosa');
  const lane = showTicket(await openLane(wire));
  await lane.next();
  const opener = `${stack.directory}/open`;
  lane.send(call('r1'), { op: 'call', tool: 'mcp_counter__gate', arguments: { file: opener } });
  await expect.poll(() => stack.runs('gate')).toBe(1);
  lane.send(call('r2'), toolCall(count));
  await expect
    .poll(async () => (await askData(operator, { op: 'calls' }, callsReplySchema)).calls)
    .toEqual(expect.arrayContaining([expect.objectContaining({ request_id: 'r2', state: 'queued' })]));
  const { tokens } = await operator.admin('token_list', {});
  await operator.admin('token_revoke', { id: tokens.find(({ agent }) => agent === 'rosa')!.id });
  expect(await lane.next()).toEqual({ type: 'undeliverable', id: 'r2', reason: 'forbidden' });
  lane.send(call('r3'), toolCall(count));
  expect(await lane.next()).toEqual({ type: 'use_broker', id: 'r3' });
  await writeFile(opener, '');
  expect(replyOf(await lane.next())).toHaveProperty('result');
  expect(stack.runs('count')).toBe(0);
});

test('a reply that was lost with its lane is not given to another role of the agent', async () => {
  const allowlist = RoleToolAllowlist.fromEntries([
    ['boss', [count]],
    ['worker', [echo]],
  ]);
  await using stack = await startLaneStack({ allowlist });
  const boss = await startWorker(stack, 'rosa', 'boss');
  const lane = showTicket(await openLane(boss));
  const { epoch } = (await lane.next())!;
  lane.send(call('r1'), toolCall(count));
  expect(replyOf(await lane.next())).toHaveProperty('result');
  await boss[Symbol.asyncDispose]();
  await using wire = await startWorker(stack, 'rosa', 'worker');
  const body = JSON.stringify({ ...toolCall(count), maybe_started_in: epoch });
  wire.send({ type: 'deliver', to: 'orchestrator', id: 'r1', kind: 'mcp_request' }, body);
  const reply = await wire.next('message', { correlation_id: 'r1', kind: 'mcp_reply' });
  expect(replyOf(reply)).toMatchObject({ error: { code: 'permission_denied' } });
  lane.socket.destroy();
});

test('a call that may have started under a foreign journal is not said to have not run, also where there is no room for it', async () => {
  await using stack = await startLaneStack({ sizes: { bytesPerWorker: 3_000 } });
  await using wire = await startWorker(stack, 'rosa');
  const large = { ...toolCall(count), arguments: { text: 'x'.repeat(4_000) } };
  for (const [id, more, error] of [
    ['r1', {}, { code: 'invalid_arguments', may_have_run: false }],
    ['r2', { maybe_started_in: 'another' }, { code: 'outcome_unknown', may_have_run: true }],
  ] as const) {
    const body = JSON.stringify({ ...large, ...more });
    wire.send({ type: 'deliver', to: 'orchestrator', id, kind: 'mcp_request' }, body);
    const reply = await wire.next('message', { correlation_id: id, kind: 'mcp_reply' });
    expect(replyOf(reply)).toMatchObject({ error });
  }
});
