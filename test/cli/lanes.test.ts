import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, test, vi } from 'vitest';
import { cleanEnv, jsonOf, signalboxArgv } from '../support/cli/command-line.ts';
import { everythingText, startWorkspace } from '../support/cli/workspace.ts';

const long = 'mcp_everything__trigger-long-running-operation';

/** The same server twice: the operator says of one that its calls are safe to repeat, and of the other that they are not. */
function configText(): string {
  const { mcpServers, roles, ...config } = JSON.parse(everythingText());
  const { everything } = mcpServers;
  const tools = [long, long.replace('everything', 'once'), 'mcp_everything__echo'];
  return JSON.stringify({
    ...config,
    mcpServers: {
      everything: { ...everything, safeToRepeat: ['*'] },
      once: { ...everything, neverRepeat: ['*'] },
    },
    roles: { ...roles, researcher: { tools } },
  });
}

test('Calls of a worker on this machine go directly to the orchestrator; when that is killed, a safe one runs again and another is unknown, and calls go directly again.', async () => {
  await using workspace = await startWorkspace(configText);
  const { env } = await workspace.agent('researcher-1', 'researcher');
  const client = new Client({ name: 'agent', version: '1.0.0' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: signalboxArgv(['worker', 'mcp']),
    stderr: 'ignore',
    env: cleanEnv(env),
  });
  await client.connect(transport);
  try {
    const echo = () => client.callTool({ name: 'mcp_everything__echo', arguments: { message: 'hi' } });
    const isDirect = async (): Promise<void> => {
      expect(await echo()).toMatchObject({ content: [{ text: expect.stringContaining('hi') }] });
      const listed = jsonOf(await workspace.run(['ps', '--json', '--config', 'signalbox.yaml']));
      expect(JSON.stringify(listed)).toContain('"lane":true');
    };
    await vi.waitFor(isDirect, { interval: 100 });
    const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const calls = [long, long.replace('everything', 'once')].map((name, at) =>
      client.callTool(
        { name, arguments: { duration: 2, steps: 4 } },
        { onprogress: () => begun[at]!.resolve() },
      ),
    );
    await Promise.all(begun.map(({ promise }) => promise));
    process.kill(workspace.ready.orchestrator.pid, 'SIGKILL');
    const [safe, unsafe] = await Promise.all(calls);
    expect(safe).toMatchObject({ content: [{ text: expect.stringContaining('completed') }] });
    expect(unsafe).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'outcome_unknown', may_have_run: true } },
    });
    await vi.waitFor(isDirect, { interval: 100 });
  } finally {
    await client.close();
  }
  expect(workspace.up.stderr()).toContain('the orchestrator is back');
});
