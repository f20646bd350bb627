import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ApprovalsReply } from '@signalbox/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { operatorOptions, seenBy } from '../support/runner/clients.ts';
import { startWorkerRunStack, type WorkerRunStack } from '../support/runner/worker-run.ts';

let run: WorkerRunStack;

beforeAll(async () => {
  run = await startWorkerRunStack();
});
afterAll(() => run?.[Symbol.asyncDispose]());

const tools = expect.arrayContaining(['mcp_counter__echo', 'mcp_counter__count']);

test.concurrent('claude asks a person through our server before it runs a command, whatever mode its settings name, and hears the decision.', async ({
  expect,
}) => {
  const home = await mkdtemp(join(tmpdir(), 'home-'));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rm(home, { recursive: true }));
  await mkdir(join(home, '.claude'));
  const auto = JSON.stringify({ permissions: { defaultMode: 'auto' } });
  await writeFile(join(home, '.claude', 'settings.json'), auto);
  const seen = seenBy(run, 'claude-2', ['claude', '-p', 'do it'], {
    flags: ['--permissions', 'ask'],
    env: { HOME: home },
  });
  await using client = await run.stack.client('operator', 'operator');
  const ask = async (body: object) => {
    const outcome = await client.request('orchestrator', 'mcp_request', body, {
      timeoutMs: 25_000,
      ephemeral: true,
    });
    return outcome.status === 'completed' ? (outcome.reply.json as { data: ApprovalsReply }).data : undefined;
  };
  await expect
    .poll(() => ask({ op: 'approvals' }))
    .toMatchObject({
      approvals: [{ agent: 'claude-2', tool: 'claude:Bash', arguments: '{"command":"make deploy"}' }],
    });
  const { approvals } = (await ask({ op: 'approvals' }))!;
  await ask({ op: 'decide', id: approvals[0]!.id, verdict: 'approve' });
  const { code, report } = await seen;
  expect(code).toBe(0);
  expect(JSON.parse(report.permission ?? '')).toEqual({
    behavior: 'allow',
    updatedInput: { command: 'make deploy' },
  });
  expect(report.server.read).toMatchObject({ disallowedTools: 'mcp__signalbox__permission_prompt' });
});

test.concurrent('codex gets our server as TOML on its command line, with all that its server needs.', async ({
  expect,
}) => {
  const { code, report } = await seenBy(run, 'codex-1', ['codex', 'exec', 'do it'], {
    env: { SIGNALBOX_LOG: 'debug' },
  });
  expect(code).toBe(0);
  expect(report).toMatchObject({
    tools,
    echoed: { hi: 1 },
    server: { read: { required: true, tool_timeout_sec: 660, default_tools_approval_mode: 'approve' } },
  });
  expect(report.argv.slice(-2)).toEqual(['exec', 'do it']);
  expect(Object.keys(report.ownVariables)).toHaveLength(4);
});

test.concurrent('opencode gets our server beside what the variable held already.', async ({ expect }) => {
  const own = '{ /* mine */ "model": "some/model", "mcp": { "mine": { "type": "remote", }, }, }';
  const { code, report } = await seenBy(run, 'opencode-1', ['opencode', 'run', 'do it'], {
    env: { OPENCODE_CONFIG_CONTENT: own },
  });
  expect(code).toBe(0);
  expect(report).toMatchObject({ tools, server: { read: { model: 'some/model', others: ['mine'] } } });
});

test.concurrent.for([
  {
    title: 'copilot gets our server in a file and its hooks in a plugin',
    command: ['copilot', '-p', 'do it'],
    read: { allowed: ['signalbox'], prompt: 'do it', hooked: ['UserPromptSubmit', 'Stop'] },
  },
  {
    title: 'qwen gets our server in a file and its hooks in default settings',
    command: ['qwen', 'do it'],
    read: { trust: true, positionals: ['do it'], hooked: ['UserPromptSubmit', 'Stop'] },
  },
  {
    title: 'cline gets our server in a file in place of its own',
    command: ['cline', 'do it'],
    read: { timeout: 660 },
  },
])('$title, and calls a tool.', async ({ command, read }, { expect }) => {
  const { code, report } = await seenBy(run, `${command[0]}-1`, command);
  expect({ code, ...report }).toMatchObject({ code: 0, tools, echoed: { hi: 1 }, server: { read } });
});

test.concurrent('gemini gets our server in a settings file where others can’t write, and is refused elsewhere.', async ({
  expect,
}) => {
  const root = await privateRoot();
  try {
    const flags = ['--agent', 'gemini-1', '--', 'gemini'];
    const elsewhere = run.start([...operatorOptions(run), ...flags], {
      env: { XDG_CACHE_HOME: '/dev/null/none' },
    });
    const refused = elsewhere.ended;
    if (root !== undefined) {
      const { report } = await seenBy(run, 'gemini-2', ['gemini'], { env: { XDG_RUNTIME_DIR: root } });
      expect(report).toMatchObject({ tools, server: { read: { trust: true, timeout: 660_000 } } });
      expect(await readdir(root)).toEqual([]);
    }
    expect(await refused).toMatchObject({ code: 2 });
    expect(elsewhere.stderr()).toContain('XDG_RUNTIME_DIR');
    expect(elsewhere.stdout()).toBe('');
  } finally {
    if (root !== undefined) await rm(root, { recursive: true });
  }
});

test.concurrent('cursor-agent finds our server in the project’s file, which is as before afterwards.', async ({
  expect,
}) => {
  const cwd = await run.workDirectory('project');
  const file = join(cwd, '.cursor', 'mcp.json');
  const before = '{\n  // mine\n  "mcpServers": { "mine": { "url": "http://127.0.0.1:9" } }\n}\n';
  await mkdir(dirname(file));
  await writeFile(file, before);
  const { code, report } = await seenBy(run, 'cursor-1', ['cursor-agent'], {
    cwd,
    flags: ['--approve-workspace-servers'],
  });
  expect(code).toBe(0);
  expect(report).toMatchObject({ tools, server: { read: { others: ['mine'] } } });
  expect(await readFile(file, 'utf8')).toBe(before);
  expect(await readdir(dirname(file))).toEqual(['mcp.json']);
});

test('No agent has left anything in the run root, or in the home directory but our compiled code.', async () => {
  const inHome = await readdir(run.home, { recursive: true });
  expect(inHome.filter((path) => !/^\.cache(\/signalbox(\/v\d.*)?)?$/.test(path))).toEqual([]);
  expect(await readdir(run.runRoot)).toEqual([]);
});

/** A new directory that nobody else can reach by writing, if this machine has a place for one. */
async function privateRoot(): Promise<string | undefined> {
  for (const parent of [process.env.XDG_RUNTIME_DIR, homedir(), process.cwd()]) {
    if (parent && (await isPrivate(parent))) return mkdtemp(join(parent, '.signalbox-test-'));
  }
  return undefined;
}

async function isPrivate(directory: string): Promise<boolean> {
  if (((await stat(directory)).mode & 0o022) !== 0) return false;
  return dirname(directory) === directory || isPrivate(dirname(directory));
}
