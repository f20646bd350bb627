import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { connectBroker, requestAddress } from '@signalbox/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jsonOf, startDaemon } from '../support/cli/command-line.ts';
import { startMcpWorkspace, workerTransport } from '../support/cli/worker-mcp.ts';
import type { Workspace } from '../support/cli/workspace.ts';

let workspace: Workspace;
let env: Record<string, string>;

beforeAll(async () => {
  workspace = await startMcpWorkspace();
  ({ env } = await workspace.agent('rosa', 'frugal'));
});
afterAll(() => workspace?.[Symbol.asyncDispose]());

/** Connects to the broker as an agent with the token in a file. */
async function connect(agent: string, file: string) {
  const token = (await readFile(file, 'utf8')).trim();
  return await connectBroker({ url: workspace.ready.broker.url, token, agent: requestAddress(agent) });
}

/** Sends 60 notes at once as an agent, and returns how many the broker refused for their rate. */
async function refusedNotes(agent: string, file: string): Promise<number> {
  await using client = await connect(agent, file);
  const send = () => client.deliver({ to: agent, kind: 'note' });
  const sent = await Promise.allSettled(Array.from({ length: 60 }, send));
  return sent.filter((one) => one.status === 'rejected' && one.reason.code === 'rate_limited').length;
}

test('An MCP client that runs "signalbox worker mcp" sees its role’s tools and can call them, and calls that go directly to the orchestrator are seen and counted.', async () => {
  await using operator = await connect('operator', join(workspace.directory, 'state', 'operator.token'));
  const client = new Client({ name: 'agent', version: '1.0.0' });
  const transport = workerTransport(env);
  await client.connect(transport);
  try {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('mcp_everything__echo');
    expect(tools.map(({ name }) => name)).not.toContain('mcp_everything__get-sum');
    const result = await client.callTool({ name: 'mcp_everything__echo', arguments: { message: 'hi' } });
    expect(result.content).toEqual([{ type: 'text', text: expect.stringContaining('hi') }]);
    const sum = { name: 'mcp_everything__get-sum', arguments: { a: 1, b: 2 } };
    for (let times = 0; times < 3; times++)
      await expect(client.callTool(sum)).rejects.toThrow("is not allowed for role 'frugal'");
    const audited = async () => {
      const { rows } = await operator.admin('audit', { since: 0, kinds: ['refusal'] });
      const entries = rows.map(
        ({ entry }) => JSON.parse(entry) as { code: string; name: string; count?: number },
      );
      const refused = entries.filter(({ code, name }) => code === 'call_refused' && name === sum.name);
      return refused.reduce((times, { count = 1 }) => times + count, 0);
    };
    await expect.poll(audited).toBe(3);
    const calls = await workspace.run(['tools', 'calls', '--outcome', 'permission_denied', '--json']);
    expect(jsonOf(calls)).toMatchObject({
      calls: [{ tool: sum.name }, { tool: sum.name }, { tool: sum.name }],
    });
    const [tool, outcome] = await Promise.all([
      workspace.run(['tools', 'calls', '--tool', 'everything:eko']),
      workspace.run(['tools', 'calls', '--outcome', 'permission_denid']),
    ]);
    expect([tool.code, tool.stderr]).toEqual([2, expect.stringContaining("did you mean 'everything:echo'?")]);
    expect([outcome.code, outcome.stderr]).toEqual([
      2,
      expect.stringContaining("did you mean 'permission_denied'?"),
    ]);
    const isDirect = async () => {
      const connected = await operator.listConnected({ withStatus: true });
      return connected.find(({ agent }) => agent === 'rosa')?.lane;
    };
    await expect.poll(isDirect).toBe(true);
    const seen: string[] = [];
    operator.onMessage(({ json }) => {
      const { what, message } = json as { what: string; message?: { kind: string } };
      seen.push(`${what} ${message?.kind}`);
    });
    await operator.admin('tail', { on: true });
    const call = () => client.callTool({ name: 'mcp_everything__echo', arguments: { message: 'hi' } });
    const count = (event: string) => seen.filter((one) => one === event).length;
    const storedRequests = async () => {
      const { messages } = await operator.admin('history', { since: 0, limit: 1000 });
      return messages.filter(({ kind }) => kind === 'mcp_request').length;
    };
    // A lane may end on a busy machine. Calls pass the broker then, until there is another one.
    const storedOfForty = async () => {
      const before = await storedRequests();
      seen.length = 0;
      await Promise.all(Array.from({ length: 40 }, call));
      await expect.poll(() => count('settled mcp_reply')).toBe(40);
      expect(count('stored mcp_request')).toBe(40);
      return (await storedRequests()) - before;
    };
    await expect.poll(storedOfForty).toBeLessThan(10);
    // They count towards the rate of their agent, as they would if the broker had stored them.
    expect(await refusedNotes('rosa', env.SIGNALBOX_TOKEN_FILE!)).toBeGreaterThan(0);
    const other = await workspace.agent('walt', 'frugal');
    expect(await refusedNotes('walt', other.env.SIGNALBOX_TOKEN_FILE!)).toBe(0);
  } finally {
    await client.close();
  }
});

test('The first line that a client reads names the mailbox, also for a role whose large results are kept, and a read takes it from another process only if it says so.', async () => {
  const { env: careful } = await workspace.agent('careful-2', 'careful');
  const client = new Client({ name: 'agent', version: '1.0.0' });
  const transport = workerTransport(careful);
  await client.connect(transport);
  try {
    expect(client.getInstructions()).toMatch(/^You share a mailbox.*\n[\s\S]*signalbox_result_read/);
    await using echo = await startDaemon(['worker', 'echo'], { env: careful });
    const read = async (args: object) =>
      JSON.stringify(await client.callTool({ name: 'signalbox_inbox_read', arguments: { ...args } }));
    for (let times = 0; times < 2; times++)
      expect(await read({})).toContain('Read with take_over: true only');
    expect(await read({ take_over: true })).toContain('No new messages');
    expect(await echo.ended).not.toBe(0);
    expect(echo.stderr()).toContain('taken_over');
  } finally {
    await client.close();
  }
});

test('A worker never borrows the operator’s token.', async () => {
  const run = await workspace.run(['worker', 'mcp', '--config', 'signalbox.yaml']);
  expect(run).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('a worker needs a token of its own'),
  });
});
