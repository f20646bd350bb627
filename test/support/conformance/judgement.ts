import type { CheckTally, Revision, SuiteChecks } from './suite.ts';
import { directWay, type Way } from './ways.ts';

/** A failure that the specification explains. */
export interface ExpectedFailure {
  revision: Revision;
  /** The ways to the reference server on which it fails. */
  ways: readonly Way[];
  /** A `scenario:check`, or a beginning of it and a `*`. */
  check: string;
  /** The words of the specification about it. */
  reason: string;
  /** The place in the specification. */
  specification: string;
}

/** The checks of the official suite on one way, for one revision. */
export interface SuiteRun {
  revision: Revision;
  way: Way;
  checks: SuiteChecks;
}

/** A check that fails, or that passes without us and is not made through us. */
export interface Shortfall {
  check: string;
  why: string;
}

export interface Judgement {
  passed: number;
  failed: number;
  warned: number;
  expected: readonly (Shortfall & { expectation: ExpectedFailure })[];
  unexpected: readonly Shortfall[];
  /** Expectations that match no failure. */
  stale: readonly ExpectedFailure[];
}

/**
 * Compares a run with the expected failures. `direct` is the run of the same revision without us: a check that passes there has to
 * be made through us, too.
 */
export function judgeRun(
  run: SuiteRun,
  direct: SuiteChecks,
  expectations: readonly ExpectedFailure[],
): Judgement {
  const own = expectations.filter(
    ({ revision, ways }) => revision === run.revision && ways.includes(run.way),
  );
  const expected: (Shortfall & { expectation: ExpectedFailure })[] = [];
  const unexpected: Shortfall[] = [];
  for (const shortfall of shortfallsOf(run, direct)) {
    const expectation = own.find((entry) => means(entry, shortfall.check));
    if (expectation) expected.push({ ...shortfall, expectation });
    else unexpected.push(shortfall);
  }
  const met = new Set(expected.map(({ expectation }) => expectation));
  const tallies = [...run.checks.values()];
  const sum = (field: 'passed' | 'failed' | 'warned') =>
    tallies.reduce((all, tally) => all + tally[field], 0);
  return {
    passed: sum('passed'),
    failed: sum('failed'),
    warned: sum('warned'),
    expected,
    unexpected,
    stale: own.filter((entry) => !met.has(entry)),
  };
}

function shortfallsOf({ way, checks }: SuiteRun, direct: SuiteChecks): Shortfall[] {
  const failures = [...checks].flatMap(([check, tally]) =>
    hasFailed(tally) ? [{ check, why: tally.why ?? '' }] : [],
  );
  if (way === directWay) return failures;
  const missing = [...direct].flatMap(([check, tally]) =>
    tally.passed > 0 && !hasFailed(tally) && !checks.has(check)
      ? [{ check, why: 'it passes without us, and is not made through us' }]
      : [],
  );
  return [...failures, ...missing];
}

function hasFailed({ failed, warned }: CheckTally): boolean {
  return failed > 0 || warned > 0;
}

function means({ check: named }: ExpectedFailure, check: string): boolean {
  return named.endsWith('*') ? check.startsWith(named.slice(0, -1)) : check === named;
}
