import { expect, it } from 'vitest';
import { inheritanceWarnings } from './inheritance-warnings.ts';

it('warns of a pattern that matches nothing, and of what a pattern leaves out, without a value', () => {
  const server = { type: 'stdio' as const, command: 'x', inheritEnv: ['APP_*', 'APP_KEY', 'GONE'] };
  const ours = { APP_MODE: 'careful', APP_KEY: 'k', APP_TOKEN: 'tok-12345', HTTPS_PROXY: 'http://a:b@c' };
  expect(inheritanceWarnings({ mcpServers: { app: server } }, ours)).toEqual([
    "mcpServers.app.inheritEnv: 'GONE' matches no variable of this process; set it where the orchestrator is started, or take it out",
    "mcpServers.app.inheritEnv: 'APP_*' leaves out APP_TOKEN, which looks like a secret; list the exact name if the server needs it",
  ]);
  expect(inheritanceWarnings({ mcpServers: { app: { ...server, disabled: true } } }, ours)).toEqual([]);
});

it('warns of a variable of Signalbox that a server is given, since it does not get it', () => {
  const env = { SIGNALBOX_TOKEN: 'sbx-secret', API_URL: 'http://a' };
  const server = { type: 'stdio' as const, command: 'x', env };
  expect(inheritanceWarnings({ mcpServers: { app: server } }, {})).toEqual([
    expect.stringMatching(/^mcpServers\.app\.env: SIGNALBOX_TOKEN is left out: no server gets/),
  ]);
  expect(JSON.stringify(inheritanceWarnings({ mcpServers: { app: server } }, {}))).not.toContain(
    'sbx-secret',
  );
  expect(inheritanceWarnings({ mcpServers: { app: { ...server, disabled: true } } }, {})).toEqual([]);
});
