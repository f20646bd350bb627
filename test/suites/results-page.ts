import { stripVTControlCharacters } from 'node:util';

/** How a suite ended. */
export interface SuiteResult extends Counts {
  name: string;
  /** Its exit code, or the signal that ended it. */
  code: number | string;
  seconds: number;
  /** The end of its output. */
  tail: string;
}

/** The tests that a suite says it ran; none if it says nothing. */
interface Counts {
  passed?: number;
  failed?: number;
}

/** Suites that ran one after the other. */
export interface SuitesRun {
  at: Date;
  /** The commit, if it is known. */
  commit: string;
  node: string;
  results: SuiteResult[];
}

/** The number of lines of a failed suite that the page shows. */
const shownLines = 20;

/** Finds how many tests a suite has counted, in each of its runs: "12 passed, 0 failed", or "Tests  12 passed (12)" of vitest. */
export function countsIn(output: string): Counts {
  const text = stripVTControlCharacters(output);
  const own = [...text.matchAll(/^(\d+) passed, (\d+) failed/gm)];
  const runs =
    own.length > 0
      ? own
      : [...text.matchAll(/^ *Tests +(?:(?<failed>\d+) failed \| )?(?<passed>\d+) passed/gm)];
  if (runs.length === 0) return {};
  const sum = (of: (run: RegExpExecArray) => string | undefined): number =>
    runs.reduce((all, run) => all + Number(of(run) ?? 0), 0);
  return {
    passed: sum((run) => run.groups?.passed ?? run[1]),
    failed: sum((run) => (run.groups ? run.groups.failed : run[2])),
  };
}

/** Writes the page about a run. */
export function pageOf({ at, commit, node, results }: SuitesRun): string {
  const failed = results.filter(({ code }) => code !== 0);
  const rows = results.map(
    ({ name, code, passed, failed, seconds }) =>
      `| ${name} | ${code === 0 ? 'passed' : `**failed** (${code})`} | ${passed ?? '–'} | ${failed ?? '–'} | ${minutes(seconds)} |`,
  );
  const details = failed.map(
    ({ name, tail }) =>
      `\n## ${name}\n\n\`\`\`text\n${stripVTControlCharacters(tail).trimEnd().split('\n').slice(-shownLines).join('\n')}\n\`\`\`\n`,
  );
  return `# Results of ${results.length} suites

${at.toISOString()}, ${commit === '' ? 'no commit' : `commit ${commit}`}, Node ${node}: ${failed.length === 0 ? 'all passed' : `${failed.length} failed`}.

| suite | result | tests passed | failed | time |
| --- | --- | ---: | ---: | ---: |
${rows.join('\n')}
${details.join('')}`;
}

function minutes(seconds: number): string {
  return seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}
