import { expect, test } from 'vitest';
import { refuseUnasking } from './permissions.ts';

test.each([
  [['claude', '-p']],
  [['/usr/bin/claude', '--print', 'what does --permission-mode dontAsk do?']],
  [['claude', '-p', '--permission-mode', 'acceptEdits']],
  [['claude', '-p', '--permission-mode=plan']],
])('%j can ask', (argv) => {
  expect(() => refuseUnasking(argv)).not.toThrow();
});

test.each([
  [['codex', 'exec'], "'codex' has no way to ask through an MCP server; claude -p has one"],
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
])('%j is refused, and the refusal says why', (argv, why) => {
  expect(() => refuseUnasking(argv)).toThrow(
    expect.objectContaining({ code: 'usage', message: expect.stringContaining(`--permissions ask: `) }),
  );
  expect(() => refuseUnasking(argv)).toThrow(why);
});
