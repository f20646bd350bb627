import { expect, it } from 'vitest';
import { serverEnvironment } from './server-environment.ts';

it('passes on what a program needs, adds what is configured, and keeps our own to ourselves', () => {
  const ours = { PATH: '/bin', HOME: '/home/a', API_KEY: 'k', SIGNALBOX_TOKEN: 't', LANG: undefined };
  const env = { HOME: '/elsewhere', X: '1', SIGNALBOX_TOKEN: 't' };
  expect(serverEnvironment({ env }, ours)).toEqual({ PATH: '/bin', HOME: '/elsewhere', X: '1' });
});

it('puts configured variables over inherited ones', () => {
  const ours = { HTTPS_PROXY: 'http://a', MINE: 'a', TERM: 'a' };
  const env = { HTTPS_PROXY: 'http://b', MINE: 'b' };
  expect(serverEnvironment({ env, inheritEnv: ['MINE'] }, ours)).toEqual({ ...env, TERM: 'a' });
});
