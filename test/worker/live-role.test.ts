import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrokerClient } from '@signalbox/client';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { McpProxyExecutor } from '@signalbox/worker';
import { expect, test } from 'vitest';
import { startToolStack, type ToolStack } from '../support/orchestrator/tool-stack.ts';
import { connectFace, watchListChanges } from '../support/worker/mcp-client.ts';

const gate = 'mcp_counter__gate';
const count = 'mcp_counter__count';
const echo = 'mcp_counter__echo';

const allowlist = RoleToolAllowlist.fromEntries([
  ['reader', [echo, gate]],
  ['writer', [count, echo, gate]],
]);
const oneAtATime = { allowlist, concurrency: { perServer: 1 } };

test('a change of policy changes the lists of live clients and refuses a call that waits, but not its twin', async () => {
  await using stack = await startToolStack(oneAtATime);
  await using legacy = await connectFace(await stack.executor('lea', 'writer'), {
    era: 'legacy',
    mailbox: false,
  });
  await using modern = await connectFace(await stack.executor('mo', 'writer'), {
    era: 'modern',
    mailbox: false,
  });
  const faces = [legacy, modern];
  const operator = await stack.client('operator', 'operator');
  const changes = await Promise.all(faces.map(({ client }) => watchListChanges(client)));
  for (const face of faces) expect(await namesOf(face)).toEqual([count, echo, gate]);

  const open = await occupy(stack);
  const waiting = faces.map((face) => [face.call(count), face.call(echo, { n: 1 })] as const);
  await expect.poll(() => queued(operator)).toBe(4);
  stack.orchestrator.setPolicy({ allowlist: allowlist.withRole('writer', [echo, gate]) });
  for (const [at, face] of faces.entries()) {
    await changes[at]!.reached(1);
    expect(await namesOf(face)).toEqual([echo, gate]);
  }
  await open();
  for (const [counting, echoing] of waiting) {
    const error = { code: 'permission_denied', may_have_run: false };
    expect(await counting).toMatchObject({ isError: true, structuredContent: { error } });
    expect(await echoing).toMatchObject({ structuredContent: { n: 1 } });
  }
  expect(stack.ran('count')).toEqual([]);

  stack.orchestrator.setPolicy({ allowlist });
  for (const change of changes) await change.reached(2);
  expect(await legacy.call(count)).toMatchObject({ structuredContent: { n: 1 } });
});

test('a token that is issued anew with another role gives live clients that role, and their waiting calls never start', async () => {
  await using stack = await startToolStack(oneAtATime);
  const operator = await stack.client('operator', 'operator');
  for (const era of ['legacy', 'modern'] as const) {
    await using rosa = await renewable(stack, era);
    await using face = await connectFace(rosa.executor, { era, mailbox: false });
    const changes = await watchListChanges(face.client);
    expect(await namesOf(face)).toEqual([count, echo, gate]);
    expect(await face.call(count)).toMatchObject({ structuredContent: { n: expect.any(Number) } });

    const counted = stack.ran('count').length;
    const open = await occupy(stack);
    const waiting = face.call(count);
    await expect.poll(() => queued(operator)).toBe(1);
    await rosa.become('reader');
    await operator.admin('token_revoke', { id: rosa.firstId });
    await changes.reached(1);
    expect(await namesOf(face)).toEqual([echo, gate]);
    expect(rosa.executor.role).toBe('reader');
    const forbidden = { text: expect.stringContaining('forbidden') };
    expect(await waiting).toMatchObject({ isError: true, content: [forbidden] });
    await open();
    expect(await face.call(echo, { n: 2 })).toMatchObject({ structuredContent: { n: 2 } });
    await expect(face.call(count)).rejects.toMatchObject({ code: -32602 });
    expect(stack.ran('count')).toHaveLength(counted);
  }

  // The same, but with no other token in its place.
  await using rosa = await renewable(stack, 'last');
  await using face = await connectFace(rosa.executor, { era: 'legacy', mailbox: false });
  const hungUp = new Promise<void>((resolve) => {
    face.client.onclose = resolve;
  });
  await operator.admin('token_revoke', { id: rosa.firstId });
  expect(await rosa.executor.closed).toMatchObject({ code: 'unauthorized' });
  await hungUp;
});

/** An executor of a writer's, whose token file, so to speak, can be written anew. */
async function renewable({ broker: { broker, url } }: ToolStack, agent: string) {
  const first = await broker.issueToken({ agent, role: 'writer' });
  let { token } = first;
  const renewToken = async () => token;
  const executor = await McpProxyExecutor.connect({ url, token, renewToken, agent });
  return {
    executor,
    firstId: first.id,
    async become(role: string) {
      ({ token } = await broker.issueToken({ agent, role }));
    },
    [Symbol.asyncDispose]: () => executor.close(),
  };
}

async function namesOf(face: Awaited<ReturnType<typeof connectFace>>): Promise<string[]> {
  return (await face.list()).map(({ name }) => name);
}

/** Takes the only place on the server; all others wait until the returned function was called. */
async function occupy(stack: ToolStack): Promise<() => Promise<void>> {
  const before = stack.ran('gate').length;
  const file = join(stack.directory, `open-${before}`);
  const will = await stack.executor('will', 'writer');
  const running = will.execute({ name: gate, arguments: { file } });
  await expect.poll(() => stack.ran('gate').length).toBe(before + 1);
  return async () => {
    await writeFile(file, '');
    expect((await running).result?.success).toBe(true);
  };
}

/** Calls that wait for their turn. */
async function queued(operator: BrokerClient): Promise<number> {
  const body = { op: 'calls', running: true };
  const outcome = await operator.request('orchestrator', 'mcp_request', body, {
    timeoutMs: 10_000,
    ephemeral: true,
  });
  const { data } = (outcome as { reply: { json: { data: { calls: { state: string }[] } } } }).reply.json;
  return data.calls.filter(({ state }) => state === 'queued').length;
}
