import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { cleanEnv, signalboxArgv } from '../support/cli/command-line.ts';
import { gatedServer } from '../support/mcp-host/gated-server.ts';

test('up shows a start that fails with its standard error, however many servers hang before it, then which servers are still starting, and what is ready.', async () => {
  await using dir = await tempDir();
  const { open, ...gated } = gatedServer(join(dir.path, 'gate'));
  const end = join(dir.path, 'end');
  execFileSync('mkfifo', [end]);
  const hanging = { command: 'sh', args: ['-c', 'read _ < "$0"', end], maxRestarts: 0 };
  const config = {
    broker: { listen: '127.0.0.1:0', data: './state' },
    mcpServers: {
      // As many as may start at a time.
      ...Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`hanging${n}`, hanging])),
      gated,
      broken: {
        command: 'sh',
        args: ['-c', 'echo "usage: broken DIR" >&2; exit 2', 'sh', '--token', 'sekret'],
      },
      gone: { command: 'no-such-program-here' },
    },
    roles: { user: { tools: ['gated:*'] } },
  };
  await writeFile(join(dir.path, 'signalbox.yaml'), JSON.stringify(config));
  const argv = signalboxArgv(['up', '--no-face']);
  const up = spawn(process.execPath, argv, {
    cwd: dir.path,
    env: cleanEnv(),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(up, 'exit');
  const lines: string[] = [];
  const failures = ['broken failed to start', 'gone failed to start'];
  let opened: Promise<unknown> | undefined;
  for await (const line of createInterface({ input: up.stdout })) {
    lines.push(line);
    const starting = lines.some((shown) => /^hanging0\b.* still starting \(\d+ s\)$/.test(shown));
    const failed = failures.every((text) => lines.some((shown) => shown.startsWith(text)));
    if (starting && failed) opened ??= Promise.all([open(), writeFile(end, '')]);
    if (line.startsWith('Ctrl-C')) break;
  }
  await opened;
  up.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  const at = (text: string) => lines.findIndex((line) => line.includes(text));
  const brokenAt = at('broken failed to start: exited with code 2');
  expect(lines.slice(brokenAt + 1, brokenAt + 4)).toEqual([
    `  it ran: sh -c 'echo "usage: broken DIR" >&2; exit 2' sh --token [redacted]`,
    '  standard error, its end:',
    '    usage: broken DIR',
  ]);
  expect(
    at("gone failed to start: its command 'no-such-program-here' was not found (ENOENT)"),
  ).toBeGreaterThan(0);
  const report = at('orchestrator ready: 1 tool from 1 of 11 MCP servers');
  expect(Math.max(...['still starting', ...failures].map(at))).toBeLessThan(report);
  expect(lines.slice(report)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^ {2}gated +1 tool \(ready\)$/),
      expect.stringMatching(/^ {2}broken +none: it failed to start: exited with code 2$/),
      expect.stringMatching(/^ {2}user +1 tool$/),
    ]),
  );
});
