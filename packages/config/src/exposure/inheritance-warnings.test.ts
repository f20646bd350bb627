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
