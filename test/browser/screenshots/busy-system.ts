import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { listApprovals, listCalls, placeHold, queryOrchestrator } from '@signalbox/client/operator';
import type { StdioServerConfig } from '@signalbox/mcp-host';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { openSqliteJournal } from '@signalbox/store/journal';
import { tempDir } from '@signalbox/testing';
import { expect } from 'vitest';
import { type DashboardStack, startDashboardStack } from '../../support/dashboard/dashboard-stack.ts';

const hour = 3_600_000;

interface SceneTool {
  name: string;
  description: string;
  inputSchema: { type: 'object' };
  annotations?: { readOnlyHint: boolean };
}

const tool = (name: string, description: string, isSafe = false): SceneTool => ({
  name,
  description,
  inputSchema: { type: 'object' },
  ...(isSafe && { annotations: { readOnlyHint: true } }),
});

const servers: Readonly<Record<string, { says: string; tools: SceneTool[] }>> = {
  files: {
    says: 'serving /srv/shop',
    tools: [tool('read_file', 'Reads a file.', true), tool('write_file', 'Writes a file.')],
  },
  github: {
    says: 'authenticated as shop-bot',
    tools: [
      tool('search_issues', 'Finds issues.', true),
      tool('create_pull_request', 'Opens a pull request.'),
      tool('merge_pull_request', 'Merges a pull request.'),
    ],
  },
  search: { says: 'index of 2026-11-22 loaded', tools: [tool('web_search', 'Searches the web.', true)] },
  deploy: {
    says: 'clusters: staging, production',
    tools: [tool('run_tests', 'Runs the tests.'), tool('release', 'Releases a version.')],
  },
};

/** A broker with several agents and servers that work, wait, failed and are held, and a person who may decide. */
export async function startBusySystem(): Promise<DashboardStack> {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const journal = starting.use(await openSqliteJournal({ file: join(directory.path, 'journal.db') }));
  const hosted: Record<string, StdioServerConfig> = {};
  const script = fileURLToPath(new URL('./scene-server.ts', import.meta.url));
  const listOf = (name: string) => join(directory.path, `${name}.json`);
  for (const [name, { says, tools }] of Object.entries(servers)) {
    await writeFile(listOf(name), JSON.stringify(tools));
    const args = ['--disable-warning=ExperimentalWarning', script, listOf(name), says];
    hosted[name] = { type: 'stdio', command: process.execPath, args };
  }
  hosted.billing = {
    type: 'stdio',
    command: process.execPath,
    args: ['-e', "console.error('BILLING_KEY is not set'); process.exit(1)"],
  };
  const here = starting.use(
    await startDashboardStack({
      counter: false,
      broker: {
        durability: 'full',
        keepBodies: { kinds: ['note', 'ask', 'reply', 'task'], ageMs: 24 * hour, bytes: 100_000_000 },
      },
      journal,
      servers: hosted,
      serverConcurrency: { deploy: 1 },
      approvals: {
        roles: { builder: ['mcp_deploy__release', 'mcp_github__merge_pull_request'] },
        deadlineMs: hour,
        notify: [],
      },
      allowlist: RoleToolAllowlist.fromEntries([
        ['planner', ['mcp_github__search_issues', 'mcp_search__*']],
        ['researcher', ['mcp_search__*', 'mcp_files__read_file']],
        ['writer', ['mcp_files__*']],
        ['builder', ['mcp_*']],
        ['operator', ['*']],
      ]),
    }),
  );
  starting.use(await murmur(here));
  await play(here, async (name, tools) => {
    await writeFile(listOf(name), JSON.stringify(tools));
  });
  const started = starting.move();
  return { ...here, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

/** Has two agents talk, a few messages a second, until it is disposed. */
async function murmur({ stack }: DashboardStack): Promise<AsyncDisposable> {
  const [lead, archivist] = [
    await stack.client('planner', 'planner'),
    await stack.clientAt('archivist', 'writer'),
  ];
  archivist.announce({
    worker: 'serve',
    command: 'codex',
    turns: 0,
    last_output: 'Filed.',
    last_output_at: Date.now(),
  });
  const inbox = await archivist.subscribe();
  const filing = (async () => {
    for await (const { seq } of inbox.messages) await archivist.ack([seq!]);
  })();
  const timer = setInterval(() => {
    const wanted = 1 + Math.floor(2 + 2 * Math.sin(Date.now() / 1500));
    for (let sent = 0; sent < wanted; sent++)
      void lead.deliver({ to: 'archivist', kind: 'note', body: 'a source was read' });
  }, 400);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await inbox[Symbol.asyncDispose]();
      await filing;
    },
  };
}

