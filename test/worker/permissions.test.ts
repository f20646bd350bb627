import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AskingStack, startAskingStack } from '../support/approvals/asking-stack.ts';
import { connectFace, type McpClient } from '../support/worker/mcp-client.ts';

const tool = 'permission_prompt';
let stack: AskingStack;

beforeAll(async () => {
  stack = await startAskingStack();
});
afterAll(() => stack?.[Symbol.asyncDispose]());

/** Asks as claude does, and returns what it reads. */
async function asked(client: McpClient, tool_name: string, input: object, signal?: AbortSignal) {
  const args = { tool_name, input, tool_use_id: 'toolu_1' };
  const { content } = await client.call(tool, args, signal && { signal });
  return JSON.parse((content as [{ text: string }])[0].text);
}

async function connectAsking() {
  return connectFace(await stack.executor('rosa'), { permissions: 'ask', toolList: 'search' });
}

test('only a face that is to ask has the tool, and no instructions tell a model of it', async () => {
  await using plain = await connectFace(await stack.executor('rosa'));
  await using asking = await connectAsking();
  const names = async ({ list }: McpClient) => (await list()).map(({ name }) => name);
  expect(await names(plain)).not.toContain(tool);
  expect(await names(asking)).toContain(tool);
  expect(asking.client.getInstructions()).not.toContain(tool);
  // Without the option it is a tool like any that there is not.
  await expect(plain.call(tool, { tool_name: 'Bash', input: {} })).rejects.toThrow(/no tool/);
});

test('a question waits in the queue of approvals; the CLI gets its input back as it was, and people see all of it', async () => {
  await using face = await connectAsking();
  const input = { command: 'deploy', env: { api_key: 'abc' }, __proto__: undefined, n: 1.5 };
  const answer = asked(face, 'Bash', input);
  const [approval] = await stack.waits();
  expect(approval).toMatchObject({
    agent: 'rosa',
    role: 'worker',
    server: 'claude',
    tool: 'claude:Bash',
    rule: 'worker --permissions ask',
    arguments: '{"command":"deploy","env":{"api_key":"abc"},"n":1.5}',
  });
  await stack.decide(approval!.id, { verdict: 'approve' });
  expect(await answer).toEqual({
    behavior: 'allow',
    updatedInput: { command: 'deploy', env: { api_key: 'abc' }, n: 1.5 },
  });
});

test('each use of a tool is a question of its own, also the same one at the same time and after an answer', async () => {
  await using face = await connectAsking();
  const both = [asked(face, 'Bash', { command: 'x' }), asked(face, 'Bash', { command: 'x' })];
  const [second, first] = await stack.waits(2);
  await stack.decide(first!.id, { verdict: 'approve' });
  expect(await stack.pending()).toMatchObject([{ id: second!.id }]);
  await stack.decide(second!.id, { verdict: 'deny', reason: 'once is enough' });
  const ends = await Promise.all(both);
  expect(ends.map(({ behavior }) => behavior).sort()).toEqual(['allow', 'deny']);
  expect(ends.find(({ message }) => message)?.message).toMatch(
    /^approval_denied: .*'claude:Bash'.*: once is enough.*do not seek another way/,
  );
  const third = asked(face, 'Bash', { command: 'x' });
  const [again] = await stack.waits();
  await stack.decide(again!.id, { verdict: 'approve' });
  expect(await third).toMatchObject({ behavior: 'allow' });
});

test('a question that its CLI cancels, or whose CLI is gone, is off the list, so that no decision is without effect', async () => {
  const face = await connectAsking();
  const abort = new AbortController();
  const cancelled = asked(face, 'Bash', { n: 1 }, abort.signal).catch(() => 'rejected');
  const [first] = await stack.waits();
  // Also one that only stopped to wait: it will not look the answer up.
  abort.abort('Request timed out');
  await stack.waits(0);
  expect(await cancelled).toBe('rejected');
  const gone = asked(face, 'Bash', { n: 2 }).catch(() => 'rejected');
  const [second] = await stack.waits();
  await face.client.close();
  await stack.waits(0);
  expect(await gone).toBe('rejected');
  for (const { id } of [first!, second!]) {
    const reply = await stack.decide(id, { verdict: 'approve' });
    expect(reply).toMatchObject({ data: { decided: false, approval: { state: 'cancelled' } } });
  }
  await face.face.close();
});

test('a question that makes no sense, or is too long for a person, is denied in words for a model, and nobody is asked', async () => {
  await using face = await connectAsking();
  const text = async (args: object) =>
    JSON.parse(((await face.call(tool, args)).content as [{ text: string }])[0].text);
  expect(await text({ tool_name: 'Bash' })).toMatchObject({
    behavior: 'deny',
    message: expect.stringContaining('needs tool_name'),
  });
  expect(await asked(face, 'Ba\nsh', {})).toMatchObject({
    behavior: 'deny',
    message: expect.stringContaining("field 'tool'"),
  });
  expect(await asked(face, 'Write', { content: 'x'.repeat(70_000) })).toMatchObject({
    behavior: 'deny',
    message: expect.stringContaining('65536 bytes of arguments'),
  });
  expect(await stack.pending()).toEqual([]);
});
