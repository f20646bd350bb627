import { expect, it } from 'vitest';
import { signInCommand } from './sign-in-command.ts';

it('quotes a name for the shell where that is needed', () => {
  expect(signInCommand('my-server.1')).toBe('signalbox servers auth my-server.1');
  expect(signInCommand("it's $HOME")).toBe("signalbox servers auth 'it'\\''s $HOME'");
});