async function play(
  { stack }: DashboardStack,
  changeTools: (server: string, tools: SceneTool[]) => Promise<void>,
): Promise<void> {
  const operator = await stack.client('operator', 'operator');
  const planner = await stack.clientAt('planner', 'planner');
  const people = ['researcher-1', 'researcher-2', 'writer-1', 'builder-1', 'reviewer'] as const;
  const agents = new Map<string, Awaited<ReturnType<typeof stack.clientAt>>>();
  for (const name of people) agents.set(name, await stack.clientAt(name, name.split('-')[0]!));
  const announce = (name: string, output: string, more: object = {}) =>
    agents.get(name)!.announce({
      worker: 'run',
      command: 'claude',
      restarts: 0,
      last_output: output,
      last_output_at: Date.now() - 40_000,
      ...more,
    });
  planner.announce({ worker: 'mcp', calls: 0, client: 'Claude Code' });
  for (const [name, calls] of [
    ['builder-1', 3],
    ['researcher-2', 1],
    ['writer-1', 0],
  ] as const) {
    const face = await stack.client(name, name.split('-')[0]!);
    face.announce({ worker: 'mcp', calls, client: 'Claude Code' });
  }
  announce('researcher-1', 'Read 14 sources on retry storms; two disagree about jitter.');
  announce('researcher-2', 'Comparing the two papers on jitter', { restarts: 2 });
  announce('writer-1', 'Chapter 3 is drafted, 2,100 words');
  announce('builder-1', 'All 214 tests pass. Asking to release 2.4.0.');
  announce('reviewer', 'API error 529: overloaded', { tools_lost: true, restarts: 4 });

  // A thread of tasks, of which one fails for good.
  for (const [to, id, text] of [
    ['researcher-1', 'jitter-1', 'What do the sources say about jitter?'],
    ['researcher-2', 'jitter-2', 'Compare the two papers.'],
    ['writer-1', 'chapter-3', 'Draft chapter 3 from the notes.'],
  ] as const)
    await planner.deliver({ to, kind: 'task', id, thread: 'retry-storms', body: { text } });
  for (const [from, text] of [
    [
      'researcher-1',
      'Fourteen sources. Twelve say that full jitter ends a retry storm sooner than equal jitter.\nTwo disagree: they measure a single client.',
    ],
    ['researcher-2', 'The second paper counts retries, not load. I would leave it out.'],
    [
      'writer-1',
      '**Chapter 3**, as it stands:\n\n1. Use full jitter.\n2. Cap the wait at `30 s`.\n\n| jitter | load |\n| --- | --- |\n| full | 0.4 |\n| equal | 0.7 |',
    ],
  ] as const)
    await agents.get(from)!.deliver({ to: 'planner', kind: 'note', thread: 'retry-storms', body: { text } });
  await using writing = await agents.get('writer-1')!.subscribe();
  const { value: chapter } = await writing.messages.next();
  await agents.get('writer-1')!.nack([chapter!.seq!], { dead: true, reason: 'chapter-3.md is locked' });
  for (const page of [4, 5, 6]) {
    await planner.deliver({ to: 'writer-1', kind: 'task', id: `chapter-${page}`, body: { page } });
    const { value } = await writing.messages.next();
    const reason = page === 6 ? 'the outline has no chapter 6' : 'chapter-3.md is locked';
    await agents.get('writer-1')!.nack([value!.seq!], { dead: true, reason });
  }
  await planner.deliver({
    to: 'operator',
    kind: 'ask',
    id: 'which-region',
    body: { text: 'Release to eu-west first, or to all regions?' },
  });

  const call = async (agent: string, name: string, args: object = {}, id?: string) => {
    const executor = await stack.executor(agent, agent.split('-')[0]!);
    return executor.execute(
      { name, arguments: { ...args } },
      { ...(id !== undefined && { requestId: id }), onProgress: () => {} },
    );
  };
  await Promise.all([
    call('researcher-1', 'mcp_search__web_search', { query: 'full jitter' }),
    call('researcher-2', 'mcp_files__read_file', { path: 'notes/jitter.md' }),
    call('writer-1', 'mcp_files__write_file', { path: 'chapter-2.md' }),
    call('builder-1', 'mcp_github__create_pull_request', { title: 'Retry with jitter' }),
    call('builder-1', 'mcp_deploy__run_tests', { fail: '2 of 214 tests failed' }),
  ]);
  await call('researcher-1', 'mcp_deploy__release', {});
  await call('builder-1', 'mcp_github__create_pull_request', { crash: true });
  await changeTools('github', [
    tool('search_issues', 'Finds issues.', true),
    tool('create_pull_request', 'Opens a pull request, and asks for a review.'),
    tool('merge_pull_request', 'Merges a pull request.'),
  ]);
  await queryOrchestrator(
    operator,
    'orchestrator',
    { op: 'reload', server: 'github' },
    { timeoutMs: 30_000 },
  );
  void call('builder-1', 'mcp_deploy__run_tests', { steps: 60, stepMs: 4000 }, 'tests-2.4.0');
  const states = async () =>
    (await listCalls(operator, 'orchestrator', { running: true })).map(({ state }) => state);
  await expect.poll(states).toEqual(['running']);
  void call('builder-1', 'mcp_deploy__run_tests', { suite: 'browser' });
  void call('builder-1', 'mcp_deploy__release', { version: '2.4.0', region: 'eu-west', steps: 3 });
  await placeHold(operator, { on: 'agent', name: 'researcher-2', reason: 'reads the wrong papers' });
  void call('researcher-2', 'mcp_search__web_search', { query: 'backoff' });
  await expect
    .poll(async () => (await listApprovals(operator, 'orchestrator', { limit: 10 })).approvals.length)
    .toBe(1);
  await expect
    .poll(async () => (await states()).toSorted())
    .toEqual(['awaiting_approval', 'held', 'queued', 'running']);
}
