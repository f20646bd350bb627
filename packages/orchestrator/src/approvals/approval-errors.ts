import { SignalboxError, type ToolCallError, toolCallError } from '@signalbox/protocol';
import type { ApprovalRecord } from '@signalbox/store/journal';

/** Returns the error for the caller of a call whose approval ended, unless it was approved. None of these calls has run. */
export function errorOfEnd({ id, tool, end }: ApprovalRecord): ToolCallError | undefined {
  switch (end?.state) {
    case 'denied':
      return toolCallError(
        'approval_denied',
        `a person denied this call of '${tool}' (approval ${id}): ${end.reason ?? 'no reason was given'}`,
        {
          mayHaveRun: false,
          hint: 'The call was not made. Do not repeat it as it is, and do not seek another way to the same effect: follow the reason, or ask the person.',
        },
      );
    case 'expired':
      return toolCallError(
        'approval_expired',
        `nobody decided on this call of '${tool}' in time (approval ${id})`,
        {
          mayHaveRun: false,
          hint: 'The call was not made. If it is still needed, tell a person, and call again.',
        },
      );
    case 'superseded':
      return toolCallError(
        'approval_superseded',
        `this call of '${tool}' no longer is the one that waited for approval ${id}: ${end.reason ?? 'it changed'}`,
        {
          mayHaveRun: false,
          hint: 'The call was not made. Look at the tool again; a new call asks a person anew.',
        },
      );
    case 'cancelled':
      return toolCallError('cancelled', `the call was cancelled while it waited for approval ${id}`, {
        mayHaveRun: false,
      });
    default:
      return undefined;
  }
}

/** Returns the error for a call whose caller stopped waiting for the decision, which people can still make. */
export function callerLeft({ id }: ApprovalRecord): ToolCallError {
  return toolCallError('cancelled', `the call was cancelled while it waited for approval ${id}`, {
    mayHaveRun: false,
    hint: `The call was not made, and no decision makes it now. A person can still decide on approval ${id}. Once it is given, call again: for an hour the same call runs once without another approval.`,
  });
}

/** Tells whether a call ended before it was sent, for a reason that may pass. */
export function mayComeAgain({ code, category, retryable, may_have_run }: ToolCallError): boolean {
  return !may_have_run && (retryable || category === 'transient') && !code.startsWith('approval_');
}

/** Adds to the error of an approved call that was not sent what became of its approval. `why` is the reason why it is used up, if it is. */
export function withApproval(
  error: ToolCallError,
  { id, deadlineAt }: ApprovalRecord,
  why: string | undefined,
): ToolCallError {
  const text =
    why === undefined
      ? `Approval ${id} was not used: until ${new Date(deadlineAt).toISOString()} the same call runs without another one.`
      : `Approval ${id} is used up, because ${why}. A new call asks a person anew.`;
  return { ...error, hint: error.hint === undefined ? text : `${error.hint} ${text}` };
}

/** Returns the error for a call whose approval is used up, and whose reply is no longer kept. */
export function usedApproval({ id, tool }: ApprovalRecord): ToolCallError {
  return toolCallError(
    'outcome_unknown',
    `this call of '${tool}' has ended already, and its result is no longer kept (approval ${id} held for one call)`,
    {
      mayHaveRun: true,
      hint: 'It is not made again. Check what the tool changed; a new call, with another id or idempotency_key, asks a person anew.',
    },
  );
}

/** Returns the error for a call that may not wait, because too many do. */
export function tooManyWait(agent: string, of: 'agent' | 'minter' | 'all', limit: number): ToolCallError {
  const whose = {
    agent: `calls of '${agent}'`,
    minter: `calls of '${agent}' and the other agents of its minting token`,
    all: 'calls of all agents',
  }[of];
  return toolCallError('quota_exceeded', `${limit} ${whose} wait for a person already, the most that may`, {
    mayHaveRun: false,
    retryAfterSeconds: 60,
    hint: 'This call did not run. Wait until some of them are decided, or cancel some.',
  });
}

/** Returns the error for a call of an agent that asks people too often. */
export function asksTooOften(agent: string, limit: number, seconds: number): ToolCallError {
  const message = `calls of '${agent}' asked a person ${limit} times in a minute, the most that they may`;
  return toolCallError('quota_exceeded', message, {
    mayHaveRun: false,
    retryAfterSeconds: seconds,
    hint: 'This call did not run. Ask less often; a person can approve several calls at once.',
  });
}

/** Returns the error for an attached request that is aborted: the call itself continues. Returns `undefined` if the client was closed. */
export function endOfFollower(
  { id, tool }: ApprovalRecord,
  { reason }: AbortSignal,
): ToolCallError | undefined {
  const code = reason instanceof SignalboxError ? reason.code : undefined;
  if (code === 'closed') return undefined;
  const isOver = code === 'timed_out';
  const message = isOver
    ? `the deadline passed before the call of '${tool}' that waits for approval ${id} ended`
    : `the request was cancelled; the call of '${tool}' that waits for approval ${id} goes on`;
  return toolCallError(isOver ? 'approval_expired' : 'cancelled', message, { mayHaveRun: true });
}

/** Returns the error for arguments that cannot be shown to a person, or that cannot be distinguished from others. */
export function unfitArguments(why: string): ToolCallError {
  return toolCallError('invalid_arguments', `a call that waits for a person ${why}`, {
    mayHaveRun: false,
    hint: 'This call did not run.',
  });
}

/** Returns the error for a call that a rule denies, because those who decide could not see all of it. */
export function deniedAsHidden(tool: string, rule: string): ToolCallError {
  return toolCallError(
    'approval_denied',
    `this call of '${tool}' holds a token, or a secret of the configuration, which those who decide may not see, and ${rule} denies such calls`,
    {
      mayHaveRun: false,
      hint: 'The call was not made. Call again without the secret: servers have those that they need.',
    },
  );
}

/** Returns the error for a call whose record could not be written. */
export function unwrittenApproval(isFull: boolean, cause: string): ToolCallError {
  return toolCallError(
    isFull ? 'storage_full' : 'internal',
    'the call was not made: it needs the approval of a person, and that could not be written down',
    {
      mayHaveRun: false,
      retryable: true,
      hint: "The orchestrator's log says what is wrong with its journal.",
      causeChain: [cause],
    },
  );
}
