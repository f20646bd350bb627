import { describe, expect, it } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';
import { serverUrl, testSchema } from '../support/postgres/test-store.ts';

describe.skipIf(serverUrl === undefined)('The demo on PostgreSQL', () => {
  it('proves its points across two brokers, of which it kills one, and drops its schema', async () => {
    const run = await signalbox(['demo', '--postgres', serverUrl!, '--json']);
    expect(run.stderr).toBe('');
    const { findings } = jsonOf(run) as { findings: { point: string; held: boolean; seen: string[] }[] };
    expect(findings.map(({ point, held }) => [point, held])).toEqual(
      ['manifest', 'refusal', 'overlap', 'ask', 'recovery', 'serve'].map((point) => [point, true]),
    );
    expect(findings.find(({ point }) => point === 'recovery')?.seen[0]).toContain('through the other broker');
    expect(findings.find(({ point }) => point === 'manifest')?.seen[1]).toContain('on a second host');
    expect(await demoSchemas()).toEqual([]);
  });

  it('fails when a point does not hold, and leaves nothing behind then', async () => {
    const run = await signalbox(['demo', '--postgres', serverUrl!, '--break', 'recovery']);
    expect(run.code).toBe(1);
    expect(run.stdout).toMatch(/the orchestrator and walt are connected to \S+, and rosa to \S+/);
    expect(run.stderr).toContain("the point 'recovery' did not hold");
    expect(await demoSchemas()).toEqual([]);
  });

  it('says what to do about a server that is not there', async () => {
    const run = await signalbox(['demo', '--postgres', 'postgres://postgres@127.0.0.1:1/postgres']);
    expect(run.code).not.toBe(0);
    expect(run.stderr).toContain('PostgreSQL at 127.0.0.1:1');
  });
});

async function demoSchemas(): Promise<unknown[]> {
  await using schema = await testSchema();
  return schema.sql(`SELECT nspname FROM pg_namespace WHERE nspname LIKE 'signalbox\\_demo%'`);
}
