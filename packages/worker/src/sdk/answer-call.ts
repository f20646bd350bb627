import {
  type CallToolResult,
  type ProgressToken,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
} from '@modelcontextprotocol/server';
import { type CallRound, isInputRequired } from '@signalbox/protocol';
import { startCallProgress } from '../tools/call-progress.ts';
import type { FaceAnswer, FaceTools } from '../tools/face-tools.ts';
import { type AskClient, askLegacyClient } from './legacy-input.ts';

/** A `tools/call` of a client, whichever way it came. */
export interface ClientCall {
  name: unknown;
  arguments: unknown;
  progressToken: ProgressToken | undefined;
  signal: AbortSignal;
  /** What the client can be asked for, and in a further round its answers. */
  round: CallRound;
  /** The client's revision knows results that ask for input. */
  isModern: boolean;
  /** Tells the client of progress; never rejects. */
  notify(params: { progressToken: ProgressToken; progress: number }): void;
  ask: AskClient;
}

/** The result, ready to be sent; rejects with the SDK's `ProtocolError` where MCP wants an error instead. */
export async function answerCall(
  server: Server,
  tools: FaceTools,
  call: ClientCall,
  heartbeatMs: number,
): Promise<Record<string, unknown>> {
  const { name, signal, progressToken } = call;
  if (typeof name !== 'string') {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'tools/call needs the name of a tool');
  }
  const progress =
    progressToken !== undefined &&
    startCallProgress(heartbeatMs, (sent) => call.notify({ progressToken, ...sent }));
  const again = (round: CallRound): Promise<FaceAnswer> => {
    const answer = tools.call({
      name,
      arguments: call.arguments,
      signal,
      round,
      onProgress: progress ? progress.report : undefined,
    });
    if (!answer) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no tool '${name}'`);
    return answer;
  };
  try {
    let answer = await again(call.round);
    if (isInputRequired(answer.result) && !call.isModern) {
      const capabilities = server.getClientCapabilities();
      answer = await askLegacyClient({ ask: call.ask, signal, capabilities, again }, answer);
    }
    const { result, outputSchema } = answer;
    if (isInputRequired(result)) return result;
    return server.projectCallToolResult(result as CallToolResult, outputSchema);
  } finally {
    if (progress) await progress.end();
  }
}
