import { fileURLToPath } from 'node:url';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, test } from 'vitest';
import { startAskingStack } from '../support/approvals/asking-stack.ts';
import { connectFace, connectMcpClient } from '../support/worker/mcp-client.ts';

const count = 'mcp_counter__count';
const lookUp = 'signalbox_call_result';
const faceMain = fileURLToPath(new URL('../support/worker/face-main.ts', import.meta.url));

test('A call that was answered with pending runs on approval although client and face were killed, and the next process finds its result.', async () => {
  await using stack = await startAskingStack();
  const token = await stack.broker.tokenOf('rosa', 'worker');
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['--conditions=@signalbox/source', faceMain, stack.broker.url, token, 'rosa', '50'],
    stderr: 'ignore',
  });
  await using killed = await connectMcpClient(transport);
  const pending = await killed.call(count, {});
  const { call_id } = pending.structuredContent as { call_id: string };
  process.kill(transport.pid!, 'SIGKILL');
  await expect
    .poll(() => stack.operator.listConnected().then((all) => all.map(({ agent }) => agent)))
    .not.toContain('rosa');
  const [approval] = await stack.waits();
  expect(approval).not.toHaveProperty('left_at');
  await stack.decide(approval!.id, { verdict: 'approve' });
  await using next = await connectFace(await stack.executor('rosa'));
  expect(await next.call(lookUp, { call_id })).toMatchObject({ structuredContent: { n: 1 } });
});

test('without signalbox_call_result the same call goes on waiting for the decision', async () => {
  await using stack = await startAskingStack();
  const executor = await stack.executor('rosa');
  await using connection = await connectFace(executor, { pendingAfterMs: 50, mailbox: false });
  const pending = await connection.call(count, {});
  expect(JSON.stringify(pending.content)).toContain('call again with the same arguments');
  await using patient = await connectFace(executor, { mailbox: false });
  const again = patient.call(count, {});
  const [approval] = await stack.waits();
  await stack.decide(approval!.id, { verdict: 'deny', reason: 'no' });
  expect(await again).toMatchObject({
    isError: true,
    structuredContent: { error: { code: 'approval_denied' } },
  });
});
