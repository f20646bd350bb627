import { messageOf, SignalboxError } from '@signalbox/protocol';
import { printJson, printLines } from '../terminal/output.ts';
import { type DemoPoint, demoPoints } from './demo-points.ts';
import { startDemoProcesses } from './demo-processes.ts';
import { proofs } from './proofs.ts';

/** The options of `signalbox demo`. */
export interface DemoFlags {
  break?: DemoPoint;
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
  say('Starting a broker, an orchestrator with two MCP servers, and two agents…');
  const findings: Finding[] = [];
  {
    await using processes = await startDemoProcesses(flags.break);
    say(
      `  broker ${processes.broker.pid}, orchestrator ${processes.orchestrator.pid}, agents rosa and walt: ready`,
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
      'Next: docs/guide/five-minutes.md.',
    );
  }
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
