import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { parseTokenFile } from '@signalbox/protocol/names';
import { trustedFace } from '@signalbox/worker/trusted-face';

/** The face of an agent, as the command line of a hook names it. */
export interface HookFace {
  /** The path of its socket. */
  path: string;
  agent: string;
  tokenFile: string;
}

/** The answer of a face to a hook. `superseded`: a later hook waits in the place of this one. */
export interface HintAnswer {
  hint?: string;
  superseded: boolean;
}

/**
 * Asks a shared face for new mail; with `wait` it answers when there is some, or when it knows no such agent. The face tells each message
 * once, so an answer that nobody reads is lost. Rejects if there is no face, or it ends.
 */
export async function askFace(
  { path, agent, tokenFile }: HookFace,
  { wait = false } = {},
): Promise<HintAnswer | undefined> {
  const { token } = parseTokenFile(readFileSync(tokenFile, 'utf8')) ?? {};
  const place = trustedFace(path);
  if (token === undefined || 'untrusted' in place) return undefined;
  const socket = connect(place);
  socket.write(`${JSON.stringify({ signalbox_hint: 1, agent, token, ...(wait && { wait }) })}\n`);
  const { hint, superseded } = JSON.parse(await text(socket)) as Record<string, unknown>;
  return { ...(typeof hint === 'string' && { hint }), superseded: superseded === true };
}
