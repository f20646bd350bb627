import { expect, test } from 'vitest';
import { type ExpectedFailure, judgeRun } from './judgement.ts';
import type { CheckTally, SuiteChecks } from './suite.ts';

const revision = '2025-11-25';
const expectation: ExpectedFailure = {
  revision,
  ways: ['http 2026'],
  check: 'logging:*',
  reason: 'It is optional.',
  specification: 'https://specification.test',
};

function checks(tallies: Record<string, Partial<CheckTally>>): SuiteChecks {
  const whole = Object.entries(tallies).map(([check, tally]) => {
    return [check, { passed: 0, failed: 0, warned: 0, ...tally }] as const;
  });
  return new Map(whole);
}

const nothing = checks({});

test('A failure that is expected on its way and for its revision does not count, and any other one does.', () => {
  const failing = checks({ 'logging:level': { failed: 1, why: 'no such method' } });
  const shortfall = { check: 'logging:level', why: 'no such method' };
  const judge = (way: 'http 2026' | 'stdio 2026', ofRevision: '2025-11-25' | '2026-07-28') =>
    judgeRun({ revision: ofRevision, way, checks: failing }, nothing, [expectation]);
  expect(judge('http 2026', revision)).toMatchObject({
    expected: [{ ...shortfall, expectation }],
    unexpected: [],
    stale: [],
  });
  expect(judge('stdio 2026', revision)).toMatchObject({ expected: [], unexpected: [shortfall], stale: [] });
  expect(judge('http 2026', '2026-07-28')).toMatchObject({ expected: [], unexpected: [shortfall] });
});

test('A warning counts as a failure, also beside a success of the same check.', () => {
  const warned = checks({ 'streams:retry': { passed: 1, warned: 1, why: 'none was sent' } });
  expect(judgeRun({ revision, way: 'direct', checks: warned }, nothing, [])).toMatchObject({
    passed: 1,
    failed: 0,
    warned: 1,
    unexpected: [{ check: 'streams:retry', why: 'none was sent' }],
  });
});

test('An expectation is stale if none of its checks fails, and only on its ways.', () => {
  const passing = checks({ 'logging:level': { passed: 1 } });
  const run = (way: 'http 2026' | 'direct') =>
    judgeRun({ revision, way, checks: passing }, nothing, [expectation]);
  expect(run('http 2026').stale).toEqual([expectation]);
  expect(run('direct').stale).toEqual([]);
});

test('A check that passes without us has to be made through us.', () => {
  const direct = checks({ 'a:made': { passed: 1 }, 'a:skipped': { passed: 1 }, 'a:failing': { failed: 1 } });
  const relayed = checks({ 'a:made': {} });
  const { unexpected } = judgeRun({ revision, way: 'http 2026', checks: relayed }, direct, []);
  expect(unexpected).toEqual([{ check: 'a:skipped', why: expect.stringContaining('not made through us') }]);
});
