import { messageOf, SignalboxError } from '@signalbox/protocol';
import { printJson, printLines } from '../terminal/output.ts';
import { type DemoPoint, demoPoints } from './demo-points.ts';
import { type DemoProcesses, startDemoProcesses } from './demo-processes.ts';
import { proofs } from './proofs.ts';

/** The options of `signalbox demo`. */
export interface DemoFlags {
  break?: DemoPoint;
  /** Runs two brokers on PostgreSQL: one that is started for them, or that of an address. */
  postgres?: string | true;
  json?: boolean;
}

interface Finding {
  point: DemoPoint;
  held: boolean;
  seen: string[];
}

/** Runs the whole demo. Rejects with `demo_failed` if a point did not hold. */
export async function runDemo(flags: DemoFlags): Promise<void> {
  const say = flags.json ? () => {} : printLines;
  const started = performance.now();
  if (flags.break) say(`(sabotaging the point '${flags.break}': this run must fail)`);
  const isShared = flags.postgres !== undefined;
  say(
    `Starting ${isShared ? 'two brokers on PostgreSQL' : 'a broker'}, an orchestrator with two MCP servers, and two agents…`,
  );
  const findings: Finding[] = [];
  {
    await using processes = await startDemoProcesses({
      broken: flags.break,
      postgres: flags.postgres,
      onInstall: () =>
        say('  MCP servers: being installed from npm into a temporary folder, as they are not here'),
    });
    const { brokers, orchestrator } = processes;
    const pids = brokers.map(({ pid }) => pid).join(' and ');
    say(
      `  broker${isShared ? 's' : ''} ${pids}, orchestrator ${orchestrator.pid}, agents rosa and walt: ready`,
      ...(isShared ? [await placesLine(processes)] : []),
      '',
    );
    for (const point of demoPoints) {
      const finding = await prove(point, () => proofs[point](processes, flags.break === point));
      findings.push(finding);
      say(...lines(finding));
      if (!finding.held) break;
    }
  }
  const seconds = Number(((performance.now() - started) / 1000).toFixed(1));
  const failed = findings.find((finding) => !finding.held);
  if (failed) {
    throw new SignalboxError(
      'demo_failed',
      `the point '${failed.point}' did not hold: ${failed.seen.join('; ')}`,
    );
  }
  if (flags.json) printJson({ findings, seconds });
  else {
    say(
      '',
      `All ${findings.length} points held, in ${seconds} s. Nothing was left running.`,
      `Next: docs/${isShared ? 'reference/several-brokers' : 'guide/five-minutes'}.md.`,
    );
  }
}

/** Says who is connected to which broker. Rejects unless rosa is at another one than the orchestrator. */
async function placesLine({ asOperator }: DemoProcesses): Promise<string> {
  const agents = ['orchestrator', 'walt', 'rosa'];
  const namesOf = async (): Promise<string[]> => {
    const listed = await asOperator(['ps']);
    const connected = listed.agents as { address: string; broker: string }[];
    return agents.map((agent) => connected.find(({ address }) => address === agent)?.broker ?? '');
  };
  // A broker tells the others a moment later who is connected to it.
  const deadline = performance.now() + 5000;
  let names = await namesOf();
  while (names.includes('') && performance.now() < deadline) names = await namesOf();
  const [first, writers, last] = names;
  if (!first || !last || first !== writers || first === last)
    throw new SignalboxError(
      'demo_failed',
      `expected: the orchestrator and walt at one broker, and rosa at the other one (${names.join(', ')})`,
    );
  return `  the orchestrator and walt are connected to ${first}, and rosa to ${last}`;
}

async function prove(point: DemoPoint, proof: () => Promise<string[]>): Promise<Finding> {
  try {
    return { point, held: true, seen: await proof() };
  } catch (error) {
    return { point, held: false, seen: [messageOf(error)] };
  }
}

function lines({ point, held, seen }: Finding): string[] {
  const mark = held ? 'proved' : 'FAILED';
  return seen.map((text, i) => `${(i === 0 ? `${mark}  ${point}` : '').padEnd(18)}  ${text}`);
}
