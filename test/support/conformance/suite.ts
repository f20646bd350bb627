import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The revisions of MCP whose requirements the official suite knows. */
export const revisions = ['2025-11-25', '2026-07-28'] as const;
export type Revision = (typeof revisions)[number];

/** The end of one check of the official suite. The suite makes some checks several times in a run. */
export interface CheckTally {
  passed: number;
  failed: number;
  warned: number;
  /** The suite's words about a failure or a warning. */
  why?: string;
}

/** The checks of one run, by `scenario:check`. */
export type SuiteChecks = ReadonlyMap<string, CheckTally>;

const suite = fileURLToPath(
  new URL('dist/index.js', import.meta.resolve('@modelcontextprotocol/conformance/package.json')),
);

/** The time that one scenario may take, in milliseconds. Those of tasks wait for several calls that become tasks. */
const scenarioMs = 120_000;

/** Runs all checks that a revision requires of a server. The directory must be empty; the suite leaves its records there. */
export async function runSuite(url: string, revision: Revision, directory: string): Promise<SuiteChecks> {
  const args = [
    'server',
    '--url',
    url,
    '--requirements',
    revision,
    '--output-dir',
    directory,
    '--timeout',
    String(scenarioMs),
  ];
  const child = spawn(process.execPath, [suite, ...args], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const read = (chunk: Buffer) => {
    output += chunk;
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  await once(child, 'close');
  const checks = await readChecks(directory);
  if (checks.size === 0) throw new Error(`the suite made no check: ${output}`);
  return checks;
}

interface CheckRecord {
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO' | 'SKIPPED';
  errorMessage?: string;
}

/** Reads the records. Each scenario has a directory: `server-` or nothing, the name of the scenario, and the time. */
async function readChecks(directory: string): Promise<SuiteChecks> {
  const tallies = new Map<string, CheckTally>();
  for (const entry of await readdir(directory)) {
    const scenario = /^(?:server-)?(.+?)-\d{4}-\d{2}-\d{2}T/.exec(entry)?.[1];
    if (scenario === undefined) continue;
    const text = await readFile(join(directory, entry, 'checks.json'), 'utf8');
    for (const { id, status, errorMessage } of JSON.parse(text) as CheckRecord[]) {
      const check = `${scenario}:${id}`;
      const tally = tallies.get(check) ?? { passed: 0, failed: 0, warned: 0 };
      tallies.set(check, tally);
      if (status === 'SUCCESS') tally.passed++;
      else if (status === 'FAILURE') tally.failed++;
      else if (status === 'WARNING') tally.warned++;
      if (status === 'FAILURE' || status === 'WARNING') tally.why ??= errorMessage ?? '';
    }
  }
  return tallies;
}
