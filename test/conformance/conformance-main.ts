import { parseArgs } from 'node:util';
import { expectedFailures } from '../support/conformance/expected-failures.ts';
import { type Judgement, judgeRun } from '../support/conformance/judgement.ts';
import { runWay } from '../support/conformance/run-way.ts';
import { type Revision, revisions } from '../support/conformance/suite.ts';
import { directWay, relayedWays, type Way } from '../support/conformance/ways.ts';

/**
 * Runs the official suite against the reference server, without us and through us, and prints how many checks passed and failed. Exits with
 * 1 if a check fails that is not expected to, or passes that is expected to fail.
 */
const { values } = parseArgs({ options: { revision: { type: 'string' }, way: { type: 'string' } } });
const asked = {
  revisions: revisions.filter((revision) => values.revision === undefined || revision === values.revision),
  ways: relayedWays.filter((way) => values.way === undefined || way === values.way),
};
const print = (line = ''): void => void process.stdout.write(`${line}\n`);

interface Judged {
  revision: Revision;
  way: Way;
  judgement: Judgement;
}

const judged: Judged[] = [];
print('| revision of the client | way to the reference server | passed | failed | warnings | unexpected |');
print(`|${' --- |'.repeat(6)}`);
for (const revision of asked.revisions) {
  const direct = await runWay(directWay, revision);
  for (const way of [directWay, ...asked.ways]) {
    const checks = way === directWay ? direct : await runWay(way, revision);
    const judgement = judgeRun({ revision, way, checks }, direct, expectedFailures);
    judged.push({ revision, way, judgement });
    const { passed, failed, warned, unexpected, stale } = judgement;
    print(`| ${[revision, way, passed, failed, warned, unexpected.length + stale.length].join(' | ')} |`);
  }
}
for (const { revision, way, judgement } of judged) {
  const { expected, unexpected, stale } = judgement;
  if (expected.length + unexpected.length + stale.length > 0) print(`\n${revision}, ${way}`);
  for (const { check, why } of unexpected) print(`  UNEXPECTED ${check}\n    ${why}`);
  for (const { check } of stale)
    print(`  STALE ${check}\n    It is expected to fail, but no check of it does.`);
  for (const { check, expectation } of expected) print(`  expected ${check}\n    ${expectation.reason}`);
}
const isAsExpected = judged.every(
  ({ judgement: { unexpected, stale } }) => unexpected.length + stale.length === 0,
);
process.exitCode = isAsExpected ? 0 : 1;
