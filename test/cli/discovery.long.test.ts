import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { tempDir } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanEnv, jsonOf, type Run, signalbox, signalboxArgv } from '../support/cli/command-line.ts';
import { startAboveFolder } from '../support/cli/discovery.ts';
import { broker, namedToolsServer } from '../support/cli/down.ts';
import type { Workspace } from '../support/cli/workspace.ts';

let workspace: Workspace;
let below: string;

beforeAll(async () => {
  ({ workspace, below } = await startAboveFolder());
});
afterAll(() => workspace?.[Symbol.asyncDispose]());

function inFolderBelow(args: readonly string[], env: Record<string, string> = {}): Promise<Run> {
  return signalbox(args, { cwd: below, env });
}

test('Below the folder of a configuration no command needs an option, and an agent’s token file needs none anywhere.', async () => {
  const issue = ['token', 'issue', '--agent', 'rosa', '--role', 'researcher'];
  const issued = await inFolderBelow([...issue, '--out', 'rosa.token']);
  expect(issued).toMatchObject({ code: 0, stdout: expect.stringContaining('written to rosa.token') });
  const rosa = ['--token-file', join(below, 'rosa.token'), '--json'];
  expect(jsonOf(await inFolderBelow(['tools', 'list', ...rosa]))).toMatchObject({ tools: [] });
  expect(jsonOf(await inFolderBelow(['agents', '--json']))).toMatchObject({
    agents: [expect.objectContaining({ agent: 'tools-1' })],
  });
  await using elsewhere = await tempDir();
  const away = { cwd: elsewhere.path, env: { HOME: elsewhere.path } };
  expect(jsonOf(await signalbox(['inbox', ...rosa], away))).toEqual({ messages: [] });
  const variable = { SIGNALBOX_CONFIG: join(workspace.directory, 'signalbox.yaml') };
  const byVariable = await signalbox(['servers', '--json'], { ...away, env: variable });
  expect(jsonOf(byVariable)).toEqual({ servers: [], holds: [], hosts: [] });
});

test('ps and token list say that they are about another system than that of the file they were given.', async () => {
  const other = join(below, 'other.yaml');
  await writeFile(other, `broker: { data: ${JSON.stringify(join(workspace.directory, 'state'))} }\n`);
  for (const command of ['ps', 'token list']) {
    const run = await inFolderBelow([...command.split(' '), '--config', other]);
    expect(run, command).toMatchObject({ code: 0, stderr: expect.stringContaining('and not about') });
  }
});

const plain = { command: process.execPath, args: [namedToolsServer, 'look'] };
const roles = { outside: { tools: [] }, user: { tools: ['plain:*'] } };

test.each([
  ['worker', { broker }],
  ['user', { broker, mcpServers: { plain }, roles }],
])(
  'up prints commands without --config where they find the file by themselves, for a role with tools: %s.',
  async (role, config) => {
    await using directory = await tempDir();
    await writeFile(join(directory.path, 'signalbox.yaml'), JSON.stringify(config));
    const up = spawn(process.execPath, signalboxArgv(['up', '--no-face']), {
      cwd: directory.path,
      env: cleanEnv(),
    });
    const ended = once(up, 'close');
    const lines: string[] = [];
    for await (const line of createInterface({ input: up.stdout })) {
      lines.push(line.trim());
      if (line.startsWith('Ctrl-C')) up.kill('SIGTERM');
    }
    await ended;
    expect(lines).toContain(`signalbox token issue --agent ${role}-1 --role ${role} --out ${role}-1.token`);
  },
);

test('A printed command names the configuration where it is not found.', async () => {
  const config = join(workspace.directory, 'signalbox.yaml');
  const issue = ['token', 'issue', '--agent', 'walt', '--role', 'researcher', '--config', config];
  await using elsewhere = await tempDir();
  const { stdout } = await signalbox(issue, { cwd: elsewhere.path });
  expect(stdout).toContain(`signalbox tools list --token-file FILE --config ${config}`);
});
