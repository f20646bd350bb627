import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Gives the tests a home of their own, so that they neither find a broker or a configuration of this user nor leave files there. */
export default async function makeHome(): Promise<() => Promise<void>> {
  const home = await mkdtemp(join(tmpdir(), 'signalbox-test-home-'));
  process.env.HOME = home;
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('XDG_') || (name.startsWith('SIGNALBOX_') && !name.startsWith('SIGNALBOX_TEST_')))
      delete process.env[name];
  }
  return () => rm(home, { recursive: true, force: true });
}
