import { type BrokerClient, newMessageId } from '@signalbox/client';
import { type Approval, type AuditEntry, questionHash } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { type AskingStack, startAskingStack } from '../support/approvals/asking-stack.ts';

const question = { op: 'ask_permission', cli: 'claude', tool: 'Bash', input: { command: 'make' } };

function ask(client: BrokerClient, body: object = question, id = newMessageId()) {
  return client.request('orchestrator', 'mcp_request', body, { id, timeoutMs: 20_000 });
}

/** Waits for the one question that is asked, and returns its approval. */
async function theOne({ waits }: AskingStack): Promise<Approval> {
  const [approval] = await waits();
  return approval!;
}

const bodyOf = (outcome: Awaited<ReturnType<typeof ask>>) =>
  outcome.status === 'completed' ? outcome.reply.json : outcome;

test('a question is decided by those whose scope is its role, never by its agent, and the audit log tells of it', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.client('rosa');
  const reply = ask(rosa, question, 'r1').then(bodyOf);
  const { id } = await theOne(stack);
  const own = await stack.approver('rosa#own', ['worker']);
  const other = await stack.approver('olga', ['reader']);
  for (const client of [own, other, rosa])
    expect(await stack.decide(id, { verdict: 'approve' }, client)).toMatchObject({
      error: { code: 'permission_denied' },
    });
  const lead = await stack.approver('lea', ['work*']);
  expect(await stack.decide(id, { verdict: 'approve' }, lead)).toMatchObject({ data: { decided: true } });
  expect(await reply).toMatchObject({
    result: {
      content: [{ text: `approval ${id} was given by lea` }],
      structuredContent: { question_hash: await questionHash(question) },
    },
  });
  // Nothing starts here: the CLI uses its tool itself.
  const codes = async () => {
    const { rows } = await stack.operator.admin('audit', { since: 0 });
    const entries = rows.map(({ entry }) => JSON.parse(entry) as AuditEntry);
    return entries.filter(({ request_id }) => request_id === 'r1').map(({ code }) => code);
  };
  const facts = ['approval_decided', 'call_answered', 'call_ended', 'call_proposed'];
  await expect.poll(async () => (await codes()).sort()).toEqual(facts);
});

test('questions count among the calls of an agent that wait, and the next is refused at once', async () => {
  await using stack = await startAskingStack({}, { approvalLimits: { perAgent: 2, perMinter: 3, all: 3 } });
  const [rosa, walt] = [await stack.client('rosa'), await stack.client('walt')];
  void ask(rosa);
  void rosa.request(
    'orchestrator',
    'mcp_request',
    { op: 'call', tool: 'mcp_counter__count' },
    { timeoutMs: 20_000 },
  );
  await stack.waits(2);
  expect(bodyOf(await ask(rosa))).toMatchObject({ error: { code: 'quota_exceeded', may_have_run: false } });
  void ask(walt);
  await stack.waits(3);
  expect(bodyOf(await ask(walt))).toMatchObject({ error: { code: 'quota_exceeded' } });
});

test('a question outlives its orchestrator, and the next one answers it', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.client('rosa');
  const reply = ask(rosa).then(bodyOf);
  const [before] = await stack.waits();
  await stack.orchestrator.stop();
  await using _next = await stack.restart();
  const [after] = await stack.waits();
  expect(after).toEqual(before);
  await stack.decide(after!.id, { verdict: 'deny', reason: 'no' });
  expect(await reply).toMatchObject({ error: { code: 'approval_denied', may_have_run: false } });
});

test('a standing approval answers further questions about the same tool of the CLI, and no others', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.client('rosa');
  const first = ask(rosa);
  const { id } = await theOne(stack);
  await stack.decide(id, { verdict: 'approve', for_ms: 60_000 });
  await first;
  expect(bodyOf(await ask(rosa, { ...question, input: { command: 'make install' } }))).toHaveProperty(
    'result',
  );
  // A call of a hosted tool of that name is none of its questions.
  const call = { op: 'call', tool: 'claude:Bash', arguments: { command: 'make' } };
  expect(bodyOf(await ask(rosa, call))).toMatchObject({ error: { code: 'tool_not_found' } });
  void ask(rosa, { ...question, tool: 'Write' });
  expect(await stack.waits()).toMatchObject([{ tool: 'claude:Write' }]);
});

test('under a hold on tools of the CLI a question waits for the release, and so does the answer to one that was approved', async () => {
  await using stack = await startAskingStack();
  const { operator } = stack;
  const rosa = await stack.client('rosa');
  const early = ask(rosa, question, 'r1').then(bodyOf);
  const { id } = await theOne(stack);
  const { hold } = await operator.admin('hold', { on: 'tool', name: 'claude:*', reason: 'looking' });
  await expect
    .poll(() => stack.ask(operator, { op: 'servers' }))
    .toMatchObject({ data: { holds: [expect.anything()] } });
  await stack.decide(id, { verdict: 'approve' });
  await expect
    .poll(() => stack.ask(rosa, { op: 'status', request_id: 'r1' }))
    .toMatchObject({ data: { state: 'held' } });
  const late = ask(rosa, { ...question, tool: 'Write' }, 'r2').then(bodyOf);
  await expect
    .poll(async () => (await stack.ask(operator, { op: 'calls', running: true })) as unknown)
    .toMatchObject({
      data: {
        calls: [expect.objectContaining({ state: 'held' }), expect.objectContaining({ state: 'held' })],
      },
    });
  expect(await stack.pending()).toEqual([]);
  await operator.admin('release', { ids: [hold.id] });
  expect(await early).toHaveProperty('result');
  const { id: next } = await theOne(stack);
  await stack.decide(next, { verdict: 'approve' });
  expect(await late).toHaveProperty('result');
});

test('a question without arguments is answered for one use, by no standing approval, and gives none', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.client('rosa');
  const first = ask(rosa);
  await stack.decide((await theOne(stack)).id, { verdict: 'approve', for_ms: 60_000 });
  await first;
  const untold = ask(rosa, { ...question, once: true }).then(bodyOf);
  const { id } = await theOne(stack);
  expect(await stack.decide(id, { verdict: 'approve', for_ms: 60_000 })).toMatchObject({
    error: { code: 'invalid_arguments' },
  });
  await stack.decide(id, { verdict: 'approve' });
  expect(await untold).toHaveProperty('result');
});

test('a question that replaces another one supersedes it, and one of another agent replaces nothing', async () => {
  await using stack = await startAskingStack();
  const [rosa, walt] = [await stack.client('rosa'), await stack.client('walt')];
  const first = ask(rosa, question, 'r1').then(bodyOf);
  await theOne(stack);
  void ask(walt, { ...question, replaces: 'r1' });
  expect(await stack.waits(2)).toMatchObject([{ agent: 'walt' }, { agent: 'rosa' }]);
  void ask(rosa, { ...question, input: { command: 'make install' }, replaces: 'r1' });
  expect(await first).toMatchObject({ error: { code: 'approval_superseded', may_have_run: false } });
  expect(await stack.waits(2)).toMatchObject([{ agent: 'rosa' }, { agent: 'walt' }]);
});
