import type { TurnRef } from '../mailbox/served/turn-messages.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the part of our environment that agents inherit: everything but `SIGNALBOX_*`, which holds our own identity. */
export function inheritedEnvironment(own: Environment): Record<string, string> {
  const kept = Object.entries(own).filter(
    ([name, value]) => value !== undefined && !name.startsWith('SIGNALBOX_'),
  );
  return Object.fromEntries(kept) as Record<string, string>;
}

/**
 * Returns the variables that tell an agent, and everything that it starts, its identity, its broker and its face. They name the file of the
 * token, not the token.
 */
export function agentVariables(facts: {
  url: string;
  agent: string;
  tokenFile: string;
  faceSocket?: string | undefined;
  /** The file with the authorities to trust. */
  caFile: string | undefined;
  /** The turn that the process takes, if it takes one: its messages, and the file that holds them. */
  turn?: (TurnRef & { messageFile: string }) | undefined;
}): Record<string, string> {
  return {
    SIGNALBOX_URL: facts.url,
    SIGNALBOX_AGENT: facts.agent,
    SIGNALBOX_TOKEN_FILE: facts.tokenFile,
    ...(facts.faceSocket !== undefined && { SIGNALBOX_FACE: facts.faceSocket }),
    ...(facts.caFile !== undefined && { SIGNALBOX_CA_FILE: facts.caFile }),
    ...(facts.turn && {
      SIGNALBOX_SERVED: '1',
      SIGNALBOX_TURN: facts.turn.seqs.join(','),
      ...(facts.turn.group !== undefined && { SIGNALBOX_TURN_GROUP: facts.turn.group }),
      ...(facts.turn.thread !== undefined && { SIGNALBOX_TURN_THREAD: facts.turn.thread }),
      SIGNALBOX_MESSAGE_FILE: facts.turn.messageFile,
    }),
  };
}
