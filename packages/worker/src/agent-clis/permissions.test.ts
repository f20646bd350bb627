import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { settingsToAsk } from './permissions.ts';

const directory = mkdtempSync(join(tmpdir(), 'permissions-'));
writeFileSync(
  join(directory, 'silent.json'),
  '\ufeff// x\n{"permissions":{"defaultMode":"bypassPermissions"}}',
);
afterAll(() => rmSync(directory, { recursive: true }));

test.each([
  [['claude', '-p']],
  [['/usr/bin/claude', '--print', 'what does --permission-mode dontAsk do?']],
  [['claude', '-p', '--permission-mode', 'acceptEdits']],
  [['claude', '-p', '--permission-mode=plan']],
  [['claude', '-p', '--permission-mode=default', '--settings', '{"permissions":{"defaultMode":"auto"}}']],
  [['claude', '-p', '--settings', '{"permissions":{"defaultMode":"acceptEdits"}}']],
  [['claude', '-p', '--permission-mode', 'manual', '--permission-prompts', 'host']],
  [['claude', '-p', '--settings', '{"permissions":{"defaultMode":"manual"}}']],
  [['claude', '-p', '--', '--permission-mode', 'auto']],
])('%j can ask', (argv) => {
  expect(() => settingsToAsk(argv, directory)).not.toThrow();
});

test.each([
  [['codex', 'exec'], "'codex' has no way to ask through an MCP server; claude -p has one"],
  [['copilot', '-p', 'hi'], "'copilot' has no way to ask through an MCP server; claude -p has one"],
  [['qwen', '-p', 'hi'], "'qwen' has no way to ask"],
  [['./wrapper.sh', '-p'], "'wrapper.sh' has no way to ask"],
  [['claude'], 'claude asks the user at its terminal'],
  [
    ['claude', '-p', '--permission-prompt-tool=mcp__mine__ask'],
    '--permission-prompt-tool of claude names another',
  ],
  [['claude', '-p', '--permission-prompt-tool', 'x'], '--permission-prompt-tool of claude names another'],
  [['claude', '-p', '--dangerously-skip-permissions'], 'claude asks nobody'],
  [['claude', '-p', '--permission-mode', 'bypassPermissions'], 'with --permission-mode bypassPermissions'],
  [['claude', '-p', '--permission-mode=dontAsk'], 'with --permission-mode dontAsk claude asks nobody'],
  [['claude', '-p', '--permission-mode', 'auto'], 'with --permission-mode auto claude asks nobody'],
  [['claude', '-p', '--permission-mode=default', '--permission-mode=auto'], 'with --permission-mode auto'],
  [['claude', '-p', '--permission-mode', 'aModeOfTomorrow'], 'claude asks nobody'],
  [['claude', '-p', '--settings={"permissions":{"defaultMode":"auto"}}'], "defaultMode 'auto'"],
  [['claude', '-p', '--settings', 'silent.json'], "defaultMode 'bypassPermissions'"],
  [['claude', '-p', '--settings', 'nowhere.json'], 'are no JSON object that can be read'],
  [['claude', '-p', '--settings={"permissions":'], 'are no JSON object that can be read'],
  [
    ['claude', '-p', '--append-system-prompt', '--', '--permission-mode', 'auto'],
    'with --permission-mode auto',
  ],
  [['claude', '-p', '--permission-prompts', 'none'], 'with --permission-prompts none claude asks nobody'],
  [['claude', '-p', '--inherit-permission-mode=auto'], 'with --inherit-permission-mode auto'],
  [['claude', '-p', '--allow-dangerously-skip-permissions'], 'claude asks nobody'],
  [['claude', '-p', '--bg'], 'with --bg claude works where nobody hears it ask'],
])('%j is refused, and the refusal says why', (argv, why) => {
  expect(() => settingsToAsk(argv, directory)).toThrow(
    expect.objectContaining({ code: 'usage', message: expect.stringContaining(`--permissions ask: `) }),
  );
  expect(() => settingsToAsk(argv, directory)).toThrow(why);
});
