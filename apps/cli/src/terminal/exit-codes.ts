import type { ToolErrorCode } from '@signalbox/protocol';

/** The exit codes of every command; those of sysexits.h where one fits. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  /** `inbox --wait` found mail. Agent CLIs give the output of a hook with this code to their model. */
  newMail: 2,
  unreachable: 69,
  retryable: 75,
  notPermitted: 77,
  commandNotFound: 127,
  interrupted: 130,
} as const;

/** The meanings of the exit codes, as help and documents give them. */
export const exitCodeTexts: readonly (readonly [number, string])[] = [
  [exitCodes.ok, 'done'],
  [exitCodes.failed, 'failed, as for an id that is gone'],
  [exitCodes.usage, 'wrong usage or configuration, as a name that nobody knows'],
  [exitCodes.unreachable, 'broker unreachable'],
  [exitCodes.retryable, 'try again later'],
  [exitCodes.notPermitted, 'not permitted'],
  [exitCodes.commandNotFound, 'no such agent command'],
  [exitCodes.interrupted, 'interrupted: the request was withdrawn'],
];

/** An exit code of a command. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

const byCode: Readonly<Record<string, ExitCode>> = {
  usage: exitCodes.usage,
  bad_config: exitCodes.usage,
  bad_frame: exitCodes.usage,
  invalid_message: exitCodes.usage,
  insecure_listen: exitCodes.usage,
  bad_broker_url: exitCodes.usage,
  insecure_url: exitCodes.usage,
  untrusted_socket: exitCodes.usage,
  untrusted_certificate: exitCodes.usage,
  wrong_scheme: exitCodes.usage,
  bad_tls: exitCodes.usage,
  bad_data_directory: exitCodes.usage,
  exposed: exitCodes.usage,
  // A name that nobody knows is a wrong line. An id that is gone is a failure.
  unknown_recipient: exitCodes.usage,
  server_not_found: exitCodes.usage,
  tool_not_found: exitCodes.usage,
  invalid_arguments: exitCodes.usage,
  unreachable: exitCodes.unreachable,
  command_not_found: exitCodes.commandNotFound,
  unauthorized: exitCodes.notPermitted,
  forbidden: exitCodes.notPermitted,
  forged_sender: exitCodes.notPermitted,
  permission_denied: exitCodes.notPermitted,
} satisfies Record<string, ExitCode> & Partial<Record<ToolErrorCode, ExitCode>>;

/**
 * Returns the exit code for an error of a broker or a tool: by its code, else by whether trying again can help.
 * `interrupted` says that the work ended only because this process was asked to end.
 */
export function exitCodeOf(error: { code: string; retryable: boolean; interrupted?: unknown }): ExitCode {
  if (error.interrupted === true) return exitCodes.interrupted;
  return byCode[error.code] ?? (error.retryable ? exitCodes.retryable : exitCodes.failed);
}
