import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What the official suite made of a server. */
export interface Verdict {
  /** 0: everything is as it has to be, or as the list of expected failures says. */
  code: number;
  output: string;
  /** Results by `scenario:check`. A `remark` neither passes nor fails: the check does not apply, or both ways are right. */
  checks: Map<string, 'passed' | 'failed' | 'remark'>;
}

const suite = fileURLToPath(
  new URL('dist/index.js', import.meta.resolve('@modelcontextprotocol/conformance/package.json')),
);

/** Runs all that a revision requires, in a directory that is the run's own. `expected`: a file beside this one. */
export async function runSuite(
  url: string,
  revision: string,
  { directory, expected }: { directory: string; expected?: string },
): Promise<Verdict> {
  const args = ['server', '--url', url, '--requirements', revision, '--output-dir', directory];
  if (expected) args.push('--expected-failures', fileURLToPath(new URL(expected, import.meta.url)));
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
  const [code] = await once(child, 'close');
  return { code: code ?? 1, output, checks: await readChecks(directory) };
}

/** The suite leaves a directory per scenario: `server-` or nothing, the scenario's name, and the time. A check may be made several times. */
async function readChecks(directory: string): Promise<Verdict['checks']> {
  const statuses = new Map<string, string[]>();
  for (const entry of await readdir(directory)) {
    const scenario = /^(?:server-)?(.+?)-\d{4}-\d{2}-\d{2}T/.exec(entry)?.[1];
    if (scenario === undefined) continue;
    const text = await readFile(join(directory, entry, 'checks.json'), 'utf8');
    for (const { id, status } of JSON.parse(text) as { id: string; status: string }[]) {
      const check = `${scenario}:${id}`;
      statuses.set(check, [...(statuses.get(check) ?? []), status]);
    }
  }
  return new Map([...statuses].map(([check, all]) => [check, verdictOf(all)]));
}

function verdictOf(statuses: readonly string[]): 'passed' | 'failed' | 'remark' {
  if (statuses.some((status) => status === 'FAILURE' || status === 'WARNING')) return 'failed';
  return statuses.every((status) => status === 'SUCCESS') ? 'passed' : 'remark';
}
