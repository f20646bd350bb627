import { messageOf, SignalboxError, type Tool } from '@signalbox/protocol';
import { visible } from '@signalbox/protocol/internal';
import type { ToolResult } from '../tools/tool-result.ts';

/** The reason why a mailbox tool failed. `code` is the broker's or the client's if the failure came from there. */
export interface Failure {
  code: string;
  message: string;
  retryable: boolean;
  /** True if the call may still have had its effect. */
  may_have_run: boolean;
  retry_after_seconds?: number;
  hint?: string;
}

/** Makes a failure. */
export function failure(
  code: string,
  message: string,
  more: { retryable?: boolean; mayHaveRun?: boolean; hint?: string; retryAfterMs?: unknown } = {},
): Failure {
  const { retryable = false, mayHaveRun = false, hint, retryAfterMs } = more;
  return {
    code,
    message,
    retryable,
    may_have_run: mayHaveRun,
    ...(typeof retryAfterMs === 'number' && { retry_after_seconds: Math.ceil(retryAfterMs / 1000) }),
    ...(hint !== undefined && { hint }),
  };
}

/** Converts a thrown error to a failure. */
export function failureOf(thrown: unknown): Failure {
  if (!(thrown instanceof SignalboxError))
    return failure('internal', messageOf(thrown), { mayHaveRun: true });
  const { code, message, retryable, details } = thrown;
  const hint = Object.hasOwn(hints, code) ? hints[code] : undefined;
  return failure(code, message, {
    retryable,
    mayHaveRun: details.mayBeStored === true,
    retryAfterMs: details.retryAfterMs,
    ...(hint !== undefined && { hint }),
  });
}

const hints: Readonly<Record<string, string>> = {
  unknown_recipient: 'signalbox_list_agents shows who is connected.',
  forbidden: "The broker's policy for your role says so; nothing was sent.",
  inbox_in_use:
    'That process is handed the messages, and nothing was taken from it. Read with take_over: true only if you are to take the inbox over: worker serve ends then, with its turns.',
  taken_over:
    'Another process of this agent reads this inbox now. It is handed the messages that you read and did not ack. Read with take_over: true only if you are to take the inbox back.',
  inbox_full: 'Nothing was sent. Its owner has to read some messages first.',
  quota_exceeded: 'Nothing was sent. Wait until some of your messages were read.',
  storage_full: 'Nothing was sent. The operator has to make room in the store of the broker.',
};

/** Makes the result of a failure. It has no `structuredContent`, which could not match the output schema of a tool that has one. */
export function failureResult(error: Failure, tool: Pick<Tool, 'outputSchema'>): ToolResult {
  return {
    content: [{ type: 'text', text: visible(failureText(error)) }],
    ...(!tool.outputSchema && { structuredContent: { error } }),
    isError: true,
    _meta: { 'signalbox/error': error },
  };
}

function failureText({ code, message, hint, retryable, may_have_run, retry_after_seconds }: Failure): string {
  const again =
    retryable && retry_after_seconds !== undefined
      ? `You may try again in ${retry_after_seconds} s.`
      : retryable && 'You may try again.';
  const effect = may_have_run && 'It may have had its effect all the same.';
  const end = /[.?!]$/.test(message) ? '' : '.';
  return [`${code}: ${message}${end}`, hint, effect, again].filter(Boolean).join(' ');
}
