import { dirname } from 'node:path';
import { listTokens, readStatus } from '@signalbox/client/operator';
import { countQuestions, readFleet } from '@signalbox/client/operator/internal';
import { brokerKeeper } from '@signalbox/daemon/data-directory';
import { SignalboxError } from '@signalbox/protocol';
import { parseBrokerAddresses } from '@signalbox/protocol/internal';
import { withClient } from '../connection/connected-client.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { type OrchestratorFlag, orchestratorOf } from '../connection/orchestrator-request.ts';
import { type ExitCode, exitCodes } from '../terminal/exit-codes.ts';
import { printJson, printLines, snakeKeys } from '../terminal/output.ts';
import { strandedTokens } from '../token/listed-roles.ts';
import { degradations } from './degradations.ts';
import { statusLines } from './status-lines.ts';

/** The options of `signalbox status`. */
export interface StatusFlags extends ConnectionFlags, OrchestratorFlag {
  json?: boolean;
}

/** Prints how broker, orchestrator and servers are doing. Returns the exit code: 1 if something does not work as it should. */
export async function printStatus(flags: StatusFlags): Promise<ExitCode> {
  const { stranded, ...status } = await withClient(flags, async (connected) => {
    const { client } = connected;
    const tokens = await listTokens(client);
    const fleet = await readFleet(client);
    const withMail = fleet.waiting.agents.map(({ agent }) => agent);
    const orchestrator = await orchestratorOf(connected, flags);
    return {
      url: client.url,
      questions: await countQuestions(client, withMail),
      stranded: await strandedTokens(connected, flags, { tokens, orchestrator }),
      ...(await readStatus(client, orchestrator, { fleet })),
    };
  }).catch((error) => {
    throw withProcess(error);
  });
  const problems = [...degradations(status, Date.now()), ...stranded];
  if (flags.json)
    printJson(snakeKeys({ ok: problems.length === 0, problems, ...status, hold: status.hold ?? null }));
  else printLines(...statusLines(status, problems, Date.now()));
  return problems.length === 0 ? exitCodes.ok : exitCodes.failed;
}

/** Adds to the error of a broker that does not answer on its socket whether one runs on its data directory at all. */
function withProcess(error: unknown): unknown {
  // An error without a cause says that none runs: nothing was connected to.
  if (!(error instanceof SignalboxError) || error.code !== 'unreachable' || error.cause === undefined)
    return error;
  const { url } = error.details;
  const addresses = typeof url === 'string' ? parseBrokerAddresses(url, { insecure: true }) : [];
  const socket = addresses.find(({ socketPath }) => socketPath !== undefined)?.socketPath;
  if (socket === undefined) return error;
  const keeper = brokerKeeper(dirname(socket));
  const what =
    keeper === undefined
      ? `no broker runs on ${dirname(socket)}`
      : `process ${keeper} keeps a broker on ${dirname(socket)}, which does not answer`;
  return new SignalboxError(error.code, `${what}: ${error.message}`, {
    cause: error,
    retryable: error.retryable,
    details: { ...error.details, ...(keeper !== undefined && { pid: keeper }) },
  });
}
