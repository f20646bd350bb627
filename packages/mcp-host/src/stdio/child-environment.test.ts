import { expect, it } from 'vitest';
import { childEnvironment } from './child-environment.ts';

it('passes on what a program needs, adds what is configured, and keeps our own to ourselves', () => {
  const ours = { PATH: '/bin', HOME: '/home/a', API_KEY: 'k', SIGNALBOX_TOKEN: 't', LANG: undefined };
  expect(childEnvironment({ HOME: '/elsewhere', X: '1', SIGNALBOX_TOKEN: 't' }, ours)).toEqual({
    PATH: '/bin',
    HOME: '/elsewhere',
    X: '1',
  });
});
