import { tempDir } from '@signalbox/testing';
import { type Revision, runSuite, type SuiteChecks } from './suite.ts';
import { startWay, type Way } from './ways.ts';

/** Runs the official suite for a revision on one way, with a reference server of its own. */
export async function runWay(
  way: Way,
  revision: Revision,
  options?: { slow: boolean },
): Promise<SuiteChecks> {
  await using directory = await tempDir();
  await using started = await startWay(way, options);
  return await runSuite(started.url, revision, directory.path);
}
