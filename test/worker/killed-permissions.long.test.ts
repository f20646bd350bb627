import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { connectBroker } from '@signalbox/client';
import { decideApproval, issueToken, listApprovals } from '@signalbox/client/operator';
import { type Child, startBrokerProcess, startChild, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { cleanEnv, signalboxArgv } from '../support/cli/command-line.ts';
import { connectMcpClient } from '../support/worker/mcp-client.ts';
import { startFaceProcess } from '../support/worker/shim.ts';

/** A part of the system in a process of its own, which the test kills and starts again. */
async function startKillable(start: () => Promise<() => Promise<unknown>>) {
  let kill = await start();
  return {
    async restart(): Promise<void> {
      await kill();
      kill = await start();
    },
    [Symbol.asyncDispose]: async () => void (await kill()),
  };
}

async function killOf(starting: Promise<Child<unknown>>) {
  const child = await starting;
  return () => child.end('SIGKILL');
}

/** A broker, an orchestrator and a shared face, each of which can be killed, and an operator. */
async function startKillableSite() {
  await using starting = new AsyncDisposableStack();
  const { path: directory } = starting.use(await tempDir());
  const first = await startBrokerProcess(join(directory, 'data'));
  const { url, port } = first;
  let next: typeof first | undefined = first;
  const broker = starting.use(
    await startKillable(async () => {
      const started = next ?? (await startBrokerProcess(join(directory, 'data'), port));
      next = undefined;
      return started.kill;
    }),
  );
  const token = await first.operatorToken();
  const operator = starting.use(await connectBroker({ url, token, agent: 'operator' }));
  const tokenOf = async (agent: string, role: string) => (await issueToken(operator, { agent, role })).token;
  const own = await tokenOf('orchestrator', 'orchestrator');
  const main = new URL('../support/approvals/asking-orchestrator-main.ts', import.meta.url);
  const args = [url, own, join(directory, 'journal.db')];
  const orchestrator = starting.use(await startKillable(() => killOf(startChild(main, { args }))));
  const socket = join(directory, 'face.sock');
  const face = starting.use(await startKillable(() => killOf(startFaceProcess(socket, url))));
  const tokenFile = join(directory, 'rosa.token');
  await writeFile(tokenFile, await tokenOf('rosa', 'worker'), { mode: 0o600 });
  const started = starting.move();
  const list = async (all: boolean) =>
    (await listApprovals(operator, 'orchestrator', { all, limit: 10 })).approvals;
  return {
    parts: { face, broker, orchestrator },
    all: () => list(true),
    /** Resolves with the questions that wait, the newest first, as soon as there are so many. */
    async waits(count: number) {
      await expect.poll(async () => (await list(false).catch(() => [])).length).toBe(count);
      return await list(false);
    },
    decide: (id: string, decision: Parameters<typeof decideApproval>[3]) =>
      decideApproval(operator, 'orchestrator', id, decision),
    /** Starts `worker mcp` as agent `rosa`, as its CLI does, and returns what asks it. */
    async cli() {
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: signalboxArgv(['worker', 'mcp', '--permissions', 'ask']),
        stderr: 'pipe',
        env: cleanEnv({ SIGNALBOX_URL: url, SIGNALBOX_TOKEN_FILE: tokenFile, SIGNALBOX_FACE: socket }),
      });
      let notices = '';
      transport.stderr!.on('data', (chunk) => {
        notices += chunk;
      });
      const mcp = started.use(await connectMcpClient(transport));
      const answered: unknown[] = [];
      const take = transport.onmessage;
      transport.onmessage = (message) => {
        if ('id' in message && !('method' in message)) answered.push(message.id);
        take?.(message);
      };
      return {
        /** The ids of the requests that were answered, in order. */
        answered,
        notices: () => notices,
        async ask(tool_use_id: string, command: string) {
          const args = { tool_name: 'Bash', input: { command }, tool_use_id };
          const { content } = await mcp.call('permission_prompt', args, { timeout: 60_000 });
          return JSON.parse((content as [{ text: string }])[0].text);
        },
      };
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

test('Questions of two faces of one agent, with the same ids and others, outlive kill -9 of face, broker and orchestrator; each gets its own answer, once.', async () => {
  await using site = await startKillableSite();
  const [one, other] = await Promise.all([site.cli(), site.cli()]);
  const asked = [
    () => one.ask('toolu_1', 'deploy'),
    () => one.ask('toolu_2', 'rollback'),
    () => other.ask('toolu_1', 'deploy'),
  ];
  const answers: Promise<unknown>[] = [];
  for (const ask of asked) {
    answers.push(ask());
    await site.waits(answers.length);
  }
  for (const part of Object.values(site.parts)) await part.restart();
  for (const { notices } of [one, other]) await expect.poll(notices).toContain('the MCP face is back');
  const [third, second, first] = await site.waits(3);
  expect([first, second, third].map((approval) => approval?.arguments)).toEqual(
    ['deploy', 'rollback', 'deploy'].map((command) => JSON.stringify({ command })),
  );
  await site.decide(first!.id, { verdict: 'approve' });
  await site.decide(third!.id, { verdict: 'deny', reason: 'not twice' });
  await site.decide(second!.id, { verdict: 'deny', reason: 'not needed' });
  expect(await Promise.all(answers)).toEqual([
    { behavior: 'allow', updatedInput: { command: 'deploy' } },
    { behavior: 'deny', message: expect.stringContaining('not needed') },
    { behavior: 'deny', message: expect.stringContaining('not twice') },
  ]);
  // A further answer of a question would have come before that of the next one.
  for (const cli of [one, other]) {
    const last = cli.ask('toolu_3', 'status');
    const [{ id } = { id: '' }] = await site.waits(1);
    await site.decide(id, { verdict: 'approve' });
    await last;
  }
  expect([one.answered.toSorted(), other.answered]).toEqual([
    [1, 2, 3],
    [1, 2],
  ]);
  expect((await site.all()).map(({ state }) => state)).toEqual([
    ...['approved', 'approved'],
    ...['denied', 'denied', 'approved'],
  ]);
});
