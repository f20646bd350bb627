import { type AgentSummary, agentSummaries, stopWork } from '@signalbox/client/operator';
import { type AdminParams, SignalboxError } from '@signalbox/protocol';
import { suggestion } from '@signalbox/protocol/internal';
import { turnText } from '../agents/turn-text.ts';
import { withClient } from '../connection/connected-client.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { requireKnownAgent } from '../messages/why-waiting.ts';
import { count, printJson, printLines } from '../terminal/output.ts';

/** The options of `signalbox worker stop`. */
export interface WorkerStopFlags extends ConnectionFlags {
  message?: string;
  thread?: string;
  json?: boolean;
}

/** The most turns that an error names. */
const maxNamed = 10;

/** Stops a running turn of a served agent, and prints what became of its messages. */
export async function stopTurn(agent: string, flags: WorkerStopFlags): Promise<void> {
  const stopped = await withClient(
    flags,
    async (connected) => {
      const { client } = connected;
      const summaries = agentSummaries(await client.listConnected({ withStatus: true }), []);
      if (!summaries.some((one) => one.agent === agent)) await requireKnownAgent(connected, agent, flags);
      const work = workOf(agent, flags, summaries);
      try {
        return await stopWork(client, work);
      } catch (error) {
        if (!(error instanceof SignalboxError) || error.code !== 'not_working') throw error;
        throw notWorking(error.message, summaries);
      }
    },
    { changes: !flags.json },
  );
  if (flags.json) return printJson({ agent, stopped });
  printLines(
    `the turn of ${agent} is stopped, and its program is being ended`,
    ...stopped.map(
      ({ seq, id, from, kind }) =>
        `${kind} ${id} of ${from} is a dead letter; put it back with: signalbox dead retry ${seq}`,
    ),
  );
}

/** Returns which work is to be stopped. Throws `not_working` if no turn runs, or several do and the options name none. */
function workOf(
  agent: string,
  { message, thread }: WorkerStopFlags,
  summaries: readonly AgentSummary[],
): AdminParams<'stop_work'> {
  const served = summaries.find((one) => one.agent === agent);
  if (served?.turns === undefined) {
    const names = summaries.flatMap((one) => (one.turns === undefined ? [] : [one.agent]));
    const problem = `signalbox worker serve does not serve an agent ${agent}${suggestion(agent, names)}`;
    throw notWorking(problem, summaries);
  }
  if (message !== undefined) return { agent, id: message };
  if (thread !== undefined) return { agent, thread };
  const { running, turns } = served;
  if (running === 0) throw notWorking(`no turn of ${agent} runs`, summaries);
  const [turn] = turns;
  if (turn && running === 1) return { agent, id: turn.id, sender: turn.from };
  if (turns.length === 0)
    throw new SignalboxError('forbidden', 'only a token with the permission operator stops a turn');
  throw new SignalboxError(
    'usage',
    `${count(running, 'turn')} of ${agent} ${running === 1 ? 'runs' : 'run'}`,
    {
      details: {
        hint: `name one with --message or --thread: ${turns.map((one) => turnText(one, Date.now())).join('; ')}`,
      },
    },
  );
}

/** Makes the error of a turn that does not run. It names those that do. */
function notWorking(message: string, summaries: readonly AgentSummary[]): SignalboxError {
  const running = summaries.flatMap(({ agent, turns = [] }) =>
    turns.map((turn) => `${agent}: ${turnText(turn, Date.now())}`),
  );
  const more = running.length > maxNamed ? `; and ${running.length - maxNamed} more` : '';
  const hint =
    running.length === 0
      ? 'agents tell once a second which turns run, and none did; signalbox ps shows what they do'
      : `these turns run: ${running.slice(0, maxNamed).join('; ')}${more}`;
  return new SignalboxError('not_working', message, { details: { hint } });
}
