import { readdir, rm } from 'node:fs/promises';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, test, vi } from 'vitest';
import { cleanEnv, jsonOf, signalboxArgv } from '../support/cli/command-line.ts';
import { everythingText, startWorkspace, type Workspace } from '../support/cli/workspace.ts';

const long = 'mcp_everything__trigger-long-running-operation';
const once = long.replace('everything', 'once');

/** The same server twice: the operator says of one that its calls are safe to repeat, and of the other that they are not. */
function configText(): string {
  const { mcpServers, roles, ...config } = JSON.parse(everythingText());
  const { everything } = mcpServers;
  const tools = [long, once, 'mcp_everything__echo'];
  return JSON.stringify({
    ...config,
    mcpServers: {
      everything: { ...everything, safeToRepeat: ['*'] },
      once: { ...everything, neverRepeat: ['*'] },
    },
    roles: { ...roles, researcher: { tools } },
  });
}

/** Starts an agent's `worker mcp`, with a client of MCP's own SDK. */
async function startAgent(workspace: Workspace) {
  const { env } = await workspace.agent('researcher-1', 'researcher');
  const client = new Client({ name: 'agent', version: '1.0.0' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: signalboxArgv(['worker', 'mcp', '--config', 'signalbox.yaml']),
    cwd: workspace.directory,
    stderr: 'ignore',
    env: cleanEnv(env),
  });
  await client.connect(transport);
  const isDirect = async (): Promise<void> => {
    const echoed = await client.callTool({ name: 'mcp_everything__echo', arguments: { message: 'hi' } });
    expect(echoed).toMatchObject({ content: [{ text: expect.stringContaining('hi') }] });
    const listed = jsonOf(await workspace.run(['ps', '--json', '--config', 'signalbox.yaml']));
    expect(JSON.stringify(listed)).toContain('"lane":true');
  };
  return {
    /** Resolves when the agent's calls go directly. */
    direct: () => vi.waitFor(isDirect, { interval: 100 }),
    /** Begins a call of so many seconds, and waits until it runs. */
    async begin(name: string, duration: number) {
      const begun = Promise.withResolvers<void>();
      const args = { duration, steps: duration * 2 };
      const result = client.callTool({ name, arguments: args }, { onprogress: () => begun.resolve() });
      await Promise.race([begun.promise, result]);
      return { result };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

const unknown = {
  isError: true,
  structuredContent: { error: { code: 'outcome_unknown', may_have_run: true } },
};
const completed = { content: [{ text: expect.stringContaining('completed') }] };

test('Calls of a worker on this machine go directly to the orchestrator; when that is killed, a safe one runs again and another is unknown, and calls go directly again.', async () => {
  await using workspace = await startWorkspace(configText);
  await using agent = await startAgent(workspace);
  await agent.direct();
  const [safe, unsafe] = await Promise.all([agent.begin(long, 4), agent.begin(once, 300)]);
  process.kill(workspace.ready.orchestrator.pid, 'SIGKILL');
  expect(await safe.result).toMatchObject(completed);
  expect(await unsafe.result).toMatchObject(unknown);
  await agent.direct();
  expect(workspace.up.stderr()).toContain('the orchestrator is back');
});

test('A call that must not be repeated goes directly from a shim, too, and is unknown if its face, the orchestrator and the journal that knew of it are gone.', async () => {
  await using workspace = await startWorkspace(configText, { face: true });
  await using agent = await startAgent(workspace);
  await agent.direct();
  const stored = async (): Promise<number> => {
    const history = await workspace.run([
      'history',
      '--json',
      '--kind',
      'mcp_request',
      '--config',
      'signalbox.yaml',
    ]);
    return JSON.stringify(jsonOf(history)).split('"mcp_request"').length;
  };
  const before = await stored();
  const call = await agent.begin(once, 300);
  expect(await stored()).toBe(before);
  const state = `${workspace.directory}/state`;
  for (const file of await readdir(state)) if (file.startsWith('journal')) await rm(`${state}/${file}`);
  const { face, orchestrator } = workspace.ready;
  process.kill(face!.pid, 'SIGKILL');
  process.kill(orchestrator.pid, 'SIGKILL');
  expect(await call.result).toMatchObject(unknown);
  await agent.direct();
});
